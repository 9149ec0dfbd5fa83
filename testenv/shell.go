package testenv

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// DuckDBShell runs statements in the duckdb shell, as they are pasted there,
// and returns what it prints as CSV. env are further variables, NAME=value.
// Extensions are found where INSTALL would have put them, so that nothing is
// fetched while a test runs.
func DuckDBShell(tb testing.TB, statements string, env ...string) string {
	tb.Helper()
	python := Python(tb).Path
	program := filepath.Join(filepath.Dir(python), "duckdb")
	need(tb, "the duckdb shell", program)
	home := tb.TempDir()
	env = append(env, "HOME="+home)
	platform := output(tb, exec.Command(program, "-csv", "-noheader", "-c", "PRAGMA platform"), "", env)
	extensions, err := filepath.Glob(filepath.Join(filepath.Dir(python), "../lib/python3*/site-packages/duckdb_extension_*/extensions/*/*.duckdb_extension"))
	if err != nil || len(extensions) == 0 {
		tb.Fatalf("the extensions of DuckDB are not beside %s: %v", python, err)
	}
	for _, path := range extensions {
		dir := filepath.Join(home, ".duckdb", "extensions", filepath.Base(filepath.Dir(path)), strings.TrimSpace(platform))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, filepath.Base(path))); err != nil {
			tb.Fatal(err)
		}
	}
	return output(tb, exec.Command(program, "-csv", "-bail"), statements, env)
}

// PythonScript runs a script in a process of its own and returns what it prints.
func PythonScript(tb testing.TB, script string, env ...string) string {
	tb.Helper()
	return output(tb, exec.Command(Python(tb).Path, "-I", "-"), script, env)
}

// output runs a program on an input, apart from this machine's configuration.
func output(tb testing.TB, cmd *exec.Cmd, input string, env []string) string {
	tb.Helper()
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr, cmd.Env = strings.NewReader(input), &stderr, append(environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("%s: %v\n%s%s\non the input\n%s", filepath.Base(cmd.Path), err, stderr.String(), out, input)
	}
	return string(out)
}
