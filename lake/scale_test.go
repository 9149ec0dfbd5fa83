package lake_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// TestReadsFewManifests: the cost of a commit grows with the window, not with
// the table (case 119). Merging small manifests costs a few requests more.
func TestReadsFewManifests(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		merge string
		most  int // manifests read
	}{
		"for the window":    {"false", 3},
		"and to merge some": {"true", 3 + 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			readsFewManifests(t, iceberg.Properties{table.ManifestMergeEnabledKey: tc.merge}, tc.most)
		})
	}
}

func readsFewManifests(t *testing.T, properties iceberg.Properties, most int) {
	t.Helper()
	cat := testenv.Catalog(t)
	id := testenv.Ident("many")
	testenv.CreateTable(t, cat, id, testenv.EventSchema(), testenv.EventsByDay(), properties)
	testenv.ManyManifests(t, cat, id, 2000)
	in := testenv.NewInjector(-1, testenv.Fail)
	l := &lake.Loader{Catalog: in.Catalog(cat)}
	at := time.Unix(1234*86400, 0).UTC()
	src := source(t, event(1, at.Format(time.RFC3339), 1))
	r, err := l.Load(t.Context(), lake.Load{Table: id, TimeColumn: "event_time"}, src, window(t, at.Format("2006-01-02")))
	if err != nil {
		t.Fatal(err)
	}
	if r.Rows.Replaced != 1 || r.Files.Removed != 1 {
		t.Errorf("receipt: %+v", r)
	}
	if n := in.Count("read manifest"); n > most || n == 0 {
		t.Errorf("%d manifests read, want 1 to %d", n, most)
	}
	if n := in.Count("read data file") + in.Count("open data file"); n > 0 {
		t.Errorf("%d data files read, want none", n)
	}
	// Each effect is a request, a commit also writes and each load reads the
	// metadata file.
	if n := len(in.Effects()) + 2*in.Count("commit") + in.Count("load table"); n > 30 {
		t.Errorf("%d requests, want at most 30: %v", n, in.Effects())
	}
	t.Logf("effects: %v", in.Effects())
}

