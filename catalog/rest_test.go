package catalog

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	icebergcat "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/catalogtest"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
)

// StoreForTest gives a test a store. See minio_test.go.
var StoreForTest func(*testing.T) S3

// testS3 is a store that is there: MinIO, or what CALVE_TEST_S3 names.
func testS3(t *testing.T) S3 {
	t.Helper()
	return StoreForTest(t)
}

func TestRESTCatalogConformance(t *testing.T) {
	config := KindsForTest["rest"](t)
	catalogtest.RunCatalogTests(t, catalogtest.Config{
		NewCatalog:                  func(t *testing.T) icebergcat.Catalog { return openTest(t, config).cat },
		SupportsNamespaceProperties: true,
	})
}

func TestRESTCreateWithFirstSnapshotInOneCommit(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]*iceberg.PartitionSpec{"partitioned": &paymentsSpec, "unpartitioned": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cat := openTest(t, KindsForTest["rest"](t))
			namespace := fmt.Sprintf("calve_%s_%d", name, time.Now().UnixNano())
			exerciseCreate(t, cat, table.Identifier{namespace, "payments"}, spec)
		})
	}
}

// bareREST is a REST server that knows one namespace, without a location.
func bareREST(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/v1/config":
			fmt.Fprint(w, `{"defaults":{},"overrides":{}}`)
		case strings.HasSuffix(r.URL.Path, "/namespaces/n"):
			fmt.Fprint(w, `{"namespace":["n"],"properties":{}}`)
		default:
			w.WriteHeader(http.StatusNotImplemented) // no staged create, for one
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestRESTDraftNeedsALocation(t *testing.T) {
	t.Parallel()
	uri, id := bareREST(t), table.Identifier{"n", "t"}
	named := openTest(t, Config{Type: "rest", URI: uri, Warehouse: "main"})
	if _, err := named.Draft(t.Context(), id, paymentsSchema, nil, nil); err == nil || !strings.Contains(err.Error(), "catalog.warehouse") {
		t.Errorf("Draft without a location: %v, want an error that names catalog.warehouse", err)
	}
	located := openTest(t, Config{Type: "rest", URI: uri, Warehouse: "s3://lake/wh/"})
	draft, err := located.Draft(t.Context(), id, paymentsSchema, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := "s3://lake/wh/n/t"; draft.Location() != want {
		t.Errorf("Draft is at %s, want %s", draft.Location(), want)
	}
}

// An object store answers 400 with XML, for one.
func TestRESTAtAnotherServer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "<Error/>", http.StatusBadRequest)
	}))
	t.Cleanup(server.Close)
	if _, err := Open(t.Context(), Config{Type: "rest", URI: server.URL}); !errors.Is(err, lake.ErrUsage) || !strings.Contains(err.Error(), "catalog.uri") {
		t.Errorf("Open: %v, want ErrUsage with catalog.uri", err)
	}
}

func TestRESTAwayIsTemporary(t *testing.T) {
	t.Parallel()
	if _, err := Open(t.Context(), Config{Type: "rest", URI: "http://127.0.0.1:1"}); !errors.Is(err, lake.ErrTemporary) {
		t.Errorf("Open of a server that is away: %v, want ErrTemporary", err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/v1/config" {
			fmt.Fprint(w, `{"defaults":{},"overrides":{}}`)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(server.Close)
	cat := openTest(t, Config{Type: "rest", URI: server.URL})
	if _, err := cat.LoadTable(t.Context(), table.Identifier{"n", "t"}); !errors.Is(err, lake.ErrTemporary) {
		t.Errorf("LoadTable of a busy server: %v, want ErrTemporary", err)
	}
	if _, _, err := cat.CommitTable(t.Context(), table.Identifier{"n", "t"}, nil, nil); err == nil || errors.Is(err, lake.ErrTemporary) {
		t.Errorf("CommitTable of a busy server: %v, want an error that promises nothing", err)
	}
}

// A server that does not answer is not waited for without end.
func TestRESTCallsHaveADeadline(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
		}
		<-done
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(done) })
	client := http.Client{Transport: restTransport{newTransport(nil), 50 * time.Millisecond}}
	for _, path := range []string{"/", "/body"} {
		resp, err := client.Get(server.URL + path)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
		if err == nil || !errors.Is(translate(err), lake.ErrTemporary) {
			t.Errorf("GET %s: %v, want ErrTemporary", path, err)
		}
	}
}
