package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// restVersion names the folder that `make tools` builds the REST server into.
const restVersion = "iceberg-rest-1.11.0-1"

// RESTServer is an Iceberg REST catalog.
type RESTServer struct {
	// URI is the catalog's, without /v1.
	URI string
	// S3 is the store of its tables.
	S3 *S3
	// Shared is true for a server that CALVE_REST_URI names: its namespaces may
	// be those of other tests.
	Shared bool
}

// REST returns a catalog of Iceberg's own REST test server whose tables are in
// the bucket, below the key warehouse. The server is one Java process that all
// tests of the binary share and that ends with it; each bucket has a catalog of
// its own in it. CALVE_REST_URI names another server instead, which must reach
// the same store.
//
// The server asks for no credentials, and tells none: see [RESTServer.Guard].
func REST(tb testing.TB, s3 *S3) *RESTServer {
	tb.Helper()
	if uri := os.Getenv("CALVE_REST_URI"); uri != "" {
		return &RESTServer{URI: uri, S3: s3, Shared: true}
	}
	java, err := exec.LookPath("java")
	if err != nil {
		lack(tb, "Java", "install it (Debian: apt-get install default-jdk-headless), or name a server in CALVE_REST_URI")
	}
	programs := filepath.Join(cacheDir(), "lib", restVersion)
	need(tb, "Iceberg's REST server", programs)
	server, err := theREST.start(starting{
		name: "rest", scheme: "http", ready: "/", patience: time.Minute,
		command: func(dir, address string) []string {
			return []string{
				java, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
				"-cp", filepath.Join(programs, "*"), "org.apache.iceberg.rest.TestServer", portOf(address), dir,
				"s3.endpoint=" + s3.Endpoint, "s3.path-style-access=true", "client.region=" + s3.Region,
				"s3.access-key-id=" + s3.AccessKey, "s3.secret-access-key=" + s3.SecretKey,
			}
		},
	})
	if err != nil {
		tb.Fatalf("start Iceberg's REST server: %v", err)
	}
	return &RESTServer{URI: server.endpoint + "/" + s3.Bucket, S3: s3}
}

//nolint:gochecknoglobals // one process for all tests of a binary: starting one for each would cost seconds a test
var theREST server
