package testenv_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

func TestEngineSmoke(t *testing.T) {
	s3 := testenv.MinIO(t)
	trino := testenv.Trino(t, s3)
	cat := testenv.RESTOn(t, s3)
	schema := fields("id", arrow.PrimitiveTypes.Int64, "event_time", instants(), "k", arrow.BinaryTypes.String)
	load := lake.Load{Table: cat.Ident("shelf"), TimeColumn: "event_time"}
	_, err := (&lake.Loader{Catalog: cat}).Load(t.Context(), load, testenv.Rows(t, schema,
		testenv.Row{"id": 1, "event_time": "2026-05-04T10:00:00.25Z", "k": "a"}, testenv.Row{"id": 2, "event_time": "2026-05-04T11:00:00Z"}), parse(t, "2026-05-04"))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(trino.Query(t, cat, "SELECT * FROM {catalog}.test.shelf"))
	t.Log(testenv.Spark(t, cat, "SELECT * FROM {catalog}.test.shelf"))
}
