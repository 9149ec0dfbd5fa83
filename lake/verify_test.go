package lake_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// verified is a verification as text: the sides, why they differ, and how.
func (e *events) verified(text string, src lake.Source, opt lake.VerifyOptions) (string, error) {
	e.tb.Helper()
	l := &lake.Loader{Catalog: e.cat}
	v, err := l.Verify(e.tb.Context(), e.load, src, window(e.tb, text), opt)
	if err != nil {
		return "", err
	}
	defer v.Release()
	var b strings.Builder
	for _, s := range v.Sides {
		fmt.Fprintf(&b, "%s %d; ", s.Name, s.Digest.Rows)
	}
	if v.Equal() {
		return b.String() + "equal", nil
	}
	d := v.Difference
	for _, side := range []struct {
		name string
		rows lake.DifferingRows
	}{{d.Source, d.OnlySource}, {d.Other, d.OnlyOther}} {
		fmt.Fprintf(&b, "only in %s %d:", side.name, side.rows.Count)
		for _, rec := range side.rows.Rows {
			for _, row := range testenv.Text(rec) {
				id, _, _ := strings.Cut(strings.TrimPrefix(row, "id="), " ")
				fmt.Fprintf(&b, " %s", id)
			}
		}
		b.WriteString("; ")
	}
	for _, c := range d.Columns {
		fmt.Fprintf(&b, "%s %d/%s %d/%s; ", c.Name, c.Source.Values, c.Source.Sum, c.Other.Values, c.Other.Sum)
	}
	for _, why := range v.Causes {
		fmt.Fprintf(&b, "(%s)", cutID(why))
	}
	return b.String(), nil
}

// cutID ends a sentence before the id of a snapshot.
func cutID(why string) string {
	before, _, found := strings.Cut(why, "by snapshot ")
	if !found {
		return why
	}
	return before + "by snapshot"
}

