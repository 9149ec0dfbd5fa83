package testenv

import (
	"os"
	"path/filepath"
	"testing"
)

// versityVersion names the folder that `make tools` builds versitygw into.
const versityVersion = "versitygw-1.8.0"

// VersityGW returns a fresh bucket for the test, of one versitygw process over
// a folder that all tests of the binary share and that ends with it. It is
// another program than MinIO, written by others: what holds on both is S3.
func VersityGW(tb testing.TB) *S3 {
	tb.Helper()
	return startedS3(tb, &theVersityGW, startVersityGW(tb))
}

//nolint:gochecknoglobals // one process for all tests of a binary, as of MinIO
var theVersityGW server

func startVersityGW(tb testing.TB) starting {
	tb.Helper()
	program := filepath.Join(cacheDir(), "bin", versityVersion, "versitygw")
	need(tb, "versitygw", program)
	return starting{
		name: "versitygw", scheme: "http", ready: "/health",
		command: func(dir, address string) []string {
			// A sidecar, for not every file system of a temporary folder keeps attributes.
			return []string{
				program, "--quiet", "--keep-alive", "--health", "/health", "--virtual-domain", storeDomain, "--port", address,
				"posix", "--sidecar", filepath.Join(dir, "sidecar"), filepath.Join(dir, "data"),
			}
		},
		env: func(s *server) []string {
			return []string{"ROOT_ACCESS_KEY_ID=" + s.key, "ROOT_SECRET_ACCESS_KEY=" + s.secret, "VGW_REGION=us-east-1"}
		},
		prepare: func(dir, _ string) error {
			if err := os.Mkdir(filepath.Join(dir, "data"), 0o755); err != nil {
				return err
			}
			return os.Mkdir(filepath.Join(dir, "sidecar"), 0o755)
		},
	}
}

// Stores are the stores that every promise about S3 is tested on, by name. Each
// call makes a fresh bucket.
func Stores() map[string]func(testing.TB) *S3 {
	return map[string]func(testing.TB) *S3{"MinIO": MinIO, "versitygw": VersityGW}
}
