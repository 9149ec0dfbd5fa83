package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/lake"
)

// fileStore is a place that files can be put into, for the one suite that local
// files and S3 both pass.
type fileStore struct {
	root   string
	files  *Files
	put    func(t *testing.T, name, text string)
	remove func(t *testing.T, name string)
}

func localStore(t *testing.T) fileStore {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	return fileStore{root: dir, files: &Files{}, put: func(t *testing.T, name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path(name)), 0o755), os.WriteFile(path(name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}, remove: func(t *testing.T, name string) {
		t.Helper()
		if err := os.Remove(path(name)); err != nil {
			t.Fatal(err)
		}
	}}
}

func s3Store(t *testing.T) fileStore {
	files, err := NewFiles(testS3(t))
	if err != nil {
		t.Fatal(err)
	}
	client, err := files.s3(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bucket := fmt.Sprintf("calve-files-%d", time.Now().UnixNano())
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	return fileStore{root: "s3://" + bucket, files: files, put: func(t *testing.T, name, text string) {
		t.Helper()
		if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &name, Body: strings.NewReader(text)}); err != nil {
			t.Fatal(err)
		}
	}, remove: func(t *testing.T, name string) {
		t.Helper()
		if _, err := client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket, Key: aws.String(name)}); err != nil {
			t.Fatal(err)
		}
	}}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) fileStore{"local": localStore, "s3": s3Store} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := open(t)
			t.Run("List", func(t *testing.T) { exerciseList(t, store) })
			t.Run("Open", func(t *testing.T) { exerciseOpen(t, store) })
			t.Run("Changed", func(t *testing.T) { exerciseChanged(t, store) })
		})
	}
}

func exerciseList(t *testing.T, s fileStore) {
	for _, name := range []string{
		"l/b.csv", "l/a.csv", "l/a.csv.gz", "l/c.txt", "l/x/1.csv", "l/x/y/2.csv", "l/z/3.csv", "l/[1].csv",
		"l/o dd/a b#c%20d+é?.csv", "lother/q.csv",
	} {
		s.put(t, name, name)
	}
	for pattern, want := range map[string][]string{
		"l/a.csv":                 {"l/a.csv"},
		"l/*.csv":                 {"l/[1].csv", "l/a.csv", "l/b.csv"},
		"l/?.csv":                 {"l/a.csv", "l/b.csv"},
		"l/[a].csv":               {"l/a.csv"},
		"l/[1].csv":               {"l/[1].csv"},
		"l/*/*.csv":               {"l/o dd/a b#c%20d+é?.csv", "l/x/1.csv", "l/z/3.csv"},
		"l/x/**":                  {"l/x/1.csv", "l/x/y/2.csv"},
		"l/**/[0-9].csv":          {"l/x/1.csv", "l/x/y/2.csv", "l/z/3.csv"},
		"l/**/a.csv":              {"l/a.csv"},
		"l/{b,a}.csv":             {"l/a.csv", "l/b.csv"},
		"l/{x,z/3,{q,x/y}}/?.*":   {"l/x/1.csv", "l/x/y/2.csv"},
		"l/*.csv{,.gz}":           {"l/[1].csv", "l/a.csv", "l/a.csv.gz", "l/b.csv"},
		"l/o dd/a b#c%20d+é?.csv": {"l/o dd/a b#c%20d+é?.csv"},
		"l/o dd/*%20*":            {"l/o dd/a b#c%20d+é?.csv"},
		"l/*/.":                   nil,
		"l/*/":                    nil,
		"l/missing.csv":           nil,
		"l/no/such/*.csv":         nil,
	} {
		got, err := s.files.List(t.Context(), s.root+"/"+pattern)
		if err != nil {
			t.Errorf("List(%s): %v", pattern, err)
			continue
		}
		var names []string
		for _, f := range got {
			name := strings.TrimPrefix(f.Path, s.root+"/")
			names = append(names, name)
			if f.Size != int64(len(name)) || f.ETag == "" {
				t.Errorf("List(%s): %s has size %d and etag %q", pattern, name, f.Size, f.ETag)
			}
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("List(%s) (-want +got):\n%s", pattern, diff)
		}
	}
	for pattern, want := range map[string]string{
		"l": "/*.csv", "l/x/": "x/*.csv", "l/{a": "do not close", "l/[a": "do not close",
	} {
		if _, err := s.files.List(t.Context(), s.root+"/"+pattern); !errors.Is(err, lake.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("List(%s) = %v, want ErrUsage with %q", pattern, err, want)
		}
	}
}

func exerciseOpen(t *testing.T, s fileStore) {
	s.put(t, "o/f", "0123456789")
	s.put(t, "o/empty", "")
	for name, want := range map[string]string{"o/f": "0123456789", "o/empty": ""} {
		r := openOne(t, s, name)
		got, err := io.ReadAll(r)
		if err != nil || string(got) != want || r.Size() != int64(len(want)) {
			t.Errorf("reading %s: %q of %d bytes, %v", name, got, r.Size(), err)
		}
	}
	r := openOne(t, s, "o/f")
	for _, tt := range []struct {
		off  int64
		n    int
		want string
		err  error
	}{{0, 3, "012", nil}, {7, 3, "789", nil}, {7, 5, "789", io.EOF}, {10, 1, "", io.EOF}, {3, 0, "", nil}} {
		buf := make([]byte, tt.n)
		n, err := r.ReadAt(buf, tt.off)
		if string(buf[:n]) != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("ReadAt(%d bytes, %d) = %q, %v, want %q, %v", tt.n, tt.off, buf[:n], err, tt.want, tt.err)
		}
	}
}

