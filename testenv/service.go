package testenv

import (
	"os"
	"path/filepath"
	"testing"
)

// cacheDir is where `make tools` puts the programs that tests start.
func cacheDir() string {
	if dir := os.Getenv("XDG_CACHE_HOME"); dir != "" {
		return filepath.Join(dir, "calve")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), "calve")
	}
	return filepath.Join(home, ".cache", "calve")
}

// need ends the test unless the program at path exists: a laptop without it
// skips, with the command that builds it; CI fails, so that no promise goes
// untested there without anybody noticing.
func need(tb testing.TB, what, path string) {
	tb.Helper()
	if _, err := os.Stat(path); err == nil {
		return
	}
	lack(tb, what, "it is not at "+path+": run `make tools`")
}

// lack ends a test whose service cannot be had.
func lack(tb testing.TB, what, why string) {
	tb.Helper()
	if os.Getenv("CI") != "" {
		tb.Fatalf("%s is needed, and this is CI: %s", what, why)
	}
	tb.Skipf("%s is needed: %s", what, why)
}
