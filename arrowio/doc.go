// Package arrowio is how rows come in: a source's window as Arrow record
// batches, read from CSV, NDJSON or Parquet files.
//
// [New] makes a [lake.Source] of a pattern of files. CSV and NDJSON are cut into
// blocks that are parsed in parallel, by exact converters: a value that does not fit its
// type is an error with file, line and column, never a NULL. Types that nothing
// declares are inferred from every value of every file.
package arrowio
