package testenv_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/arrowio"
	"github.com/calve-data/calve/catalog"
	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

var flightsSeed = flag.Uint64("flights-seed", 0, "seed of TestFlightsCSV and TestFlightsParquet; 0: a new one")

// Each day of a year of real flights, loaded in any order and some days twice,
// then a month over them and a corrected hour: two engines find in the table
// what a third engine counted in the file.
func TestFlightsCSV(t *testing.T) {
	t.Parallel()
	f := openFlights(t, "nyc-flights-2013", ".csv.gz")
	f.column, f.null = "time_hour", []string{"NA"}
	f.splitCSV(t)
	onStores(t, func(t *testing.T, cat *testenv.LocalCatalog) {
		l := f.loads(t, cat)
		whole, all := l.place(f.file), l.place(filepath.Join(f.months, "*.csv"))
		first := true
		l.pattern = func(day string) string {
			// The days of one month are in one small file; reading the whole
			// for each of them would take minutes and prove no more.
			switch n := l.random.IntN(40); {
			case first, n == 0:
				first = false
				return whole
			case n == 1:
				return all
			}
			return l.place(filepath.Join(f.months, day[:7]+".csv"))
		}
		l.rowsRead = func(_ string, r lake.Receipt) {
			if r.Rows.Read-r.Rows.Outside != r.Rows.Written {
				t.Errorf("read %d rows, %d outside, written %d", r.Rows.Read, r.Rows.Outside, r.Rows.Written)
			}
		}
		l.run()
	})
}

// The same for Parquet whose rows are in the order of time: a load of a day
// reads the row groups of that day and no other.
func TestFlightsParquet(t *testing.T) {
	t.Parallel()
	f := openFlights(t, "us-flights-2001-h1", ".parquet")
	f.column = "date"
	groups := f.rowGroups(t)
	onStores(t, func(t *testing.T, cat *testenv.LocalCatalog) {
		l := f.loads(t, cat)
		l.pattern = func(string) string { return l.place(f.file) }
		most := int64(0)
		l.rowsRead = func(window string, r lake.Receipt) {
			w, want := parse(t, window), int64(0)
			for _, g := range groups {
				if g.least.Before(w.To) && !g.most.Before(w.From) {
					want += g.rows
				}
			}
			if r.Rows.Read != want {
				t.Errorf("%s: read %d rows, the row groups of the window hold %d", window, r.Rows.Read, want)
			}
			if len(window) == len("2001-01-01") {
				most = max(most, r.Rows.Read)
			}
		}
		l.run()
		t.Logf("a day read at most %d of %d rows", most, f.rows())
	})
}

// onStores runs a test over a folder and over a bucket.
func onStores(t *testing.T, test func(t *testing.T, cat *testenv.LocalCatalog)) {
	t.Helper()
	if testing.Short() {
		t.Log("-short: in a bucket alone")
	} else {
		t.Run("files", func(t *testing.T) {
			t.Parallel()
			test(t, testenv.Catalog(t))
		})
	}
	t.Run("bucket", func(t *testing.T) {
		t.Parallel()
		test(t, testenv.CatalogOn(t, testenv.MinIO(t)))
	})
}

// flights is a file of real flights and the truth about it.
type flights struct {
	file, months string // the file; the folder of its rows by month, if any
	column       string // the time column
	null         []string
	counted      []string // what the truth counts: a column's sum, or null(column)
	truth        []flightDay
	seed         uint64
}

// flightDay is a line of the truth.
type flightDay struct {
	day  string
	rows int64
	text string // the whole line, with spaces
}

