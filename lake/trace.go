package lake

// Trace holds hooks that observe a load. Each is optional, is called from the
// load's own goroutines one at a time, and must not block for long.
type Trace struct {
	// Planned is called once, before anything is written.
	Planned func(*Plan)
	// Inferred is called when column types were inferred for a new table or for
	// added columns.
	Inferred func([]Column)
	// Progress is called after each batch with the totals so far.
	Progress func(Progress)
	// FileStaged is called for each data file written, with its location.
	FileStaged func(path string, rows, bytes int64)
	// Attempt is called before each try to commit, from 1, with the reason for
	// the try before it having failed (nil for the first).
	Attempt func(n int, previous error)
	// Sent is called when an attempt is about to be given to the catalog. From
	// then on, until the load returns, the table may be old or new.
	Sent func()
}

// Progress is how far a load has come.
type Progress struct {
	RowsRead, RowsOutside, RowsStaged int64
	FilesStaged                       int
	BytesStaged                       int64
	// FilesSearched of FilesToSearch files of the table were read for the source's
	// keys, in modes merge and append.
	FilesSearched, FilesToSearch int
}

func (t *Trace) planned(p *Plan) {
	if t.Planned != nil {
		t.Planned(p)
	}
}

func (t *Trace) inferred(c []Column) {
	if t.Inferred != nil && len(c) > 0 {
		t.Inferred(c)
	}
}

func (t *Trace) progress(p Progress) {
	if t.Progress != nil {
		t.Progress(p)
	}
}

func (t *Trace) fileStaged(path string, rows, bytes int64) {
	if t.FileStaged != nil {
		t.FileStaged(path, rows, bytes)
	}
}

func (t *Trace) attempt(n int, previous error) {
	if t.Attempt != nil {
		t.Attempt(n, previous)
	}
}

func (t *Trace) sent() {
	if t.Sent != nil {
		t.Sent()
	}
}
