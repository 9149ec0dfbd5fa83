package testenv

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

//go:embed py/*.py
var scripts embed.FS

// Interp is a Python with DuckDB and PyIceberg: engines that know nothing of
// calve and give a second opinion on its tables. All tests of the binary share
// one process, which ends with it.
type Interp struct {
	// Path is the interpreter.
	Path string
	// env are variables that it has besides those of environ.
	env []string

	mu     sync.Mutex
	in     io.WriteCloser // closed with the binary: then the process ends
	out    *bufio.Reader
	stderr *tail
}

//nolint:gochecknoglobals // one process for all tests of a binary: importing the engines takes seconds
var thePython Interp

// Python returns the interpreter that `make tools` sets up.
func Python(tb testing.TB) *Interp {
	tb.Helper()
	path := filepath.Join(cacheDir(), "python", "bin", "python")
	need(tb, "Python with DuckDB and PyIceberg", path)
	thePython.mu.Lock()
	defer thePython.mu.Unlock()
	thePython.Path = path
	return &thePython
}

// run gives in to a script as JSON and reads its answer into out.
func (p *Interp) run(tb testing.TB, script string, in, out any) {
	tb.Helper()
	if err := p.ask(script, in, out); err != nil {
		tb.Fatalf("%s: %v", script, err)
	}
}

func (p *Interp) ask(script string, in, out any) error {
	var source strings.Builder
	for _, name := range []string{"cells.py", "duckdb.py", script} {
		part, err := scripts.ReadFile("py/" + name)
		if err != nil {
			return err
		}
		source.Write(part)
	}
	question, err := json.Marshal([]any{source.String(), in})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.start(); err != nil {
		return err
	}
	if _, err := p.in.Write(append(question, '\n')); err != nil {
		return p.broken(err)
	}
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return p.broken(err)
	}
	var reply [2]json.RawMessage
	if err := json.Unmarshal(line, &reply); err != nil {
		return fmt.Errorf("answer %.200q: %w", line, err)
	}
	var failure *string
	if err := json.Unmarshal(reply[1], &failure); err != nil {
		return err
	}
	if failure != nil {
		return errors.New(*failure)
	}
	return json.Unmarshal(reply[0], out)
}

// start starts the process where none runs.
func (p *Interp) start() error {
	if p.in != nil {
		return nil
	}
	worker, err := scripts.ReadFile("py/worker.py")
	if err != nil {
		return err
	}
	cmd := exec.Command(p.Path, "-I", "-c", string(worker))
	p.stderr = &tail{}
	cmd.Env, cmd.Stderr = append(environ(), p.env...), p.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.in, p.out = in, bufio.NewReader(out)
	return nil
}

// broken gives up a process that does not answer; the next question starts another.
func (p *Interp) broken(err error) error {
	_ = p.in.Close()
	p.in = nil
	return fmt.Errorf("the interpreter ended: %w\n%s", err, p.stderr)
}

// tail keeps the end of what a process prints.
type tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(b)
	t.buf.Next(max(0, t.buf.Len()-4096))
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}

// environ keeps the configuration of this machine out of the tests.
func environ() []string {
	env := []string{"HOME=/nonexistent", "PYICEBERG_HOME=/nonexistent", "AWS_CONFIG_FILE=/dev/null", "TZ=UTC"}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if name != "HOME" && name != "TZ" && !strings.HasPrefix(name, "PYICEBERG_") && !strings.HasPrefix(name, "AWS_") {
			env = append(env, v)
		}
	}
	return env
}

// rowsText renders rows of cells; the script that sent them is to blame for an error.
func rowsText(tb testing.TB, script string, rows [][]json.RawMessage) [][]string {
	tb.Helper()
	texts := make([][]string, len(rows))
	for r, row := range rows {
		texts[r] = make([]string, len(row))
		for c, raw := range row {
			texts[r][c] = rawText(tb, script, raw)
		}
	}
	return texts
}

func rawText(tb testing.TB, script string, raw json.RawMessage) string {
	tb.Helper()
	text, err := jsonText(raw)
	if err != nil {
		tb.Fatalf("%s: %v", script, err)
	}
	return text
}

// HasPython reports whether [Python] is there, or must be.
func HasPython() bool {
	_, err := os.Stat(filepath.Join(cacheDir(), "python", "bin", "python"))
	return err == nil || os.Getenv("CI") != ""
}
