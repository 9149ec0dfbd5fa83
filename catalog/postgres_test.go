package catalog

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	icebergcat "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/catalogtest"
	"github.com/apache/iceberg-go/table"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/calve-data/calve/lake"
)

// KindsForTest opens a new catalog of each kind that there are servers for. See
// kinds_test.go.
var KindsForTest map[string]func(*testing.T) Config

func TestPostgresCatalogConformance(t *testing.T) {
	config := KindsForTest["postgres"](t)
	catalogtest.RunCatalogTests(t, catalogtest.Config{
		NewCatalog:                  func(t *testing.T) icebergcat.Catalog { return openTest(t, config).cat },
		SupportsNamespaceProperties: true,
	})
}

func TestPostgresCreateWithFirstSnapshotInOneCommit(t *testing.T) {
	t.Parallel()
	cat := openTest(t, KindsForTest["postgres"](t))
	for name, spec := range map[string]*iceberg.PartitionSpec{"partitioned": &paymentsSpec, "unpartitioned": nil} {
		t.Run(name, func(t *testing.T) {
			exerciseCreate(t, cat, table.Identifier{name, "pay ments"}, spec)
		})
	}
}

func TestPostgresSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	config := KindsForTest["postgres"](t)
	base, params, _ := strings.Cut(config.URI, "?")
	user := base[:strings.LastIndex(base, "@")]
	for _, tt := range []struct {
		name, uri string
		is        error
	}{
		{"no URL", "postgres://u:hunter2secret@[h/db", lake.ErrUsage},
		{"a parameter that is wrong", "postgres://u:hunter2secret@h/db?sslmode=nonsense", lake.ErrUsage},
		{"nobody there", user + "@127.0.0.1:1/db?" + params, lake.ErrTemporary},
		{"no such database", base[:strings.LastIndex(base, "/")] + "/nowhere?" + params, lake.ErrNoCatalog},
		{"no TLS", base + "?sslmode=require", lake.ErrUsage},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			config := config
			config.URI = tt.uri
			_, err := Open(t.Context(), config)
			if !errors.Is(err, tt.is) {
				t.Errorf("Open: %v, want %v", err, tt.is)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("Open printed a password: %v", err)
			}
		})
	}
}

// TestPostgresThatFallsSilent: a server that lets in and then says nothing more
// is not waited for without end.
func TestPostgresThatFallsSilent(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go letIn(conn)
		}
	}()
	_, err = Open(t.Context(), Config{Type: "sql", URI: "postgres://u@" + listener.Addr().String() + "/db?sslmode=disable", Warehouse: t.TempDir(), S3: S3{Timeout: time.Second}})
	if !errors.Is(err, lake.ErrTemporary) {
		t.Errorf("Open: %v, want %v", err, lake.ErrTemporary)
	}
}

// letIn welcomes a client and answers nothing after that.
func letIn(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	server := pgproto3.NewBackend(conn, conn)
	if _, err := server.ReceiveStartupMessage(); err != nil {
		return
	}
	server.Send(&pgproto3.AuthenticationOk{})
	server.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	if server.Flush() == nil {
		_, _ = io.Copy(io.Discard, conn)
	}
}
