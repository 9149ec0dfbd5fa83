package lake_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// TestMergeModel is TestModel for mode merge: random windows in random order,
// replays, races of two merges, as much memory as makes rows spill and keys take
// several passes, and the other writers.
func TestMergeModel(t *testing.T) {
	t.Parallel()
	seed, ops := modelLength()
	t.Logf("seed %d, %d operations a table: run again with -seed %d -ops %d", seed, ops, seed, ops)
	for i, tc := range []struct {
		name   string
		by     []string
		region string // the scope; "": none
	}{
		{"merge_day", nil, ""},
		{"merge_none", []string{}, ""},
		{"merge_bucket", []string{"bucket(3, id)"}, ""},
		{"merge_region", []string{"region"}, ""},
		{"merge_scope", []string{"month(event_time)"}, "eu"},
		{"merge_scope_region", []string{"region"}, "eu"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := &randomMerge{randomTable: newRandomTable(t, testenv.Catalog(t), rand.New(rand.NewPCG(seed, uint64(200+i)))), region: tc.region}
			m.load.PartitionBy, m.load.Name = tc.by, "merged"
			m.load.Mode, m.load.Key, m.load.DeleteWhen = lake.Merge, []string{"id"}, "region = 'null'"
			if tc.region != "" {
				m.load.Scope = map[string]string{"region": tc.region}
			}
			m.tempDir, m.once = t.TempDir(), m.mergeOnce
			m.goOn(t, seed, ops)
		})
	}
}

// randomMerge is a random table of which the newest row of each id, by time and
// value, is kept.
type randomMerge struct {
	*randomTable
	region string
	// merged are windows of before, to be replayed.
	merged []mergedWindow
}

type mergedWindow struct {
	text string
	rows []testenv.Event
}

// merges reports whether the loads merge.
func (m *randomTable) merges() bool { return m.load.Mode == lake.Merge }

// byKeys reports whether the loads are by keys.
func (m *randomTable) byKeys() bool { return m.merges() || m.load.Mode == lake.Append }

// nameVersion names the columns of the version as they are called now.
func (m *randomTable) nameVersion() {
	if m.merges() {
		m.load.VersionBy = []string{"event_time", m.valueName()}
	}
}

// breaks reports whether an act may make a load temporary: a load by keys reads
// the table with the columns that it planned with.
func (m *randomTable) breaks(a act) bool {
	return a.breaks || m.byKeys() && strings.HasPrefix(a.name, "column")
}

// mergeOnce merges a random window, new or of before, at times with another
// writer in between, or two that race.
func (m *randomMerge) mergeOnce() string {
	m.memory = []int64{0, 2 << 10, 16 << 10}[m.random.IntN(3)]
	m.load.Write = []lake.WriteMode{lake.CopyOnWrite, lake.MergeOnRead}[m.random.IntN(2)]
	w := m.pickWindow()
	if m.random.IntN(6) == 0 && testenv.Exists(m.tb, m.cat, m.load.Table) {
		return m.race(w, m.pickWindow())
	}
	what := fmt.Sprintf("merge %s of %d rows, memory %d, %s", w.text, len(w.rows), m.memory, m.load.Write)
	var during act
	if m.random.IntN(2) == 0 && testenv.Exists(m.tb, m.cat, m.load.Table) {
		during = m.pickAct()
		what += ", during it " + during.name
	}
	// A merge that changes nothing may be decided before the other writer acts.
	m.load.CommitUnchanged = during.do != nil
	var want lake.KeyCounts
	m.land(w.text, w.rows, during, m.random.IntN(40), what, func() { want = m.apply(w) })
	if during.do == nil && *m.last != want {
		m.tb.Fatalf("%s: counted %+v, want %+v", what, *m.last, want)
	}
	m.done["merge"]++
	return what
}

// race merges two windows at the same time.
func (m *randomMerge) race(windows ...mergedWindow) string {
	m.nameVersion()
	m.load.CommitUnchanged = false
	what := "race of"
	errs := make(chan error)
	for _, w := range windows {
		what += " " + w.text
		src, at := m.source(w.rows), window(m.tb, w.text)
		go func() {
			_, err := (&lake.Loader{Catalog: m.cat, Memory: m.memory, TempDir: m.tempDir}).Load(m.tb.Context(), m.load, src, at)
			errs <- err
		}()
	}
	for range windows {
		err := <-errs
		if aheadOfTable(err) && m.done["branch rolled back"] > 0 {
			m.done["ahead"]++
			continue
		}
		if err != nil {
			m.tb.Errorf("%s: %v", what, err)
		}
	}
	for _, w := range windows { // none was lost where the state was ahead of the table
		if m.done["ahead"] > 0 {
			m.plain(w.text, w.rows, what)
		}
		m.apply(w)
	}
	m.done["ahead"] = 0
	m.remember()
	m.done["race"]++
	return what
}

