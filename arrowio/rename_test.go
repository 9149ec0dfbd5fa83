package arrowio

import (
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/calve-data/calve/lake"
)

func TestRename(t *testing.T) {
	t.Parallel()
	schema := fieldsSchema(nullable("Amount (USD)", arrow.PrimitiveTypes.Int64), nullable("id", arrow.PrimitiveTypes.Int64))
	files := bytesFiles{"a.parquet": parquetBytes(t, schema, 10, `[{"Amount (USD)":1,"id":5000000000}]`)}
	input := pinParquet(t, files, Config{Rename: map[string]string{"Amount (USD)": "amount"}})
	columns, err := input.Columns(t.Context())
	if err != nil || columns[0].Name != "amount" || columns[1].Name != "id" {
		t.Errorf("Columns = %v, %v", columns, err)
	}
	inferred, err := input.Infer(t.Context(), []string{"amount"})
	if err != nil || inferred[0].Name != "amount" {
		t.Errorf("Infer = %v, %v", inferred, err)
	}
	got, err := readText(t, input, readRequest(fieldsSchema(nullable("id", arrow.PrimitiveTypes.Int64), nullable("amount", arrow.PrimitiveTypes.Int32))))
	if want := `{"amount":1,"id":5000000000}` + "\n"; got != want || err != nil {
		t.Errorf("Read = %q, %v, want %q", got, err, want)
	}
	again := pinParquet(t, files, Config{Rename: map[string]string{"Amount (USD)": "id"}})
	if _, err := again.Columns(t.Context()); !errors.Is(err, lake.ErrUsage) {
		t.Errorf("Columns with two names: %v, want ErrUsage", err)
	}
}
