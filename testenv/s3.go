package testenv

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/calve-data/calve/catalog"
)

// S3 is a bucket of an S3 service and a witness of it: what the code under test
// writes with one client is read back here with another.
type S3 struct {
	Endpoint, AccessKey, SecretKey, Region, Bucket string
	// Domain is the name that the service takes host names of buckets below,
	// bucket.domain; empty where it does not.
	Domain string
	// CAFile holds the certificate that the service's own is signed with; empty
	// where every machine knows it, or there is none.
	CAFile string

	tb     testing.TB
	client *minio.Core
}

// NewS3 returns a fresh bucket, which goes with the test, of the service at
// endpoint, a URL: for [ExerciseStore] on a store of one's own.
func NewS3(tb testing.TB, endpoint, key, secret, region string) *S3 {
	tb.Helper()
	s := openS3(tb, &S3{Endpoint: endpoint, AccessKey: key, SecretKey: secret, Region: region}, bucketName(tb.Name()))
	tb.Cleanup(s.empty)
	return s
}

// openS3 makes the bucket.
func openS3(tb testing.TB, s *S3, bucket string) *S3 {
	tb.Helper()
	s.Bucket = bucket
	witness(tb, s)
	if err := s.client.MakeBucket(tb.Context(), s.Bucket, minio.MakeBucketOptions{Region: s.Region}); err != nil {
		tb.Fatalf("make bucket %s at %s: %v", s.Bucket, s.Endpoint, err)
	}
	return s
}

// witness reaches a bucket that is there.
func witness(tb testing.TB, s *S3) *S3 {
	tb.Helper()
	s.tb = tb
	host, secure := strings.CutPrefix(s.Endpoint, "https://")
	host = strings.TrimPrefix(host, "http://")
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		tb.Fatal(err)
	}
	if s.CAFile != "" {
		transport.TLSClientConfig.RootCAs = certificates(tb, s.CAFile)
	}
	client, err := minio.NewCore(host, &minio.Options{
		Transport: transport,
		Creds:     credentials.NewStaticV4(s.AccessKey, s.SecretKey, ""),
		Region:    s.Region, Secure: secure, BucketLookup: minio.BucketLookupPath,
	})
	if err != nil {
		tb.Fatalf("S3 client for %s: %v", s.Endpoint, err)
	}
	s.client = client
	return s
}

// Another is a second bucket of the same service, with a name of one's own that
// no other test has taken.
func (s *S3) Another(name string) *S3 {
	s.tb.Helper()
	other := openS3(s.tb, &S3{Endpoint: s.Endpoint, AccessKey: s.AccessKey, SecretKey: s.SecretKey, Region: s.Region, Domain: s.Domain, CAFile: s.CAFile}, name)
	s.tb.Cleanup(other.empty)
	return other
}

// Config is how calve reaches the store.
func (s *S3) Config() catalog.S3 {
	return catalog.S3{Endpoint: s.Endpoint, Region: s.Region, AccessKeyID: s.AccessKey, SecretAccessKey: s.SecretKey, CAFile: s.CAFile}
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

// URL is the location of a key in the bucket.
func (s *S3) URL(key string) string { return "s3://" + s.Bucket + "/" + key }

// Objects lists the keys that begin with prefix, sorted.
func (s *S3) Objects(prefix string) []string {
	s.tb.Helper()
	var keys []string
	for o := range s.client.Client.ListObjects(context.WithoutCancel(s.tb.Context()), s.Bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
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
	_, err := s.client.Client.PutObject(context.WithoutCancel(s.tb.Context()), s.Bucket, key, bytes.NewReader(data), int64(len(data)), minio.PutObjectOptions{})
	if err != nil {
		s.tb.Fatalf("put %s: %v", s.URL(key), err)
	}
}

// Get reads one object.
func (s *S3) Get(key string) []byte {
	s.tb.Helper()
	o, err := s.client.Client.GetObject(context.WithoutCancel(s.tb.Context()), s.Bucket, key, minio.GetObjectOptions{})
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

// Uploads lists the keys whose upload in parts was begun and neither completed
// nor aborted.
func (s *S3) Uploads() []string {
	s.tb.Helper()
	list, err := s.client.ListMultipartUploads(context.WithoutCancel(s.tb.Context()), s.Bucket, "", "", "", "", 1000)
	if err != nil {
		s.tb.Fatalf("list the uploads to %s: %v", s.Bucket, err)
	}
	var keys []string
	for _, u := range list.Uploads {
		keys = append(keys, u.Key)
	}
	return keys
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