// pickWindow is a window of before, or a new one with rows of some ids that the
// table has, that it had, and that are new.
func (m *randomMerge) pickWindow() mergedWindow {
	if len(m.merged) == 0 { // files that are worth it to hide rows of
		w := mergedWindow{"1969-12-29/1970-01-05", m.rows(160)}
		for i, e := range w.rows {
			w.rows[i].Region = m.content(e, 0)
		}
		m.merged = append(m.merged, w)
		return w
	}
	if m.random.IntN(4) == 0 {
		return m.merged[m.random.IntN(len(m.merged))]
	}
	text, _ := m.window().MarshalText()
	w := mergedWindow{text: string(text)}
	salt := 0
	if m.random.IntN(8) == 0 {
		salt = m.random.IntN(3) // other content of the same version
	}
	n := m.random.IntN(12)
	if m.random.IntN(8) == 0 {
		n *= 10
	}
	for _, e := range m.rows(n) {
		if m.random.IntN(3) > 0 {
			e.ID = 1 + m.random.Int64N(min(m.nextID, 200))
		}
		e.Value %= 3
		e.Region = m.content(e, salt)
		w.rows = append(w.rows, e)
	}
	if salt == 0 {
		m.merged = append(m.merged, w)
	}
	return w
}

// content is a region that depends on key and version alone, so that no source
// has two rows of one version that differ.
func (m *randomMerge) content(e testenv.Event, salt int) *string {
	at := int64(0)
	if e.Time != nil {
		at = *e.Time
	}
	h := fnv.New32a()
	fmt.Fprint(h, e.ID, at, e.Value, salt)
	region := []string{"eu", "us", "null", "eu"}[h.Sum32()%4]
	return &region
}

// apply does in the model what a merge does in the table.
func (m *randomMerge) apply(w mergedWindow) (n lake.KeyCounts) {
	newest := map[int64]testenv.Event{}
	at := window(m.tb, w.text)
	for _, e := range w.rows {
		if !e.Owned(at, m.region) {
			continue
		}
		old, seen := newest[e.ID]
		if seen {
			n.Duplicates++
		}
		if !seen || older(old, e) {
			newest[e.ID] = e
		}
	}
	for id, e := range newest {
		rows := m.model.Rows()
		i := slices.IndexFunc(rows, func(x testenv.Event) bool {
			return x.ID == id && (m.region == "" || x.Region != nil && *x.Region == m.region)
		})
		switch {
		case i >= 0 && older(e, rows[i]):
			n.IgnoredOlder++
			continue
		case i >= 0 && e.String() == rows[i].String():
			n.Identical++
			continue
		case *e.Region == "null" && (i < 0 || older(rows[i], e)):
			n.Deleted++
		case i < 0:
			n.Inserted++
		case older(rows[i], e):
			n.Updated++
		default:
			n.Corrected++
		}
		if i >= 0 {
			m.model.Restore(slices.Delete(rows, i, i+1))
		}
		m.model.Append(e)
	}
	return n
}

// older reports whether the version of a is below that of b.
func older(a, b testenv.Event) bool {
	at := func(e testenv.Event) int64 {
		if e.Time == nil {
			return time.Time{}.UnixMicro()
		}
		return *e.Time
	}
	return at(a) < at(b) || at(a) == at(b) && a.Value < b.Value
}

// batchesOf gives a source its rows in batches of a few rows, as several files.
func batchesOf(src *testenv.Source, rows int64) *testenv.Source {
	whole := src.Batches[0]
	src.Batches = nil
	for at := int64(0); at < whole.NumRows(); at += rows {
		src.Batches = append(src.Batches, whole.NewSlice(at, min(at+rows, whole.NumRows())))
	}
	if whole.NumRows() == 0 {
		src.Batches = []arrow.RecordBatch{whole}
	}
	return src
}