func TestVerify(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "verified")
	day := []testenv.Event{event(1, "2026-05-04T09:00:00Z", 1), event(2, "2026-05-04T10:00:00Z", 2), event(3, "2026-05-04T11:00:00Z", 3)}
	other := event(9, "2026-05-05T00:00:00Z", 9)
	if _, err := e.verified("2026-05-04", source(t, day...), lake.VerifyOptions{}); !errors.Is(err, lake.ErrNoTable) {
		t.Errorf("Verify of no table: %v", err)
	}
	e.replace("2026-05-04", day...)
	e.replace("2026-05-05", other)

	changed := slices.Clone(day)
	changed[1] = event(2, "2026-05-04T10:00:00Z", 20)
	for _, tt := range []struct {
		name, window string
		rows         []testenv.Event
		want         string
	}{
		{"the same", "2026-05-04", day, "source 3; table 3; equal"},
		{"with rows of other days", "2026-05-04", append(slices.Clone(day), other), "source 3; table 3; equal"},
		{
			"a row changed", "2026-05-04", changed,
			"source 3; table 3; only in source 1: 2; only in table 1: 2; value 3/24 3/6; (the source changed since the load: its files are others, or were written again)",
		},
		{
			"a row removed", "2026-05-04", day[:2],
			"source 2; table 3; only in source 0:; only in table 1: 3; id 2/3 3/6; event_time 2/ 3/; region 2/ 3/; value 2/3 3/6; (the source changed since the load: its files are others, or were written again)",
		},
		{
			"a row twice", "2026-05-04", append(slices.Clone(day), day[0]),
			"source 4; table 3; only in source 1: 1; only in table 0:; id 4/7 3/6; event_time 4/ 3/; region 4/ 3/; value 4/7 3/6; (the source changed since the load: its files are others, or were written again)",
		},
		{
			"a window that was not loaded", "2026-05-04T10", changed,
			`source 1; table 1; only in source 1: 2; only in table 1: 2; value 1/20 1/2; (no snapshot is kept of a load "verified" of exactly this window, so which side changed cannot be said)`,
		},
		{
			"nothing on either side", "2026-05-07", day, "source 0; table 0; equal",
		},
	} {
		got, err := e.verified(tt.window, source(t, tt.rows...), lake.VerifyOptions{})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// What others do to the table is named, and what they do outside the window is
// of no concern.
func TestVerifyNamesWhoChangedTheTable(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "changed_by_others")
	day := []testenv.Event{event(1, "2026-05-04T09:00:00Z", 1), event(2, "2026-05-04T10:00:00Z", 2), event(3, "2026-05-04T11:00:00Z", 3)}
	e.replace("2026-05-04", day...)
	verify := func(want string) {
		t.Helper()
		got, err := e.verified("2026-05-04", source(t, day...), lake.VerifyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	elsewhere := event(8, "2026-05-05T09:00:00Z", 8)
	testenv.AppendRows(t, e.cat, e.load.Table, elsewhere.Row())
	e.model.Append(elsewhere)
	verify("source 3; table 3; equal")

	testenv.Compact(t, e.cat, e.load.Table, true)
	verify("source 3; table 3; equal")

	stray := event(4, "2026-05-04T12:00:00Z", 4)
	testenv.AppendRows(t, e.cat, e.load.Table, stray.Row())
	e.model.Append(stray)
	verify("source 3; table 4; only in source 0:; only in table 1: 4; id 3/6 4/10; event_time 3/ 4/; region 3/ 4/; value 3/6 4/10; (the table changed since the load, by snapshot)")

	testenv.GlobalEqualityDelete(t, e.cat, e.load.Table, testenv.Batch(t, nil, idOnly(), testenv.Row{"id": 4}, testenv.Row{"id": 1}))
	e.model.Delete(func(x testenv.Event) bool { return x.ID == 1 || x.ID == 4 })
	verify("source 3; table 2; only in source 1: 1; only in table 0:; id 3/6 2/5; event_time 3/ 2/; region 3/ 2/; value 3/6 2/5; (the table changed since the load, by snapshot)")

	e.replace("2026-05-04", day...)
	verify("source 3; table 3; equal")
	e.replace("2026-05-04T10", event(2, "2026-05-04T10:00:00Z", 7))
	verify("source 3; table 3; only in source 1: 2; only in table 1: 2; value 3/6 3/11; (the table changed since the load, by snapshot)")
}

// moody gives another value with each reading, of files that do not change.
type moody struct {
	*testenv.Source
	tb       testing.TB
	readings *atomic.Int64
}

func (m moody) Pin(ctx context.Context, w lake.Window) (lake.Input, error) {
	in, err := m.Source.Pin(ctx, w)
	return moodyInput{in, m}, err
}

type moodyInput struct {
	lake.Input
	moody
}

func (m moodyInput) Origin() lake.Origin {
	o := m.Input.Origin()
	o.Fingerprint = "always the same"
	return o
}

func (m moodyInput) Columns(ctx context.Context) ([]lake.Column, error) { return m.Input.Columns(ctx) }

func (m moodyInput) Pin(ctx context.Context, w lake.Window) (lake.Input, error) {
	return m.moody.Pin(ctx, w)
}

func (m moodyInput) Read(ctx context.Context, r lake.Request) iter.Seq2[lake.Batch, error] {
	row := event(1, "2026-05-04T09:00:00Z", m.readings.Add(1)).Row()
	once := &testenv.Source{Schema: m.Schema, Batches: m.Batches}
	once.Batches = append(slices.Clone(once.Batches), testenv.Rows(m.tb, m.Schema, row).Batches...)
	in, err := once.Pin(ctx, r.Window)
	if err != nil {
		return func(yield func(lake.Batch, error) bool) { yield(lake.Batch{}, err) }
	}
	return in.Read(ctx, r)
}

func TestVerifyFindsWhatIsNotRepeatable(t *testing.T) {
	t.Parallel()
	e := &events{tb: t, cat: testenv.Catalog(t), load: lake.Load{Table: testenv.Ident("moody"), TimeColumn: "event_time"}}
	testenv.Check(t, e.cat, e.load.Table, nil)
	src := moody{source(t, event(2, "2026-05-04T10:00:00Z", 2)), t, &atomic.Int64{}}
	if _, err := (&lake.Loader{Catalog: e.cat}).Load(t.Context(), e.load, src, window(t, "2026-05-04")); err != nil {
		t.Fatal(err)
	}
	got, err := e.verified("2026-05-04", src, lake.VerifyOptions{})
	if err != nil || !strings.HasSuffix(got, "(the load is not repeatable: of the same files it makes other rows now; the table's columns changed, or the program)") {
		t.Errorf("Verify = %s, %v", got, err)
	}
	got, err = e.verified("2026-05-04", src, lake.VerifyOptions{Twice: true})
	if err != nil || !strings.Contains(got, "source 2; source, read again 2; table 2; only in source ") ||
		!strings.Contains(got, "(the source is not repeatable: it gives other rows each time that it is read)") {
		t.Errorf("Verify twice = %s, %v", got, err)
	}
}

// A staged load is compared beside the table, and leaves nothing behind.
func TestVerifyStages(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "staged")
	day := []testenv.Event{event(1, "2026-05-04T09:00:00Z", 1), event(2, "2026-05-04T10:00:00Z", 2)}
	e.replace("2026-05-04", day...)
	got, err := e.verified("2026-05-04", source(t, day...), lake.VerifyOptions{Stage: true, Twice: true})
	if want := "source 2; source, read again 2; staged files 2; table 2; equal"; err != nil || got != want {
		t.Errorf("Verify = %s, %v, want %s", got, err, want)
	}
	got, err = e.verified("2026-05-04", source(t, day[0]), lake.VerifyOptions{Stage: true})
	if want := "source 1; staged files 1; table 2; only in source 0:; only in table 1: 2; "; err != nil || !strings.HasPrefix(got, want) {
		t.Errorf("Verify = %s, %v, want %s", got, err, want)
	}
	_, err = e.verified("2026-05-04", &testenv.Source{Schema: testenv.EventArrow(), Batches: source(t, day...).Batches, Err: lake.ErrInput}, lake.VerifyOptions{Stage: true})
	if !errors.Is(err, lake.ErrInput) {
		t.Errorf("Verify of a source that breaks off: %v", err)
	}
}

// A volatile column may differ, and no other.
func TestVerifyIgnoresVolatileColumns(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "volatile")
	e.load.Volatile = []string{"value"}
	e.replace("2026-05-04", event(1, "2026-05-04T09:00:00Z", 1))
	got, err := e.verified("2026-05-04", source(t, event(1, "2026-05-04T09:00:00Z", 2)), lake.VerifyOptions{})
	if err != nil || got != "source 1; table 1; equal" {
		t.Errorf("Verify = %s, %v", got, err)
	}
	got, err = e.verified("2026-05-04", source(t, event(3, "2026-05-04T09:00:00Z", 1)), lake.VerifyOptions{})
	if err != nil || !strings.Contains(got, "id 1/3 1/1; (") {
		t.Errorf("Verify = %s, %v", got, err)
	}
}

