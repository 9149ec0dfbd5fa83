package lake_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// TestDigestVectorsInPython: a second implementation, which knows the
// description of the vectors alone, agrees with each of them.
func TestDigestVectorsInPython(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/digest-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if wrong := testenv.WrongDigestVectors(t, raw); len(wrong) > 0 {
		t.Errorf("Python disagrees:\n%s", strings.Join(wrong, "\n"))
	}
	broken := strings.Replace(string(raw), `"1": 2147483647`, `"1": 2147483646`, 1)
	if wrong := testenv.WrongDigestVectors(t, []byte(broken)); len(wrong) != 1 {
		t.Errorf("a changed row is found in %q", wrong)
	}
}

// TestDigestOfALoad: the digest of a receipt is that of the rows in the table,
// however they came and however they are stored.
func TestDigestOfALoad(t *testing.T) {
	t.Parallel()
	const rows = 20_000
	whole := payments(rows)[0]
	parts := func(size int64) (out []arrow.RecordBatch) {
		for from := int64(0); from < rows; from += size {
			out = append(out, whole.NewSlice(from, min(from+size, rows)))
		}
		return out
	}
	id := 0
	digest := func(what string, loader lake.Loader, load lake.Load, properties iceberg.Properties, batches []arrow.RecordBatch) lake.Digest {
		t.Helper()
		id++
		cat := testenv.Catalog(t)
		loader.Catalog, load.Table, load.TimeColumn, load.Properties = cat, testenv.Ident(fmt.Sprintf("digest%d", id)), "event_time", properties
		r, err := loader.Load(t.Context(), load, &testenv.Source{Schema: batches[0].Schema(), Batches: batches}, window(t, "2026-05-04"))
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		d, err := lake.ParseDigest(*r.Digest)
		if err != nil {
			t.Fatal(err)
		}
		tbl := testenv.Load(t, cat, load.Table)
		if read := digestOfTable(t, tbl, lake.RowsQuery{}); read != d || d.Rows != rows {
			t.Errorf("%s: the receipt says %s, the table holds %s", what, d, read)
		}
		history, err := lake.History(tbl, "")
		if err != nil || history[0].Digest != *r.Digest {
			t.Errorf("%s: history says %q, %v", what, history[0].Digest, err)
		}
		return d
	}
	want := digest("one batch", lake.Loader{Procs: 1}, lake.Load{}, nil, parts(rows))
	for what, got := range map[string]lake.Digest{
		"small batches":         digest("small batches", lake.Loader{Procs: 2}, lake.Load{}, nil, parts(777)),
		"hours, four cores":     digest("hours", lake.Loader{Procs: 4}, lake.Load{PartitionBy: []string{"hour(event_time)"}}, nil, parts(5000)),
		"spilled":               digest("spilled", lake.Loader{Memory: 1}, lake.Load{PartitionBy: []string{"bucket(40, payment_id)"}}, nil, parts(3000)),
		"many files":            digest("many files", lake.Loader{}, lake.Load{PartitionBy: []string{}}, iceberg.Properties{table.WriteTargetFileSizeBytesKey: "100000"}, parts(1000)),
		"two columns exchanged": digest("two columns exchanged", lake.Loader{}, lake.Load{}, nil, exchanged(parts(rows))),
	} {
		// Another order of columns gives a new table other field ids.
		if (got == want) != (what != "two columns exchanged") {
			t.Errorf("%s: %s, and at first %s", what, got, want)
		}
	}
}

// exchanged has the first two columns in the other order.
func exchanged(batches []arrow.RecordBatch) (out []arrow.RecordBatch) {
	for _, b := range batches {
		fields, columns := b.Schema().Fields(), append([]arrow.Array{}, b.Columns()...)
		fields[0], fields[1] = fields[1], fields[0]
		columns[0], columns[1] = columns[1], columns[0]
		out = append(out, array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, b.NumRows()))
	}
	return out
}

