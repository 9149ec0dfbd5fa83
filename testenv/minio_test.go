package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestBucketHoldsObjectsOfOneTest(t *testing.T) {
	t.Parallel()
	a, b := MinIO(t), MinIO(t)
	if a.Bucket == b.Bucket {
		t.Fatalf("two buckets are both %s", a.Bucket)
	}
	a.Put("x/1", []byte("one"))
	a.Put("x/2", []byte("two"))
	a.Put("y/3", nil)
	if got, want := a.Objects("x/"), []string{"x/1", "x/2"}; !slices.Equal(got, want) {
		t.Errorf("Objects(x/) = %v, want %v", got, want)
	}
	if got := string(a.Get("x/2")); got != "two" {
		t.Errorf("Get(x/2) = %q, want two", got)
	}
	a.Remove("x/2")
	if got, want := a.Objects(""), []string{"x/1", "y/3"}; !slices.Equal(got, want) {
		t.Errorf("Objects() = %v, want %v", got, want)
	}
	if got := b.Objects(""); len(got) > 0 {
		t.Errorf("the other bucket holds %v", got)
	}
}

func TestBucketNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"TestA", "TestReplace/day_(UTC)", strings.Repeat("TestLong", 20), "Test/-x-"} {
		got := bucketName(name)
		if len(got) < 3 || len(got) > 63 || strings.Trim(got, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.HasPrefix(got, "-") {
			t.Errorf("bucketName(%q) = %q, which S3 refuses", name, got)
		}
	}
}

func TestServerEndsWithItsHolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "server")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", keeper, "keeper", dir, "sh", "-c", "echo up; exec sleep 600")
	hold, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if log, _ := os.ReadFile(filepath.Join(dir, "log")); string(log) == "up\n" {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the server did not start")
		}
	}
	if err := hold.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("keeper: %v", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the server's folder is still there: %v", err)
	}
}