// Where very much differs, a few buckets are looked into, and their rows are
// said to be some of all.
func TestVerifyIsBounded(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "bounded")
	var was, is []testenv.Event
	for i := range int64(30_000) {
		was = append(was, event(i, "2026-05-04T09:00:00Z", i))
		is = append(is, event(i, "2026-05-04T09:00:00Z", i+1))
	}
	e.replace("2026-05-04", was...)
	l := &lake.Loader{Catalog: e.cat}
	v, err := l.Verify(t.Context(), e.load, source(t, is...), window(t, "2026-05-04"), lake.VerifyOptions{Rows: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Release()
	for _, side := range []lake.DifferingRows{v.Difference.OnlySource, v.Difference.OnlyOther} {
		kept := int64(0)
		for _, rec := range side.Rows {
			kept += rec.NumRows()
		}
		if !side.AtLeast || side.Count < 5_000 || side.Count > 15_000 || kept != 3 {
			t.Errorf("%d rows, at least: %v, %d kept", side.Count, side.AtLeast, kept)
		}
	}
}

// TestVerifyOnABranch: a branch is read with the table's present columns, which
// its newest snapshot may not have known.
func TestVerifyOnABranch(t *testing.T) {
	t.Parallel()
	e := withoutModel(t, testenv.Catalog(t), "branch")
	day := []testenv.Event{event(1, "2026-05-04T09:00:00Z", 1), event(2, "2026-05-04T10:00:00Z", 2)}
	e.replace("2026-05-04", day...)
	e.update(table.NewSetSnapshotRefUpdate("dev", e.head(), table.BranchRef, 0, 0, 0))
	e.addColumn("fee")
	e.load.Branch = "dev"
	got, err := e.verified("2026-05-04", source(t, day...), lake.VerifyOptions{Stage: true})
	if want := "source 2; staged files 2; table 2; equal"; err != nil || got != want {
		t.Errorf("Verify = %s, %v, want %s", got, err, want)
	}
	rows, err := lake.Rows(t.Context(), e.table(), lake.RowsQuery{Branch: "dev"})
	if err != nil {
		t.Fatal(err)
	}
	if _, has := rows.Schema.FieldsByName("fee"); !has {
		t.Errorf("the branch is read with the columns %v, want the table's", rows.Schema)
	}
}

// TestVerifyBeforeAWidening: what the load would widen is narrow in the table,
// the scope's column too.
func TestVerifyBeforeAWidening(t *testing.T) {
	t.Parallel()
	for _, by := range [][]string{{}, {"n"}} {
		e := &events{tb: t, cat: testenv.Catalog(t), load: lake.Load{
			Table: testenv.Ident("narrow"), TimeColumn: "at", PartitionBy: by, Scope: map[string]string{"n": "5"}, Schema: lake.Evolve,
		}}
		e.check = testenv.Check(t, e.cat, e.load.Table, nil)
		row := testenv.Row{"at": "2026-05-04T01:00:00Z", "n": 5}
		if _, err := e.run("2026-05-04", numbered(t, int32s, row)); err != nil {
			t.Fatal(err)
		}
		got, err := e.verified("2026-05-04", numbered(t, int64s, row), lake.VerifyOptions{})
		if want := "source 1; table 1; equal"; err != nil || got != want {
			t.Errorf("partitioned by %v: Verify = %s, %v, want %s", by, got, err, want)
		}
	}
}

// TestVerifyBesideAnExpiry: where the head goes while it is read, the comparing
// can just be run again.
func TestVerifyBesideAnExpiry(t *testing.T) {
	t.Parallel()
	e := newEvents(t, "expiring")
	day := event(1, "2026-05-04T09:00:00Z", 1)
	e.replace("2026-05-04", day)
	src := source(t, day)
	src.BeforeRead = func() {
		src.BeforeRead = nil
		e.replace("2026-05-04", event(1, "2026-05-04T09:00:00Z", 2))
		e.maintained(expireAll(e.load.Table))
	}
	_, err := e.verified("2026-05-04", src, lake.VerifyOptions{})
	want(t, err, lake.ErrTemporary)
}

// TestVerifyAfterAColumnWasDropped: the load's digest counts values that neither
// side has any more, so that it blames none of them.
func TestVerifyAfterAColumnWasDropped(t *testing.T) {
	t.Parallel()
	e := withoutModel(t, testenv.Catalog(t), "dropped")
	day := []testenv.Event{event(1, "2026-05-04T09:00:00Z", 1), event(2, "2026-05-04T10:00:00Z", 2)}
	e.replace("2026-05-04", day...)
	sc := e.table().Schema()
	e.update(table.NewAddSchemaUpdate(iceberg.NewSchema(sc.ID+1, sc.Fields()[:3]...)), table.NewSetCurrentSchemaUpdate(-1))
	e.load.Schema = lake.Ignore
	for _, tt := range []struct {
		volatile []string
		rows     []testenv.Event
		want     string
	}{
		{nil, day, "source 2; table 2; equal"},
		{nil, day[:1], "source 1; table 2; only in source 0:; only in table 1: 2; id 1/1 2/3; event_time 1/ 2/; region 1/ 2/; (the digest of the load counts other columns than can be compared now, so which side changed cannot be said)"},
		{[]string{"region"}, day[:1], "source 1; table 2; only in source 0:; only in table 1: 2; id 1/1 2/3; event_time 1/ 2/; (the digest of the load counts other columns than can be compared now, so which side changed cannot be said)"},
	} {
		e.load.Volatile = tt.volatile
		got, err := e.verified("2026-05-04", source(t, tt.rows...), lake.VerifyOptions{})
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

// A merge of another window may have changed the rows of this one, too.
func TestVerifyNamesAMergeOfAnotherWindow(t *testing.T) {
	t.Parallel()
	e := withoutModel(t, testenv.Catalog(t), "merged")
	day := event(1, "2026-05-04T09:00:00Z", 1)
	e.replace("2026-05-04", day)
	replacing := e.load
	e.load.Mode, e.load.Key, e.load.VersionBy, e.load.TakeOver = lake.Merge, []string{"id"}, []string{"value"}, true
	if _, err := e.run("2026-05-05", source(t, event(1, "2026-05-05T09:00:00Z", 2))); err != nil {
		t.Fatal(err)
	}
	e.load = replacing
	e.load.TakeOver = true
	got, err := e.verified("2026-05-04", source(t, day), lake.VerifyOptions{})
	if err != nil || !strings.HasSuffix(got, "(the table changed since the load, by snapshot)") {
		t.Errorf("Verify = %s, %v", got, err)
	}
}

// TestVerifyAfterAWidening: values that another engine gave a wider type to are
// still what the load wrote.
func TestVerifyAfterAWidening(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		narrow arrow.DataType
		wide   iceberg.Type
		values []any
	}{
		{int32s, iceberg.PrimitiveTypes.Int64, []any{7, -5, nil, math.MinInt32}},
		{floats, iceberg.PrimitiveTypes.Float64, []any{0.1, -5.5, nil, 3e38}},
		{decimals(5, 2), iceberg.DecimalTypeOf(9, 2), []any{"1.25", "-999.99", nil}},
		{decimals(5, 2), iceberg.DecimalTypeOf(38, 2), []any{"1.25", "-999.99", nil}},
	} {
		e := &events{tb: t, cat: testenv.Catalog(t), load: lake.Load{Table: testenv.Ident("widened"), TimeColumn: "at"}}
		e.check = testenv.Check(t, e.cat, e.load.Table, nil)
		var rows []testenv.Row
		for _, v := range tc.values {
			rows = append(rows, testenv.Row{"at": "2026-05-04T01:00:00Z", "n": v})
		}
		r, err := e.run("2026-05-04", numbered(t, tc.narrow, rows...))
		if err != nil {
			t.Fatal(err)
		}
		fields := e.table().Schema().Fields()
		fields[1].Type = tc.wide
		e.update(table.NewAddSchemaUpdate(iceberg.NewSchema(1, fields...)), table.NewSetCurrentSchemaUpdate(-1))
		l := &lake.Loader{Catalog: e.cat}
		v, err := l.Verify(t.Context(), e.load, numbered(t, tc.narrow, rows...), window(t, "2026-05-04"), lake.VerifyOptions{Stage: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range v.Sides {
			if s.Digest.String() != *r.Digest {
				t.Errorf("%s as %s: the digest of the %s is %s, and of the load %s", tc.narrow, tc.wide, s.Name, s.Digest, *r.Digest)
			}
		}
		v.Release()
	}
}
