package testenv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/catalog"
)

// seaweedVersion names the folder that `make engines` builds SeaweedFS into.
const seaweedVersion = "seaweedfs-20261109"

// seaweedBucket is the one warehouse that the server has.
const seaweedBucket = "lake"

// seaweedServer is one process with two addresses: the catalog's is its
// endpoint, the other one that of the store.
type seaweedServer struct {
	server
	store string
}

//nolint:gochecknoglobals // one process for all tests of a binary, as of MinIO
var theSeaweed seaweedServer

// SeaweedFS returns a new namespace of a REST catalog that other people wrote
// than those of Iceberg's own server, in Go: it keeps its tables in a store of
// its own and asks by OAuth2 who is there. All tests of the binary share one
// process and its only warehouse.
func SeaweedFS(tb testing.TB) *AnyCatalog {
	tb.Helper()
	heavy(tb)
	program := filepath.Join(cacheDir(), "bin", seaweedVersion, "weed")
	need(tb, "SeaweedFS", program)
	server, err := theSeaweed.start(starting{
		name: "seaweedfs", scheme: "http", patience: 2 * time.Minute,
		// It answers before it has made its warehouse.
		serves: func(*server) error {
			cat, err := catalog.Open(tb.Context(), theSeaweed.config())
			if err != nil {
				return err
			}
			return errors.Join(cat.CreateNamespace(tb.Context(), table.Identifier{"ready"}), cat.Close())
		},
		env: func(s *server) []string {
			return []string{"AWS_ACCESS_KEY_ID=" + s.key, "AWS_SECRET_ACCESS_KEY=" + s.secret}
		},
		command: theSeaweed.command(tb, program),
	})
	if err != nil {
		tb.Fatalf("start SeaweedFS: %v", err)
	}
	s3 := witness(tb, &S3{
		Endpoint: theSeaweed.store, AccessKey: server.key, SecretKey: server.secret, Region: "us-east-1", Bucket: seaweedBucket,
	})
	return openAny(tb, s3, fmt.Sprintf("%s_%08x", Namespace, rand.Uint32()), theSeaweed.config())
}

func (w *seaweedServer) config() catalog.Config {
	return catalog.Config{
		Type: "rest", URI: w.endpoint, Warehouse: "s3://" + seaweedBucket,
		Access: catalog.Access{Credential: w.key + ":" + w.secret},
	}
}

// command gives every part of the server a free port of its own: it would take
// another one by itself, and not say which. Its statistics stay here.
func (w *seaweedServer) command(tb testing.TB, program string) func(dir, address string) []string {
	return func(dir, address string) []string {
		command := []string{
			program, "mini", "-dir=" + dir, "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false",
			"-webdav=false", "-admin.ui=false", "-s3.port.lance=0", "-tableBucket=" + seaweedBucket, "-s3.port.iceberg=" + portOf(address),
		}
		for _, part := range []string{
			"s3.port", "s3.port.grpc", "master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc",
		} {
			free, err := freeAddress()
			if err != nil {
				tb.Fatal(err)
			}
			if part == "s3.port" {
				w.store = "http://" + free
			}
			command = append(command, "-"+part+"="+portOf(free))
		}
		return command
	}
}