func exerciseChanged(t *testing.T, s fileStore) {
	s.put(t, "c/f", "old text")
	s.put(t, "c/g", "old text")
	f, g := listOne(t, s, "c/f"), listOne(t, s, "c/g")
	s.put(t, "c/f", "new text!")
	s.remove(t, "c/g")
	for _, file := range []lake.File{f, g} {
		for how, read := range map[string]func(lake.ObjectReader) error{
			"Read":   func(r lake.ObjectReader) error { _, err := io.ReadAll(r); return err },
			"ReadAt": func(r lake.ObjectReader) error { _, err := r.ReadAt(make([]byte, 1), 0); return err },
		} {
			r, err := s.files.Open(t.Context(), file)
			if err == nil {
				err = read(r)
				_ = r.Close()
			}
			if !errors.Is(err, lake.ErrInput) || !strings.Contains(err.Error(), file.Path) {
				t.Errorf("%s of the changed %s: %v, want ErrInput with its name", how, file.Path, err)
			}
		}
	}
}

func listOne(t *testing.T, s fileStore, name string) lake.File {
	t.Helper()
	list, err := s.files.List(t.Context(), s.root+"/"+name)
	if err != nil || len(list) != 1 {
		t.Fatalf("List(%s) = %v, %v", name, list, err)
	}
	return list[0]
}

func openOne(t *testing.T, s fileStore, name string) lake.ObjectReader {
	t.Helper()
	r, err := s.files.Open(t.Context(), listOne(t, s, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func TestLocalFileWrittenWhileRead(t *testing.T) {
	t.Parallel()
	s := localStore(t)
	s.put(t, "f", strings.Repeat("x", 1<<16))
	r := openOne(t, s, "f")
	if _, err := io.ReadFull(r, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	s.put(t, "f", strings.Repeat("y", 1<<16))
	if _, err := io.Copy(io.Discard, r); !errors.Is(err, lake.ErrInput) {
		t.Errorf("reading on: %v, want ErrInput", err)
	}
}

func TestLocalListFollowsTheWorkingFolder(t *testing.T) {
	s := localStore(t)
	s.put(t, "data/a.csv", "x")
	t.Chdir(s.root)
	for _, pattern := range []string{"data/*.csv", "**/a.csv", "data/a.csv"} {
		list, err := s.files.List(t.Context(), pattern)
		if err != nil || len(list) != 1 || list[0].Path != "data/a.csv" {
			t.Errorf("List(%s) = %v, %v", pattern, list, err)
		}
	}
	list, err := s.files.List(t.Context(), "file://"+s.root+"/data/*")
	if err != nil || len(list) != 1 || list[0].Path != s.root+"/data/a.csv" {
		t.Errorf("List(file://) = %v, %v", list, err)
	}
}

func TestFilesOfOtherStores(t *testing.T) {
	t.Parallel()
	var f Files
	for pattern, want := range map[string]string{"gs://b/k": "not built", "s3://*/k": "bucket"} {
		if _, err := f.List(t.Context(), pattern); !errors.Is(err, lake.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("List(%s) = %v, want ErrUsage with %q", pattern, err, want)
		}
	}
}

func TestUnreachableStoreIsTemporary(t *testing.T) {
	t.Parallel()
	files, err := NewFiles(S3{Endpoint: "http://127.0.0.1:1", AccessKeyID: "k", SecretAccessKey: "s"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	if _, err := files.List(ctx, "s3://b/*.csv"); !errors.Is(err, lake.ErrTemporary) || !strings.Contains(err.Error(), "catalog.s3.endpoint") {
		t.Errorf("List = %v, want ErrTemporary with catalog.s3.endpoint", err)
	}
}

func TestS3ManyKeys(t *testing.T) {
	t.Parallel()
	s := s3Store(t)
	var want bytes.Buffer
	for i := range 1010 {
		name := fmt.Sprintf("many/%04d.csv", i)
		s.put(t, name, "x")
		fmt.Fprintln(&want, s.root+"/"+name)
	}
	list, err := s.files.List(t.Context(), s.root+"/many/*.csv")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	for _, f := range list {
		fmt.Fprintln(&got, f.Path)
	}
	if got.String() != want.String() {
		t.Errorf("List returned %d files of 1010", len(list))
	}
}

func TestS3MissingBucket(t *testing.T) {
	t.Parallel()
	files, err := NewFiles(testS3(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"s3://calve-no-such-bucket/*.csv", "s3://calve-no-such-bucket/a.csv"} {
		if _, err := files.List(t.Context(), pattern); !errors.Is(err, lake.ErrUsage) || !strings.Contains(err.Error(), "bucket does not exist") {
			t.Errorf("List(%s) = %v, want ErrUsage", pattern, err)
		}
	}
}

func TestS3NeedsARegion(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_S3_ENDPOINT"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	files, err := NewFiles(S3{AccessKeyID: "k", SecretAccessKey: "s"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := files.List(t.Context(), "s3://b/*"); !errors.Is(err, lake.ErrUsage) || !strings.Contains(err.Error(), "catalog.s3.region") {
		t.Errorf("List without a region: %v, want ErrUsage with catalog.s3.region", err)
	}
}
