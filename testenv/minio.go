package testenv

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/calve-data/calve/catalog"
)

// minioVersion names the folder that `make tools` builds MinIO into.
const minioVersion = "minio-20260212"

// S3 is a bucket of an S3 service and a witness of it: what the code under test
// writes with one client is read back here with another.
type S3 struct {
	Endpoint, AccessKey, SecretKey, Region, Bucket string

	tb     testing.TB
	client *minio.Client
}

// MinIO returns a fresh bucket for the test. The service is the one that
// CALVE_TEST_S3 names (http://host:port, keys in CALVE_TEST_S3_KEY and
// CALVE_TEST_S3_SECRET); else one MinIO process that all tests of the binary
// share and that ends with it.
func MinIO(tb testing.TB) *S3 {
	tb.Helper()
	s := &S3{
		Endpoint:  os.Getenv("CALVE_TEST_S3"),
		AccessKey: os.Getenv("CALVE_TEST_S3_KEY"),
		SecretKey: os.Getenv("CALVE_TEST_S3_SECRET"),
		Region:    "us-east-1",
		Bucket:    bucketName(tb.Name()),
		tb:        tb,
	}
	attached := s.Endpoint != ""
	if !attached {
		program := filepath.Join(cacheDir(), "bin", minioVersion, "minio")
		need(tb, "MinIO", program)
		server, err := theMinIO.start(program)
		if err != nil {
			tb.Fatalf("start MinIO: %v", err)
		}
		s.Endpoint, s.AccessKey, s.SecretKey = server.endpoint, server.key, server.secret
	}
	host, secure := strings.CutPrefix(s.Endpoint, "https://")
	host = strings.TrimPrefix(host, "http://")
	client, err := minio.New(host, &minio.Options{
		Creds:  credentials.NewStaticV4(s.AccessKey, s.SecretKey, ""),
		Region: s.Region, Secure: secure,
	})
	if err != nil {
		tb.Fatalf("S3 client for %s: %v", s.Endpoint, err)
	}
	s.client = client
	if err := client.MakeBucket(tb.Context(), s.Bucket, minio.MakeBucketOptions{Region: s.Region}); err != nil {
		tb.Fatalf("make bucket %s at %s: %v", s.Bucket, s.Endpoint, err)
	}
	if attached {
		tb.Cleanup(s.empty)
	}
	return s
}

// Properties are the file system properties that iceberg-go wants.
func (s *S3) Properties() map[string]string {
	return map[string]string{
		"s3.endpoint":          s.Endpoint,
		"s3.access-key-id":     s.AccessKey,
		"s3.secret-access-key": s.SecretKey,
		"s3.region":            s.Region,
	}
}

// Config is how calve reaches the store.
func (s *S3) Config() catalog.S3 {
	return catalog.S3{Endpoint: s.Endpoint, Region: s.Region, AccessKeyID: s.AccessKey, SecretAccessKey: s.SecretKey}
}

// URL is the location of a key in the bucket.
func (s *S3) URL(key string) string { return "s3://" + s.Bucket + "/" + key }

// Objects lists the keys that begin with prefix, sorted.
func (s *S3) Objects(prefix string) []string {
	s.tb.Helper()
	var keys []string
	for o := range s.client.ListObjects(context.WithoutCancel(s.tb.Context()), s.Bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if o.Err != nil {
			s.tb.Fatalf("list %s: %v", s.URL(prefix), o.Err)
		}
		keys = append(keys, o.Key)
	}
	slices.Sort(keys)
	return keys
}

// Put writes one object.
func (s *S3) Put(key string, data []byte) {
	s.tb.Helper()
	_, err := s.client.PutObject(context.WithoutCancel(s.tb.Context()), s.Bucket, key, bytes.NewReader(data), int64(len(data)), minio.PutObjectOptions{})
	if err != nil {
		s.tb.Fatalf("put %s: %v", s.URL(key), err)
	}
}

// Get reads one object.
func (s *S3) Get(key string) []byte {
	s.tb.Helper()
	o, err := s.client.GetObject(context.WithoutCancel(s.tb.Context()), s.Bucket, key, minio.GetObjectOptions{})
	if err != nil {
		s.tb.Fatalf("get %s: %v", s.URL(key), err)
	}
	defer func() { _ = o.Close() }()
	data, err := io.ReadAll(o)
	if err != nil {
		s.tb.Fatalf("get %s: %v", s.URL(key), err)
	}
	return data
}

// Remove removes one object.
func (s *S3) Remove(key string) {
	s.tb.Helper()
	if err := s.client.RemoveObject(context.WithoutCancel(s.tb.Context()), s.Bucket, key, minio.RemoveObjectOptions{}); err != nil {
		s.tb.Fatalf("remove %s: %v", s.URL(key), err)
	}
}

// empty leaves a service that is not ours as it was.
func (s *S3) empty() {
	for _, key := range s.Objects("") {
		s.Remove(key)
	}
	if err := s.client.RemoveBucket(context.WithoutCancel(s.tb.Context()), s.Bucket); err != nil {
		s.tb.Errorf("remove bucket %s: %v", s.Bucket, err)
	}
}

// bucketName makes a legal bucket name that says which test it belongs to and
// that no other test has.
func bucketName(test string) string {
	name := []byte(strings.ToLower(test))
	for i, c := range name {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			name[i] = '-'
		}
	}
	return strings.Trim(string(name[:min(len(name), 40)]), "-") + fmt.Sprintf("-%08x", rand.Uint32())
}

// minioServer is a MinIO process that ends with the test binary.
type minioServer struct {
	once                  sync.Once
	err                   error
	endpoint, key, secret string
	process               *process
}

//nolint:gochecknoglobals // one process for all tests of a binary: starting one for each would cost a second a test
var theMinIO minioServer

func (m *minioServer) start(program string) (*minioServer, error) {
	m.once.Do(func() {
		m.key, m.secret = "calve", fmt.Sprintf("%016x", rand.Uint64())
		for range 3 { // the free port may be taken between asking and starting
			if m.err = m.try(program); m.err == nil {
				return
			}
		}
	})
	return m, m.err
}

func (m *minioServer) try(program string) error {
	dir, err := os.MkdirTemp("", "calve-minio-")
	if err != nil {
		return err
	}
	address, err := freeAddress()
	if err != nil {
		return err
	}
	m.process, err = startProcess("KILL", dir, []string{
		"MINIO_ROOT_USER=" + m.key, "MINIO_ROOT_PASSWORD=" + m.secret,
		"MINIO_PROMETHEUS_AUTH_TYPE=public", "MINIO_BROWSER=off", "MINIO_UPDATE=off",
	}, program, "server", "--quiet", "--address", address, filepath.Join(dir, "data"))
	if err != nil {
		return err
	}
	m.endpoint = "http://" + address
	return m.process.await(30*time.Second, func() error { return answers(m.endpoint + "/minio/health/ready") })
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// answers asks url once; anything but 200 is an error.
func answers(url string) error {
	client := http.Client{Timeout: 2 * time.Second}
	resp, err := client.Get(url)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return nil
}
