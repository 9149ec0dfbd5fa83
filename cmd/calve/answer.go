package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/calve-data/calve/lake"
)

// answer is a command's result as machines read it.
type answer interface {
	// ended returns the value to print: the answer, or with a failure the
	// answer that says so. nil: nothing to print.
	ended(f failure) any
}

// severalLines is what an answer of several lines has ended in: all of them, and
// those that were not printed before.
type severalLines struct{ all, rest []any }

// noAnswer is the answer of a command that has printed its result already, or
// has none: only a failure is left to say.
type noAnswer struct{}

func (noAnswer) ended(f failure) any {
	if f.code == 0 {
		return nil
	}
	return struct {
		Error *lake.ReceiptError `json:"error"`
	}{&f.ReceiptError}
}

// loadAnswer is a receipt as far as the load came.
type loadAnswer struct{ receipt lake.Receipt }

func (l loadAnswer) ended(f failure) any {
	r := l.receipt
	if r.Mode == "" {
		r.Mode = "replace"
	}
	if f.code != 0 {
		r.Outcome, r.Error = f.outcome, &f.ReceiptError
	}
	return r
}

// answers makes v the answer. A second signal may ask for it at any time.
func (a *app) answers(v answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer = v
}

// respond writes the answer, one line or several, to the result file, then prints
// it as the last of stdout. The file comes first: stdout may be blocked or gone.
func (a *app) respond(f failure) error {
	a.mu.Lock()
	value := a.answer.ended(f)
	a.mu.Unlock()
	if value == nil || !a.json && a.resultFile == "" {
		return nil
	}
	said, several := value.(severalLines)
	if !several {
		said = severalLines{[]any{value}, []any{value}}
	}
	file, err := encodeLines(said.all)
	if err != nil {
		return err
	}
	out, err := encodeLines(said.rest)
	if err != nil {
		return err
	}
	if a.resultFile != "" {
		err = writeByRename(a.resultFile, file)
	}
	close(a.written)
	if a.json {
		if _, e := a.stdout.Write(out); e != nil {
			err = errors.Join(err, fmt.Errorf("write the result: %w", e))
		}
	}
	return err
}

func encodeLines(values []any) (text []byte, err error) {
	for _, v := range values {
		line, err := jsonLine(v)
		if err != nil {
			return nil, err
		}
		text = append(text, line...)
	}
	return text, nil
}

// jsonLine encodes v as one line, text as it is.
func jsonLine(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// writeByRename makes the file appear whole or not at all: an orchestrator may
// be watching for it.
func writeByRename(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".calve-result-*")
	if err != nil {
		return fmt.Errorf("write the result file: %w", err)
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(content)
	if e := f.Chmod(0o644); err == nil {
		err = e
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write the result file: %w", err)
	}
	return nil
}

// checkWritable finds out before the load whether a result file can be written
// after it.
func checkWritable(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".calve-result-*")
	if err != nil {
		return usage("--result-file %s: %v", path, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
