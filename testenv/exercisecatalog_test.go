package testenv

import (
	"net/http"
	"testing"

	"github.com/calve-data/calve/catalog"
	"github.com/calve-data/calve/lake"
)

func TestCatalogs(t *testing.T) {
	t.Parallel()
	readers := map[string]func(testing.TB, *AnyCatalog) lake.Catalog{"postgres": postgresReader, "rest": restReader}
	for _, kind := range Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			ExerciseCatalog(t, func(tb testing.TB) CatalogOnTrial {
				cat := kind.New(tb, MinIO(tb))
				trial := CatalogOnTrial{
					Open:      func(tb testing.TB) lake.Catalog { return cat.Again(tb) },
					Namespace: cat.Namespace,
					Objects:   func() []string { return cat.S3.Objects("") },
				}
				if reader := readers[kind.Name]; reader != nil {
					trial.ReadOnly = func(tb testing.TB) lake.Catalog { return reader(tb, cat) }
				}
				return trial
			})
		})
	}
}

// postgresReader opens the catalog as a user who may only read its tables.
func postgresReader(tb testing.TB, cat *AnyCatalog) lake.Catalog {
	tb.Helper()
	db := &PostgresDB{URI: cat.Config.URI, tb: tb}
	user := "reader_" + bucketName("")[1:]
	db.Exec("CREATE USER " + user + " PASSWORD 'reads'")
	db.Exec("GRANT SELECT ON iceberg_tables, iceberg_namespace_properties TO " + user)
	config := cat.Config
	config.URI = db.As(user, "reads")
	return (&AnyCatalog{Config: config}).Again(tb)
}

// restReader opens the catalog through a guard that lets nobody change it.
func restReader(tb testing.TB, cat *AnyCatalog) lake.Catalog {
	tb.Helper()
	guard := REST(tb, cat.S3).Guard(tb, Guard{Answer: func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			return false
		}
		AnswerError(w, http.StatusForbidden, "ForbiddenException")
		return true
	}})
	return (&AnyCatalog{Config: catalog.Config{Type: "rest", URI: guard.URI, S3: cat.S3.Config()}}).Again(tb)
}
