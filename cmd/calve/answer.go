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

// respond prints the answer as one line, the last of stdout, and writes the
// same line to the result file.
func (a *app) respond(f failure) error {
	value := a.answer.ended(f)
	if value == nil || !a.json && a.resultFile == "" {
		return nil
	}
	line, err := jsonLine(value)
	if err != nil {
		return err
	}
	if a.json {
		if _, err := a.stdout.Write(line); err != nil {
			return fmt.Errorf("write the result: %w", err)
		}
	}
	if a.resultFile != "" {
		return writeByRename(a.resultFile, line)
	}
	return nil
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
