package testenv_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// queryEngine is an engine that answers queries on a table, as {table} in them.
type queryEngine struct {
	name, quote string
	ask         func(queries ...string) [][][]string
}

// queryEngines are DuckDB, and where the catalog is served Spark and Trino.
func queryEngines(t *testing.T, cat *testenv.LocalCatalog, load lake.Load) []queryEngine {
	t.Helper()
	engines := []queryEngine{{"DuckDB", `"`, func(queries ...string) [][][]string {
		return testenv.DuckDBEach(t, testenv.Load(t, cat, load.Table).MetadataLocation(), cat.S3, queries...)
	}}}
	if cat.Served == nil {
		return engines
	}
	table := strings.NewReplacer("{table}", "{catalog}."+strings.Join(load.Table, "."))
	return append(engines, queryEngine{"Spark", "`", func(queries ...string) [][][]string {
		for i, q := range queries {
			queries[i] = table.Replace(q)
		}
		return testenv.Spark(t, cat.Served, queries...)
	}}, queryEngine{"Trino", `"`, func(queries ...string) (answers [][][]string) {
		for _, q := range queries {
			answers = append(answers, testenv.Trino(t, cat.S3).Query(t, cat.Served, typed(table.Replace(q))))
		}
		return answers
	}})
}

var (
	instantText = regexp.MustCompile(`'\d{4}-\d\d-\d\dT[\d:.]+\+00:00'`)
	dateText    = regexp.MustCompile(`'\d{4}-\d\d-\d\d'`)
)

// typed gives times the types that other engines infer.
func typed(query string) string {
	query = instantText.ReplaceAllString(query, "from_iso8601_timestamp($0)")
	return dateText.ReplaceAllString(query, "DATE $0")
}

// agree checks filtered reads.
func (e queryEngine) agree(t *testing.T, filters ...filtered) {
	t.Helper()
	var queries []string
	for _, f := range filters {
		queries = append(queries, "SELECT id FROM {table} WHERE "+f.filter)
	}
	for i, rows := range e.ask(queries...) {
		if diff := cmp.Diff(filters[i].ids, joined(rows)); diff != "" {
			t.Errorf("%s, %s; -want +got:\n%s", e.name, filters[i].filter, diff)
		}
	}
}

// onReaders runs a test over a folder and over a bucket, read by DuckDB and
// PyIceberg, and by Spark and Trino too where these are tested.
func onReaders(t *testing.T, test func(t *testing.T, cat *testenv.LocalCatalog)) {
	t.Helper()
	onStores(t, test)
	t.Run("engines", func(t *testing.T) {
		t.Parallel()
		s3 := testenv.MinIO(t)
		testenv.Trino(t, s3)
		test(t, testenv.CatalogServed(t, s3))
	})
}
