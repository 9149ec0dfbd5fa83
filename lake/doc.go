// Package lake loads one window of one source into an Apache Iceberg table,
// safely, again and again.
//
// # The promise
//
// A load is one window of one source into one table. When it ends, either the
// window's rows in the table are exactly the source's rows for that window,
// published in one snapshot, or the table is exactly as it was. Running it
// again for the same window leaves the same rows.
//
// # The words
//
// A window is half-open, [from, to), on the table's time column, and always
// given by the caller. A load owns its window's rows and, where it has one, its
// scope: constant equalities such as region = 'eu'. The base is the snapshot
// that the plan was made on, fixed before the source is opened; the head is the
// branch's tip now. A file is inside, outside or straddling: all, none or some
// of its rows are owned. A staged file is written and complete and named by no
// snapshot. A source file depends only on the source; a derived file holds what
// survives of a straddling one.
//
// # The life of one load
//
//	window ─▶ plan ─▶ source batches ─▶ guard ─▶ stage ─▶ commit ─▶ receipt
//
// [Loader.Plan] loads the table, fixes the base and pins the source. The guard
// proves on the values to be stored that every row belongs to the window and
// the scope. Staging writes Parquet files that nobody can see. The commit makes
// them visible, and the replaced ones invisible, in one compare-and-swap; it is
// the only place that tries again. The [Receipt] says what happened.
//
// Nothing before the swap changes what a reader sees, and nothing after it can
// fail the load: a process may die anywhere and the load be run again.
//
// # Loads by keys
//
// In mode [Merge] a row of the source takes the place of the table's row of its
// key, wherever that is, if its version is newer; in mode [Append] a row is added
// whose id the table lacks. What becomes of a row depends on the table, so it is
// decided on the head of each attempt, and another load of the same window is no
// obstacle. Loading windows again, in any order, leaves what the newest versions
// say, or each event once.
//
// # Many windows
//
// [Loader.Backfill] loads windows that [Window.Grid] cuts from a span, each by a
// load of its own, several at the same time. What it has done is in the coverage:
// it may end anywhere and go on with what the coverage lacks.
//
// # Maintenance
//
// [Loader.Maintain] expires snapshots and deletes what nobody needs any more,
// beside running loads. An orphan is a file that a load staged which is over and
// did not commit; since nobody can ask a load whether it is over, a file is one
// only after [OrphanAge], and a load commits only within [LongestLoad].
//
// # What it asks of others
//
// Rows come from a [Source]; commits go out through a [Catalog]. The package
// prints nothing and logs nothing: it returns receipts and errors, and calls
// the hooks of a [Trace].
package lake
