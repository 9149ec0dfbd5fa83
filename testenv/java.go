package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// heavy ends a test that needs Spark, Trino or SeaweedFS, also in CI, but under
// `make test-engines`: they are a gigabyte to fetch and minutes to run.
func heavy(tb testing.TB) {
	tb.Helper()
	if os.Getenv("CALVE_ENGINES") == "" {
		tb.Skip("Spark, Trino and SeaweedFS are tested by `make test-engines`, which sets CALVE_ENGINES")
	}
}

// java returns the home of a Java whose feature version is between the two:
// that of JAVA_HOME, the one in the PATH, or one where systems install them.
func java(tb testing.TB, least, most int) string {
	tb.Helper()
	homes := []string{os.Getenv("JAVA_HOME")}
	if path, err := exec.LookPath("java"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			homes = append(homes, filepath.Dir(filepath.Dir(path)))
		}
	}
	for _, pattern := range []string{"/usr/lib/jvm/*", "/opt/java/*", "/Library/Java/JavaVirtualMachines/*/Contents/Home"} {
		found, _ := filepath.Glob(pattern)
		homes = append(homes, found...)
	}
	for _, home := range homes {
		if v := javaVersion(home); least <= v && v <= most {
			return home
		}
	}
	lack(tb, fmt.Sprintf("a Java between %d and %d", least, most), "install it, or name it in JAVA_HOME")
	return ""
}

var javaRelease = regexp.MustCompile(`(?m)^JAVA_VERSION="(\d+)`)

// javaVersion is the feature version of the Java at home; 0 where there is none.
func javaVersion(home string) int {
	if _, err := os.Stat(filepath.Join(home, "bin", "java")); home == "" || err != nil {
		return 0
	}
	release, err := os.ReadFile(filepath.Join(home, "release"))
	if err != nil {
		return 0
	}
	found := javaRelease.FindSubmatch(release)
	if found == nil {
		return 0
	}
	v, _ := strconv.Atoi(string(found[1]))
	return v
}