func digestOfTable(t *testing.T, tbl *table.Table, q lake.RowsQuery, volatile ...int) lake.Digest {
	t.Helper()
	rows, err := lake.Rows(t.Context(), tbl, q)
	if err != nil {
		t.Fatal(err)
	}
	d, err := lake.NewDigester(tbl.Schema(), volatile...)
	if err != nil {
		t.Fatal(err)
	}
	for rec, err := range rows.Batches {
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Add(rec); err != nil {
			t.Fatal(err)
		}
		rec.Release()
	}
	return d.Digest()
}

// TestDigestOfAnExistingTable: the source's order of columns, what lies outside
// the window, and what survives of a file do not count; an added column that is
// NULL neither.
func TestDigestOfAnExistingTable(t *testing.T) {
	t.Parallel()
	cat := testenv.Catalog(t)
	e := withoutModel(t, cat, "digest")
	nine, ten := event(1, "2026-05-04T09:00:00Z", 1), event(2, "2026-05-04T10:30:00Z", 2)
	e.replace("2026-05-04", nine)
	first := e.replace("2026-05-04T10", nine, ten, event(3, "2026-05-05T10:30:00Z", 3))
	e.model.Replace(window(t, "2026-05-04T10"), "", ten)
	second := e.replace("2026-05-04T10", ten, event(4, "2026-05-04T10:31:00Z", 4))
	tbl := testenv.Load(t, e.cat, e.load.Table)
	hour := digestOfTable(t, tbl, lake.RowsQuery{Window: window(t, "2026-05-04T10"), TimeColumn: "event_time"})
	if second.Digest == nil || hour.String() != *second.Digest {
		t.Errorf("the receipt says %v, the hour in the table is %s", second.Digest, hour)
	}
	if *first.Digest == *second.Digest || !strings.HasPrefix(*first.Digest, "calve-digest/1:1:") {
		t.Errorf("the first load of the hour says %s, the second %s", *first.Digest, *second.Digest)
	}
	e.load.OnEmpty = lake.ClearEmpty
	if r := e.replace("2026-05-04T10"); r.Digest == nil || *r.Digest != (lake.Digest{}).String() {
		t.Errorf("the digest of no rows is %v", r.Digest)
	}
	e.addColumn("note")
	if r := e.replace("2026-05-04T10", ten); *r.Digest != *first.Digest {
		t.Errorf("after a column was added: %s, want %s", *r.Digest, *first.Digest)
	}
}

// TestVolatileColumns are stored, and do not count.
func TestVolatileColumns(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "volatile")
	load := func(value int64) lake.Receipt {
		t.Helper()
		return e.replace("2026-05-04", event(1, "2026-05-04T09:00:00Z", value))
	}
	stable := load(1)
	e.load.Volatile, e.load.CommitUnchanged = []string{"value", "VALUE"}, true
	first, second := load(1), load(2)
	if *first.Digest != *second.Digest || *first.Digest == *stable.Digest {
		t.Errorf("digests %s, and without the volatile column %s, %s", *stable.Digest, *first.Digest, *second.Digest)
	}
	tbl := testenv.Load(t, e.cat, e.load.Table)
	field, _ := tbl.Schema().FindFieldByName("value")
	if got := tbl.CurrentSnapshot().Summary.Properties["calve.volatile"]; got != fmt.Sprint(field.ID) {
		t.Errorf("calve.volatile = %q, want %d", got, field.ID)
	}
	if d := digestOfTable(t, tbl, lake.RowsQuery{}, field.ID); d.String() != *second.Digest {
		t.Errorf("the table holds %s, the receipt says %s", d, *second.Digest)
	}
	for _, bad := range [][]string{{"nothing"}, {"event_time"}} {
		e.load.Volatile = bad
		if _, err := e.run("2026-05-04", source(t, event(1, "2026-05-04T09:00:00Z", 1))); !errors.Is(err, lake.ErrUsage) {
			t.Errorf("volatile %q: %v", bad, err)
		}
	}
}