// openFlights reads the truth of the file of that name.
func openFlights(t *testing.T, name, ext string) *flights {
	t.Helper()
	dir := os.Getenv("CALVE_FLIGHTS")
	switch {
	case dir == "":
		t.Log("CALVE_FLIGHTS names no folder with the whole files: reading the excerpts in testdata/flights")
	case testing.Short():
		t.Log("-short: reading the excerpts in testdata/flights")
		dir = ""
	}
	if dir == "" {
		dir = filepath.Join("testdata", "flights")
	}
	f := &flights{file: filepath.Join(dir, name+ext), seed: *flightsSeed}
	if f.seed == 0 {
		f.seed = uint64(time.Now().UnixNano())
	}
	text, err := os.ReadFile(filepath.Join(dir, name+".truth.csv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, column := range strings.Split(strings.TrimSpace(lines[0]), ",")[2:] {
		if of, ok := strings.CutSuffix(column, "_null"); ok {
			column = "null(" + of + ")"
		}
		f.counted = append(f.counted, column)
	}
	for _, line := range lines[1:] {
		cells := strings.Split(strings.TrimSpace(line), ",")
		n, err := strconv.ParseInt(cells[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		f.truth = append(f.truth, flightDay{day: cells[0], rows: n, text: strings.Join(cells, " ")})
	}
	return f
}

func (f *flights) rows() (n int64) {
	for _, d := range f.truth {
		n += d.rows
	}
	return n
}

// splitCSV writes the rows of the file into one file a month.
func (f *flights) splitCSV(t *testing.T) {
	t.Helper()
	f.months = t.TempDir()
	out := map[string]*bytes.Buffer{}
	header := ""
	for line := range linesOf(t, f.file) {
		if header == "" {
			header = line
			continue
		}
		month := lastCell(line)[:len("2013-01")]
		if out[month] == nil {
			out[month] = bytes.NewBufferString(header + "\n")
		}
		out[month].WriteString(line + "\n")
	}
	for month, b := range out {
		if err := os.WriteFile(filepath.Join(f.months, month+".csv"), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func lastCell(line string) string { return line[strings.LastIndexByte(line, ',')+1:] }

// linesOf yields the lines of a compressed file.
func linesOf(t *testing.T, path string) func(func(string) bool) {
	t.Helper()
	return func(yield func(string) bool) {
		in, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = in.Close() }()
		plain, err := gzip.NewReader(in)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(plain)
		for lines.Scan() {
			if !yield(lines.Text()) {
				return
			}
		}
		if err := lines.Err(); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
}

// timeGroup is a row group of a Parquet file with the bounds of its times.
type timeGroup struct {
	rows        int64
	least, most time.Time
}

func (f *flights) rowGroups(t *testing.T) []timeGroup {
	t.Helper()
	r, err := file.OpenParquetFile(f.file, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var groups []timeGroup
	for i := range r.NumRowGroups() {
		g := r.MetaData().RowGroup(i)
		chunk, err := g.ColumnChunk(r.MetaData().Schema.ColumnIndexByName(f.column))
		if err != nil {
			t.Fatal(err)
		}
		stats, err := chunk.Statistics()
		if err != nil {
			t.Fatal(err)
		}
		s := stats.(*metadata.Int64Statistics)
		groups = append(groups, timeGroup{g.NumRows(), time.UnixMicro(s.Min()).UTC(), time.UnixMicro(s.Max()).UTC()})
	}
	return groups
}

// flightLoads are the loads of one table.
type flightLoads struct {
	*flights
	t      *testing.T
	cat    *testenv.LocalCatalog
	random *rand.Rand
	load   lake.Load
	check  *testenv.Checker
	files  *catalog.Files
	placed map[string]bool
	landed int

	// pattern is the files to load a day from.
	pattern func(day string) string
	// rowsRead checks what the receipt says of a window's reading.
	rowsRead func(window string, r lake.Receipt)
}

func (f *flights) loads(t *testing.T, cat *testenv.LocalCatalog) *flightLoads {
	t.Helper()
	t.Logf("run again with -flights-seed %d", f.seed)
	l := &flightLoads{
		flights: f, t: t, cat: cat, random: rand.New(rand.NewPCG(f.seed, 0)), placed: map[string]bool{},
		load: lake.Load{Table: testenv.Ident("flights"), TimeColumn: f.column, CommitUnchanged: true},
	}
	l.check = testenv.Check(t, cat, l.load.Table, nil)
	store := catalog.S3{}
	if s3 := cat.S3; s3 != nil {
		store = catalog.S3{Endpoint: s3.Endpoint, Region: s3.Region, AccessKeyID: s3.AccessKey, SecretAccessKey: s3.SecretKey}
	}
	var err error
	if l.files, err = catalog.NewFiles(store); err != nil {
		t.Fatal(err)
	}
	return l
}

// place returns the pattern under which the source finds the files that a local
// pattern names: where the table is in a bucket they are put there too.
func (l *flightLoads) place(pattern string) string {
	l.t.Helper()
	if l.cat.S3 == nil {
		return pattern
	}
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		l.t.Fatalf("%s names no file: %v", pattern, err)
	}
	key := func(path string) string { return "in/" + filepath.Base(filepath.Dir(path)) + "/" + filepath.Base(path) }
	for _, path := range paths {
		if l.placed[path] {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			l.t.Fatal(err)
		}
		l.cat.S3.Put(key(path), data)
		l.placed[path] = true
	}
	return l.cat.S3.URL(key(pattern))
}

// replace loads a window from the files of a pattern.
func (l *flightLoads) replace(window, pattern string) lake.Receipt {
	l.t.Helper()
	src, err := arrowio.New(arrowio.Config{Path: pattern, Null: l.null}, l.files)
	if err != nil {
		l.t.Fatal(err)
	}
	r, err := (&lake.Loader{Catalog: l.cat}).Load(l.t.Context(), l.load, src, parse(l.t, window))
	if err != nil {
		l.t.Fatalf("load %s from %s (seed %d): %v", window, pattern, l.seed, err)
	}
	l.check.Loaded(r)
	l.landed++
	l.rowsRead(window, r)
	return r
}

func parse(t *testing.T, text string) lake.Window {
	t.Helper()
	w, err := lake.ParseWindow(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (l *flightLoads) run() {
	began := time.Now()
	l.days()
	loaded := time.Since(began)
	began = time.Now()
	l.readBack()
	read := time.Since(began)
	l.month()
	l.hour()
	if history, err := lake.History(testenv.Load(l.t, l.cat, l.load.Table), ""); err != nil || len(history) != l.landed {
		l.t.Errorf("History holds %d snapshots after %d loads: %v", len(history), l.landed, err)
	}
	l.t.Logf("%d loads; the days took %.1f s, %d ms each, DuckDB and PyIceberg %.1f s",
		l.landed, loaded.Seconds(), loaded.Milliseconds()/int64(l.landed-2), read.Seconds())
}

// days loads each day in random order, a fifth of them once more.
func (l *flightLoads) days() {
	order := l.random.Perm(len(l.truth))
	order = append(order, order[:(len(order)+4)/5]...)
	l.random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	held := map[int]int64{}
	for _, i := range order {
		d := l.truth[i]
		r := l.replace(d.day, l.pattern(d.day))
		want := lake.RowCounts{Read: r.Rows.Read, Outside: r.Rows.Outside, Written: d.rows, Replaced: held[i]}
		if r.Outcome != lake.Landed || r.Rows != want {
			l.t.Errorf("load %s: %s %+v, want landed %+v", d.day, r.Outcome, r.Rows, want)
		}
		held[i] = d.rows
	}
}

// readBack compares what the engines read with the truth.
func (l *flightLoads) readBack() {
	l.t.Helper()
	l.duckDB("", l.truth)
	columns, sums := []string{l.column}, l.counted
	for _, name := range sums {
		columns = append(columns, strings.TrimSuffix(strings.TrimPrefix(name, "null("), ")"))
	}
	py := testenv.PyIceberg(l.t, l.metadata(), l.cat.S3, testenv.PyScan{Columns: columns, Sum: sums, GroupBy: "day(" + l.column + ")"})
	var got []string
	for day, g := range py.Groups {
		line := fmt.Sprintf("%s %d", day, g.Count)
		for _, name := range sums {
			line += " " + g.Sums[name]
		}
		got = append(got, line)
	}
	slices.Sort(got)
	if diff := cmp.Diff(texts(l.truth), got); diff != "" {
		l.t.Errorf("PyIceberg (seed %d); -truth +got:\n%s", l.seed, diff)
	}
}

func texts(days []flightDay) (lines []string) {
	for _, d := range days {
		lines = append(lines, d.text)
	}
	return lines
}

func (l *flightLoads) metadata() string {
	return testenv.Load(l.t, l.cat, l.load.Table).MetadataLocation()
}

// duckDB compares the days of the table with want, all but one where there is one.
func (l *flightLoads) duckDB(but string, want []flightDay) {
	l.t.Helper()
	query := "SELECT CAST(" + l.column + " AS DATE) AS day, count(*)"
	for _, name := range l.counted {
		if of, ok := strings.CutPrefix(name, "null("); ok {
			query += ", count(*) FILTER (" + strings.TrimSuffix(of, ")") + " IS NULL)"
		} else {
			query += ", sum(" + name + ")"
		}
	}
	var got []string
	for _, row := range testenv.DuckDB(l.t, l.metadata(), l.cat.S3, query+" FROM {table} GROUP BY 1 ORDER BY 1") {
		if row[0] != but {
			got = append(got, strings.Join(row, " "))
		}
	}
	want = slices.DeleteFunc(slices.Clone(want), func(d flightDay) bool { return d.day == but })
	if diff := cmp.Diff(texts(want), got); diff != "" {
		l.t.Errorf("DuckDB (seed %d); -truth +got:\n%s", l.seed, diff)
	}
}

// month replaces one whole month by itself.
func (l *flightLoads) month() {
	window := l.truth[l.random.IntN(len(l.truth))].day[:len("2013-01")]
	days, rows := 0, int64(0)
	for _, d := range l.truth {
		if strings.HasPrefix(d.day, window) {
			days, rows = days+1, rows+d.rows
		}
	}
	r := l.replace(window, l.pattern(window+"-01"))
	if r.Rows.Replaced != rows || r.Rows.Written != rows || r.Files.Removed != days || r.Files.Added != days || r.Files.Rewritten != 0 {
		l.t.Errorf("load %s: %+v %+v, want %d rows in %d files for as many", window, r.Rows, r.Files, rows, days)
	}
	l.duckDB("", l.truth)
}

// hour replaces one hour of a day by itself without its first row, and with
// another distance in its second. No other hour changes.
func (l *flightLoads) hour() {
	hourly := "SELECT strftime(" + l.column + ", '%Y-%m-%dT%H') AS hour, count(*), sum(distance) FROM {table}" +
		" WHERE CAST(" + l.column + " AS DATE) = '%day' GROUP BY 1 ORDER BY 1"
	var day string
	var want [][]string
	for !slices.ContainsFunc(want, atLeastTwo) {
		day = l.truth[l.random.IntN(len(l.truth))].day
		want = testenv.DuckDB(l.t, l.metadata(), l.cat.S3, strings.ReplaceAll(hourly, "%day", day))
	}
	at := l.random.IntN(len(want))
	for !atLeastTwo(want[at]) {
		at = l.random.IntN(len(want))
	}
	window := want[at][0][1 : 1+len("2013-01-01T00")] // without the quotes
	path, rows, distance := l.corrected(window)
	if text := strconv.FormatInt(rows+1, 10); text != want[at][1] {
		l.t.Fatalf("the file holds %s rows of %s, DuckDB found %s", text, window, want[at][1])
	}
	want[at][1], want[at][2] = strconv.FormatInt(rows, 10), strconv.FormatInt(distance, 10)

	read := l.rowsRead
	l.rowsRead = func(window string, r lake.Receipt) {
		if r.Rows.Read != rows {
			l.t.Errorf("load %s: read %d rows, want %d", window, r.Rows.Read, rows)
		}
	}
	r := l.replace(window, l.place(path))
	l.rowsRead = read
	if r.Rows.Replaced != rows+1 || r.Rows.Written != rows || r.Files.Removed != 1 || r.Files.Rewritten != 1 {
		l.t.Errorf("load %s: %+v %+v, want %d rows for %d, out of one rewritten file", window, r.Rows, r.Files, rows, rows+1)
	}
	if diff := cmp.Diff(want, testenv.DuckDB(l.t, l.metadata(), l.cat.S3, strings.ReplaceAll(hourly, "%day", day))); diff != "" {
		l.t.Errorf("hours of %s (seed %d); -want +got:\n%s", day, l.seed, diff)
	}
	l.duckDB(day, l.truth)
}

func atLeastTwo(hour []string) bool { return len(hour[1]) > 1 || hour[1] >= "2" }

// corrected writes a file with the corrected rows of an hour, and returns their
// number and the sum of their distances.
func (l *flightLoads) corrected(hour string) (path string, rows, distance int64) {
	l.t.Helper()
	path = filepath.Join(l.t.TempDir(), "corrected"+filepath.Ext(strings.TrimSuffix(l.file, ".gz")))
	if l.months == "" {
		rows, distance = l.correctedParquet(hour, path)
		return path, rows, distance
	}
	rows, distance = l.correctedCSV(hour, path)
	return path, rows, distance
}

func (l *flightLoads) correctedCSV(hour, path string) (rows, distance int64) {
	l.t.Helper()
	var out []string
	at := -1
	for line := range linesOf(l.t, l.file) {
		if at < 0 {
			at = slices.Index(strings.Split(line, ","), "distance")
			out = append(out, line)
			continue
		}
		if !strings.HasPrefix(lastCell(line), hour+":") {
			continue
		}
		cells := strings.Split(line, ",")
		n, err := strconv.ParseInt(cells[at], 10, 64)
		if err != nil {
			l.t.Fatal(err)
		}
		if rows++; rows == 2 {
			n += 1000
			cells[at] = strconv.FormatInt(n, 10)
		}
		if rows > 1 {
			distance += n
			out = append(out, strings.Join(cells, ","))
		}
	}
	if err := os.WriteFile(path, []byte(strings.Join(out, "\n")+"\n"), 0o644); err != nil {
		l.t.Fatal(err)
	}
	return rows - 1, distance
}

func (l *flightLoads) correctedParquet(hour, path string) (rows, distance int64) {
	l.t.Helper()
	batch := l.batchOf(hour)
	at := batch.Schema().FieldIndices("distance")[0]
	b := array.NewInt64Builder(memory.DefaultAllocator)
	for i, n := range batch.Column(at).(*array.Int64).Int64Values() {
		if i == 1 {
			n += 1000
		}
		if i > 0 {
			distance += n
		}
		b.Append(n)
	}
	batch, err := batch.SetColumn(at, b.NewArray())
	if err != nil {
		l.t.Fatal(err)
	}
	batch = batch.NewSlice(1, batch.NumRows())
	out, err := os.Create(path)
	if err != nil {
		l.t.Fatal(err)
	}
	w, err := pqarrow.NewFileWriter(batch.Schema(), out, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
	if err != nil {
		l.t.Fatal(err)
	}
	if err := w.Write(batch); err != nil {
		l.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		l.t.Fatal(err)
	}
	return batch.NumRows(), distance
}

// batchOf reads the rows of an hour from the Parquet file, past calve.
func (l *flightLoads) batchOf(hour string) arrow.RecordBatch {
	l.t.Helper()
	w := parse(l.t, hour)
	in, err := file.OpenParquetFile(l.file, false)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	r, err := pqarrow.NewFileReader(in, pqarrow.ArrowReadProperties{BatchSize: 1 << 16}, memory.DefaultAllocator)
	if err != nil {
		l.t.Fatal(err)
	}
	reader, err := r.GetRecordReader(l.t.Context(), nil, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	var parts []arrow.RecordBatch
	for reader.Next() {
		batch := reader.RecordBatch()
		keep := array.NewBooleanBuilder(memory.DefaultAllocator)
		for _, at := range batch.Column(batch.Schema().FieldIndices(l.column)[0]).(*array.Timestamp).TimestampValues() {
			keep.Append(w.Contains(at.ToTime(arrow.Microsecond)))
		}
		part, err := compute.FilterRecordBatch(l.t.Context(), batch, keep.NewArray(), compute.DefaultFilterOptions())
		if err != nil {
			l.t.Fatal(err)
		}
		parts = append(parts, part)
	}
	if err := reader.Err(); err != nil && !errors.Is(err, io.EOF) {
		l.t.Fatal(err)
	}
	table := array.NewTableFromRecords(reader.Schema(), parts)
	columns := make([]arrow.Array, table.NumCols())
	for i := range columns {
		if columns[i], err = array.Concatenate(table.Column(i).Data().Chunks(), memory.DefaultAllocator); err != nil {
			l.t.Fatal(err)
		}
	}
	return array.NewRecordBatch(table.Schema(), columns, table.NumRows())
}
