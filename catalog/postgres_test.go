package catalog

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	icebergcat "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/catalogtest"
	"github.com/apache/iceberg-go/table"

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
