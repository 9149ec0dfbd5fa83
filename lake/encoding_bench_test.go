package lake_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// BenchmarkEncodings compares ways to write the same rows: what they cost in
// time and in bytes, each against the way that the stage takes, zstd level 1
// with dictionaries where they pay.
func BenchmarkEncodings(b *testing.B) {
	batches := payments(500_000)
	taken := encoding(batches[0].Schema(), compress.Codecs.Zstd, 1, true)
	for _, other := range []struct {
		name  string
		props *parquet.WriterProperties
	}{
		{"zstd-3", encoding(batches[0].Schema(), compress.Codecs.Zstd, 3, true)},
		{"zstd-6", encoding(batches[0].Schema(), compress.Codecs.Zstd, 6, true)},
		{"dictionaries-always", encoding(batches[0].Schema(), compress.Codecs.Zstd, 1, false)},
		{"no-dictionaries", parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCompressionLevel(1), parquet.WithDictionaryDefault(false), parquet.WithStoreDecimalAsInteger(true))},
		{"decimals-as-bytes", parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Zstd), parquet.WithCompressionLevel(1))},
		{"snappy", encoding(batches[0].Schema(), compress.Codecs.Snappy, 0, true)},
		{"uncompressed", encoding(batches[0].Schema(), compress.Codecs.Uncompressed, 0, true)},
	} {
		b.Run(other.name, func(b *testing.B) {
			var ours, theirs time.Duration
			var size, otherSize int
			for b.Loop() {
				n, d := encodeAll(b, batches, taken)
				size, ours = n, ours+d
				n, d = encodeAll(b, batches, other.props)
				otherSize, theirs = n, theirs+d
			}
			b.ReportMetric(theirs.Seconds()/ours.Seconds(), "times-the-time")
			b.ReportMetric(float64(otherSize)/float64(size), "times-the-bytes")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func encoding(sc *arrow.Schema, codec compress.Compression, level int, fallBack bool) *parquet.WriterProperties {
	opts := []parquet.WriterProperty{parquet.WithCompression(codec), parquet.WithStoreDecimalAsInteger(true)}
	if level > 0 {
		opts = append(opts, parquet.WithCompressionLevel(level))
	}
	for _, f := range sc.Fields() {
		opts = append(opts, parquet.WithDictionaryCostFallbackFor(f.Name, fallBack))
	}
	return parquet.NewWriterProperties(opts...)
}

func encodeAll(b *testing.B, batches []arrow.RecordBatch, props *parquet.WriterProperties) (size int, took time.Duration) {
	b.Helper()
	var out bytes.Buffer
	began := time.Now()
	w, err := pqarrow.NewFileWriter(batches[0].Schema(), &out, props, pqarrow.DefaultWriterProps())
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range batches {
		if err := w.WriteBuffered(r); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return out.Len(), time.Since(began)
}
