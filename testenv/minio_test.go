package testenv

import (
	"errors"
	"os"
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
	server, err := startProcess("KILL", dir, nil, "sh", "-c", "echo up; exec sleep 600")
	if err != nil {
		t.Fatal(err)
	}
	err = server.await(10*time.Second, func() error {
		if log, _ := os.ReadFile(server.log); string(log) != "up\n" {
			return errors.New("it printed nothing")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	server.stop()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the server's folder is still there: %v", err)
	}
}