// TestManyPartitions runs in a process of its own, so that its memory and its
// open files can be measured (case 59).
func TestManyPartitions(t *testing.T) {
	if os.Getenv("CALVE_MANY_PARTITIONS") != "" {
		manyPartitions(t)
		return
	}
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^TestManyPartitions$", "-test.v")
	cmd.Env = append(os.Environ(), "CALVE_MANY_PARTITIONS=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "peak") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

func manyPartitions(t *testing.T) {
	const rows, partitions = 200_000, 2_000
	e := withoutModel(t, testenv.Catalog(t), "partitions")
	e.load.PartitionBy = []string{"hour(event_time)"}
	src := &testenv.Source{Schema: testenv.EventArrow()}
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	random := rand.New(rand.NewPCG(1, 2))
	for n := 0; n < rows; n += 20_000 {
		b := array.NewRecordBuilder(memory.DefaultAllocator, src.Schema)
		for i := range 20_000 {
			at := from.Add(time.Duration((n+i)%partitions)*time.Hour + time.Duration(random.IntN(3600))*time.Second)
			b.Field(0).(*array.Int64Builder).Append(int64(n + i))
			b.Field(1).(*array.TimestampBuilder).Append(arrow.Timestamp(at.UnixMicro()))
			b.Field(2).(*array.StringBuilder).Append("region-" + strconv.Itoa(random.IntN(1000)))
			b.Field(3).(*array.Int64Builder).Append(random.Int64())
		}
		shuffled := shuffle(t, b.NewRecordBatch(), random)
		src.Batches = append(src.Batches, shuffled)
	}
	most := 0
	l := &lake.Loader{Catalog: e.cat, Memory: 256 << 20, TempDir: t.TempDir(), Trace: &lake.Trace{FileStaged: func(string, int64, int64) {
		if fds, err := os.ReadDir("/proc/self/fd"); err == nil {
			most = max(most, len(fds))
		}
	}}}
	w := lake.Window{From: from, To: from.Add(partitions * time.Hour)}
	r, err := l.Load(t.Context(), e.load, src, w)
	if err != nil {
		t.Fatal(err)
	}
	e.check.Loaded(r)
	if r.Files.Added != partitions || r.Rows.Written != rows {
		t.Errorf("%d files and %d rows, want one file for each of %d partitions and %d rows", r.Files.Added, r.Rows.Written, partitions, rows)
	}
	peak := peakMiB(t)
	t.Logf("peak memory %d MiB, at most %d files open", peak, most)
	if peak > 512 && !raceDetector { // the detector's own memory is not the load's
		t.Errorf("peak memory %d MiB, want at most 512", peak)
	}
	if most > 64 {
		t.Errorf("%d files open, want at most 64", most)
	}
}

// shuffle puts the rows of a batch into random order.
func shuffle(t *testing.T, b arrow.RecordBatch, random *rand.Rand) arrow.RecordBatch {
	t.Helper()
	out := array.NewRecordBuilder(memory.DefaultAllocator, b.Schema())
	for _, i := range random.Perm(int(b.NumRows())) {
		out.Field(0).(*array.Int64Builder).Append(b.Column(0).(*array.Int64).Value(i))
		out.Field(1).(*array.TimestampBuilder).Append(b.Column(1).(*array.Timestamp).Value(i))
		out.Field(2).(*array.StringBuilder).Append(b.Column(2).(*array.String).Value(i))
		out.Field(3).(*array.Int64Builder).Append(b.Column(3).(*array.Int64).Value(i))
	}
	return out.NewRecordBatch()
}

// peakMiB is the largest resident size that the process has had.
func peakMiB(t testing.TB) int {
	t.Helper()
	f, err := os.Open("/proc/self/status")
	if err != nil {
		t.Skipf("the peak memory of a process is read from /proc: %v", err)
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		if kb, ok := strings.CutPrefix(s.Text(), "VmHWM:"); ok {
			n, _ := strconv.Atoi(strings.Fields(kb)[0])
			return n >> 10
		}
	}
	t.Fatal("/proc/self/status has no VmHWM")
	return 0
}

// TestSameFilesAtAnyNumberOfCores: what is staged depends on the rows and the
// memory budget alone.
func TestSameFilesAtAnyNumberOfCores(t *testing.T) {
	t.Parallel()
	var batches []arrow.RecordBatch
	random := rand.New(rand.NewPCG(3, 4))
	for n := range 40 {
		var rows []testenv.Row
		for i := range 500 {
			at := time.Date(2026, 5, 4, random.IntN(24), random.IntN(60), 0, 0, time.UTC)
			rows = append(rows, testenv.NewEvent(int64(n*500+i), at.Format(time.RFC3339), fmt.Sprint("r", random.IntN(50)), random.Int64()).Row())
		}
		batches = append(batches, testenv.Batch(t, nil, testenv.EventArrow(), rows...))
	}
	var first []string
	for _, procs := range []int{1, 2, 4} {
		e := withoutModel(t, testenv.Catalog(t), "cores")
		e.load.PartitionBy = []string{"bucket(40, region)"}
		l := &lake.Loader{Catalog: e.cat, Procs: procs, Memory: 64 << 20, TempDir: t.TempDir()}
		r, err := l.Load(t.Context(), e.load, &testenv.Source{Schema: testenv.EventArrow(), Batches: batches}, window(t, "2026-05-04"))
		if err != nil {
			t.Fatal(err)
		}
		e.check.Loaded(r)
		var files []string
		for _, entry := range testenv.Entries(t, testenv.Load(t, e.cat, e.load.Table), false) {
			df := entry.DataFile()
			content, err := os.ReadFile(strings.TrimPrefix(df.FilePath(), "file://"))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, fmt.Sprintf("%v %d %x", df.Partition(), df.Count(), content))
		}
		if first == nil {
			first = files
		} else if !slices.Equal(first, files) {
			t.Errorf("with %d cores the files are others than with one", procs)
		}
	}
}
