package testenv

import (
	"os"
	"path/filepath"
	"testing"
)

// minioVersion names the folder that `make tools` builds MinIO into.
const minioVersion = "minio-20260212"

// storeDomain is the name that stores started here take host names of buckets
// below. It is in no DNS: requests for it go through a proxy.
const storeDomain = "store.test"

// MinIO returns a fresh bucket for the test. The service is the one that
// CALVE_TEST_S3 names (http://host:port, keys in CALVE_TEST_S3_KEY and
// CALVE_TEST_S3_SECRET); else one MinIO process that all tests of the binary
// share and that ends with it.
func MinIO(tb testing.TB) *S3 {
	tb.Helper()
	if endpoint := os.Getenv("CALVE_TEST_S3"); endpoint != "" {
		return NewS3(tb, endpoint, os.Getenv("CALVE_TEST_S3_KEY"), os.Getenv("CALVE_TEST_S3_SECRET"), "us-east-1")
	}
	return startedS3(tb, &theMinIO, startMinIO(tb))
}

//nolint:gochecknoglobals // one process for all tests of a binary: starting one for each would cost a second a test
var theMinIO server

// startMinIO is a MinIO with further settings from the environment.
func startMinIO(tb testing.TB, env ...string) starting {
	tb.Helper()
	program := filepath.Join(cacheDir(), "bin", minioVersion, "minio")
	need(tb, "MinIO", program)
	return starting{
		name: "minio", scheme: "http", ready: "/minio/health/ready",
		command: func(dir, address string) []string {
			return []string{program, "server", "--quiet", "--certs-dir", filepath.Join(dir, "certs"), "--address", address, filepath.Join(dir, "data")}
		},
		env: func(s *server) []string {
			return append([]string{
				"MINIO_ROOT_USER=" + s.key, "MINIO_ROOT_PASSWORD=" + s.secret, "MINIO_DOMAIN=" + storeDomain,
				"MINIO_PROMETHEUS_AUTH_TYPE=public", "MINIO_BROWSER=off", "MINIO_UPDATE=off",
			}, env...)
		},
	}
}

// startedS3 is a fresh bucket of a server that is started if it has not been.
func startedS3(tb testing.TB, s *server, how starting) *S3 {
	tb.Helper()
	if _, err := s.start(how); err != nil {
		tb.Fatalf("start %s: %v", how.name, err)
	}
	return openS3(tb, &S3{
		Endpoint: s.endpoint, AccessKey: s.key, SecretKey: s.secret, Region: "us-east-1", Domain: storeDomain,
	}, bucketName(tb.Name()))
}
