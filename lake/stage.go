package lake

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"golang.org/x/sync/errgroup"
)

// staging writes rows to their partitions' Parquet files, which no snapshot
// names yet.
//
// Rows wait in memory, still in the batches they came in, until there are
// enough to be worth a visit of the writers. Then every partition with an open
// writer writes its share, all columns at once, so that one partition keeps all
// cores busy. Partitions that have no open writer get one while there are few;
// the rest of the rows go to one spill file, and their partitions are written
// after the source has ended, several at a time. Which rows go which way
// depends on the rows and the memory budget alone, never on the number of
// cores, so the files' contents do not either.
type staging struct {
	layout *layout
	io     iceio.WriteFileIO
	name   func(*partition) string // a new data file's location
	parts  *partitioner
	limits limits
	// notify is told of each complete file.
	notify func(iceberg.DataFile)

	waiting      map[*partition][]arrow.RecordBatch
	waitingBytes int64
	open         map[*partition]*dataWriter
	spill        *spill

	writers []*dataWriter // all that were made

	mu     sync.Mutex
	staged []stagedFile
}

// stagedFile is a data file that is complete in the store.
type stagedFile struct {
	file iceberg.DataFile
	// order and part sort the files of a load: by partition, then by the order
	// in which they were begun.
	order, part int
}

// limits are what the memory budget is divided into.
type limits struct {
	waiting     int64 // bytes of batches that may wait
	writers     int   // data files open at the same time
	writerRows  int64 // rows that must wait before a partition gets a writer
	rowGroups   int64 // compressed bytes of unfinished row groups, all writers together
	finishers   int   // partitions written at the same time at the end
	procs       int
	tempDir     string
	targetBytes int64
	timeout     time.Duration // of one write
}

const mib = 1 << 20

func newLimits(l Loader, targetBytes int64) limits {
	return limits{
		waiting: min(max(l.Memory/16, 4*mib), 48*mib),
		// An open writer holds its pages, and its upload a few parts of 5 MiB.
		writers:     int(min(max(l.Memory/(48*mib), 1), 16)),
		writerRows:  8192,
		rowGroups:   max(l.Memory/4, 8*mib),
		finishers:   int(min(max(l.Memory/(32*mib), 1), int64(2*l.Procs), 16)),
		procs:       l.Procs,
		tempDir:     l.TempDir,
		targetBytes: targetBytes,
		timeout:     l.Timeout,
	}
}

func newStaging(lay *layout, files iceio.WriteFileIO, name func(*partition) string, lim limits, notify func(iceberg.DataFile)) (*staging, error) {
	parts, err := newPartitioner(lay.schema, lay.spec)
	if err != nil {
		return nil, err
	}
	return &staging{
		layout: lay, io: files, name: name, parts: parts, limits: lim, notify: notify,
		waiting: map[*partition][]arrow.RecordBatch{}, open: map[*partition]*dataWriter{},
		spill: &spill{dir: lim.tempDir},
	}, nil
}

// run stages all batches and returns the files, in an order that depends on
// the rows alone. The caller then closes the staging.
func (s *staging) run(ctx context.Context, batches iter.Seq2[arrow.RecordBatch, error]) (files []iceberg.DataFile, err error) {
	for rec, err := range batches {
		if err != nil {
			return nil, err
		}
		err := s.add(ctx, rec)
		rec.Release()
		if err != nil {
			return nil, err
		}
	}
	if err := s.finish(ctx); err != nil {
		return nil, err
	}
	slices.SortFunc(s.staged, func(a, b stagedFile) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.part, b.part))
	})
	for _, f := range s.staged {
		files = append(files, f.file)
	}
	return files, nil
}

func (s *staging) add(ctx context.Context, rec arrow.RecordBatch) error {
	parts, err := s.parts.split(ctx, rec)
	if err != nil {
		return err
	}
	for _, p := range parts {
		s.waiting[p.partition] = append(s.waiting[p.partition], p.rows)
	}
	s.waitingBytes += batchBytes(rec)
	if s.waitingBytes < s.limits.waiting {
		return nil
	}
	return s.flush(ctx)
}

