package testenv

import (
	"bytes"
	"embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed py/*.py
var scripts embed.FS

// Interp is a Python with DuckDB and PyIceberg: engines that know nothing of
// calve and give a second opinion on its tables.
type Interp struct {
	// Path is the interpreter.
	Path string
	// Home is an empty folder that stands for the user's own, so that no
	// configuration of this machine leaks into a test.
	Home string
}

// Python returns the interpreter that `make tools` sets up.
func Python(tb testing.TB) *Interp {
	tb.Helper()
	path := filepath.Join(cacheDir(), "python", "bin", "python")
	need(tb, "Python with DuckDB and PyIceberg", path)
	return &Interp{Path: path, Home: tb.TempDir()}
}

// run gives in to a script as JSON and reads its answer into out.
func (p *Interp) run(tb testing.TB, script string, in, out any) {
	tb.Helper()
	source, err := scripts.ReadFile("py/cells.py")
	if err != nil {
		tb.Fatal(err)
	}
	body, err := scripts.ReadFile("py/" + script)
	if err != nil {
		tb.Fatal(err)
	}
	question, err := json.Marshal(in)
	if err != nil {
		tb.Fatalf("question for %s: %v", script, err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(p.Path, "-I", "-c", string(source)+string(body))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(question), &stdout, &stderr
	cmd.Env = p.environ()
	if err := cmd.Run(); err != nil {
		tb.Fatalf("%s: %v\n%s", script, err, stderr.Bytes())
	}
	if err := json.Unmarshal(stdout.Bytes(), out); err != nil {
		tb.Fatalf("%s answered %q: %v\n%s", script, stdout.Bytes(), err, stderr.Bytes())
	}
}

func (p *Interp) environ() []string {
	env := []string{"HOME=" + p.Home, "PYICEBERG_HOME=" + p.Home, "TZ=UTC"}
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
