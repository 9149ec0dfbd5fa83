package lake

import (
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
)

// RowsResult is the result of [Rows].
type RowsResult struct {
	Schema *arrow.Schema
	// Batches yields the rows; the caller releases each batch.
	Batches iter.Seq2[arrow.RecordBatch, error]
}