// flush moves every waiting row on: to its partition's writer, or to the spill
// file. A slice that stayed would keep its whole batch in memory.
func (s *staging) flush(ctx context.Context) error {
	rest := map[*partition][]arrow.RecordBatch{}
	for _, p := range s.parts.all {
		rows := s.waiting[p]
		if len(rows) == 0 {
			continue
		}
		w := s.open[p]
		if w == nil && len(s.open) < s.limits.writers && countRows(rows) >= s.limits.writerRows {
			w = s.writer(p)
			s.open[p] = w
		}
		if w == nil {
			rest[p] = rows
			continue
		}
		if err := w.write(ctx, rows); err != nil {
			return err
		}
		releaseAll(rows)
		delete(s.waiting, p)
	}
	if err := s.spill.add(s.parts.all, rest); err != nil {
		return err
	}
	for p, rows := range rest {
		releaseAll(rows)
		delete(s.waiting, p)
	}
	s.waitingBytes = 0
	return s.boundRowGroups()
}

// boundRowGroups ends row groups, largest first, until the unfinished ones fit
// the budget.
func (s *staging) boundRowGroups() error {
	for {
		var largest *dataWriter
		total := int64(0)
		for _, p := range s.parts.all {
			if w := s.open[p]; w != nil {
				total += w.unfinished()
				if largest == nil || w.unfinished() > largest.unfinished() {
					largest = w
				}
			}
		}
		if total <= s.limits.rowGroups || largest == nil {
			return nil
		}
		if err := largest.endRowGroup(); err != nil {
			return err
		}
	}
}

// finish writes what waits and what was spilled, and closes every file.
func (s *staging) finish(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.limits.finishers)
	for _, p := range s.parts.all {
		w, rows := s.open[p], s.waiting[p]
		if w == nil {
			w = s.writer(p)
		}
		delete(s.waiting, p)
		group.Go(func() (err error) {
			defer Caught(&err)
			defer releaseAll(rows)
			return s.finishPartition(ctx, w, p, rows)
		})
	}
	return group.Wait()
}

func (s *staging) finishPartition(ctx context.Context, w *dataWriter, p *partition, waiting []arrow.RecordBatch) error {
	for rows, err := range s.spill.read(p, s.limits.waiting) {
		if err != nil {
			return err
		}
		err := w.write(ctx, rows)
		releaseAll(rows)
		if err != nil {
			return err
		}
	}
	if err := w.write(ctx, waiting); err != nil {
		return err
	}
	return w.close()
}

func (s *staging) writer(p *partition) *dataWriter {
	w := &dataWriter{
		layout: s.layout, io: s.io, partition: p, procs: s.limits.procs, target: s.limits.targetBytes, timeout: s.limits.timeout,
		name: func() string { return s.name(p) },
		done: s.record,
	}
	s.writers = append(s.writers, w)
	return w
}

// record notes a complete file.
func (s *staging) record(f stagedFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.staged = append(s.staged, f)
	s.notify(f.file)
}

// close lets go of what is held. After an error the context that the store was
// opened with is cancelled first: closing a live upload would complete it. It
// waits for the store to be told, for the process may end after it, and the
// parts of an upload that is not aborted are kept, and paid for, for ever.
func (s *staging) close() {
	for _, rows := range s.waiting {
		releaseAll(rows)
	}
	var open []<-chan struct{}
	for _, w := range s.writers {
		if ended := w.abort(); ended != nil {
			open = append(open, ended)
		}
	}
	patience := time.NewTimer(s.limits.timeout)
	defer patience.Stop()
	for _, ended := range open {
		select {
		case <-ended:
		case <-patience.C:
			patience.Reset(0)
		}
	}
	s.spill.close()
}

func countRows(batches []arrow.RecordBatch) (n int64) {
	for _, b := range batches {
		n += b.NumRows()
	}
	return n
}

func releaseAll(batches []arrow.RecordBatch) {
	for _, b := range batches {
		b.Release()
	}
}

// batchBytes is the memory that the rows of a batch stand for.
func batchBytes(rec arrow.RecordBatch) (n int64) {
	for _, c := range rec.Columns() {
		n += arrayBytes(c.Data())
	}
	return n
}

func arrayBytes(d arrow.ArrayData) (n int64) {
	for _, b := range d.Buffers() {
		if b != nil {
			n += int64(b.Len())
		}
	}
	for _, c := range d.Children() {
		n += arrayBytes(c)
	}
	return n
}

// layout is how a table's data files are written.
type layout struct {
	schema     *iceberg.Schema
	arrow      *arrow.Schema
	spec       iceberg.PartitionSpec
	sortOrder  int
	properties iceberg.Properties
}
