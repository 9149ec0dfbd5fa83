package lake

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// MaintenanceReceipt says what maintenance did. Its JSON form is stable.
type MaintenanceReceipt struct {
	// Outcome is landed where something was removed, unchanged where there was
	// nothing to remove.
	Outcome Outcome `json:"outcome"`
	Table   string  `json:"table"`
	// Snapshots counts those that expired and those that stayed.
	Snapshots SnapshotCounts `json:"snapshots"`
	// Refs are branches and tags that went, being past their own age.
	Refs []string `json:"refs"`
	// LostRefs are branches or tags that another program made while the expiry
	// was on its way, and that went with their snapshots. The files that they
	// need were kept; the newest metadata file of the log that names them is the
	// way back.
	LostRefs []string `json:"lost_refs"`
	// Expired, Orphans and Metadata count what was deleted.
	Expired  Deletions `json:"expired"`
	Orphans  Deletions `json:"orphans"`
	Metadata Deletions `json:"metadata"`
	// MetadataLocation is the table's metadata file after the expiry; "" where
	// nothing was committed.
	MetadataLocation string        `json:"metadata_location"`
	Attempts         int           `json:"attempts"`
	Seconds          float64       `json:"seconds"`
	Error            *ReceiptError `json:"error"`
}

// SnapshotCounts counts snapshots.
type SnapshotCounts struct {
	Expired int `json:"expired"`
	Kept    int `json:"kept"`
}

// Deletions counts deleted objects.
type Deletions struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// Left is how many could not be deleted; another run finds them again.
	Left int `json:"left"`
	// Outside is how many were left because they are not in the table's own
	// folders.
	Outside int `json:"outside,omitempty"`
}

// Maintain expires snapshots and deletes what nobody needs any more. It may run
// beside loads and beside itself, and be stopped anywhere: the table is whole
// at every moment, and running it again finishes. The receipt is filled as far
// as it came, also with an error, which is an [*Error].
func (l *Loader) Maintain(ctx context.Context, m Maintenance) (MaintenanceReceipt, error) {
	began := time.Now()
	k := &maintaining{Loader: l.withDefaults(), Maintenance: m.withDefaults()}
	r := MaintenanceReceipt{Table: k.TableName(), Refs: []string{}, LostRefs: []string{}}
	err := k.missing(ctx, k.run(ctx, &r))
	r.Seconds = time.Since(began).Seconds()
	r.Outcome = outcomeOf(err)
	if err == nil && r.Snapshots.Expired+len(r.Refs)+r.Expired.Files+r.Orphans.Files+r.Metadata.Files == 0 {
		r.Outcome = Unchanged
	}
	return r, k.failed(err)
}

func (k *maintaining) run(ctx context.Context, r *MaintenanceReceipt) error {
	if err := k.validate(); err != nil {
		return err
	}
	if _, err := k.open(ctx); err != nil {
		return err
	}
	if k.Expire != nil {
		if err := k.expire(ctx, r); err != nil {
			return err
		}
	}
	s, err := k.findStale(ctx)
	if err != nil || len(s.orphans)+len(s.metadata) == 0 {
		return err
	}
	if s, err = k.stillStale(ctx, s); err != nil {
		return err
	}
	if err := k.remove(ctx, s.orphans, &r.Orphans); err != nil {
		return err
	}
	return k.remove(ctx, s.metadata, &r.Metadata)
}

// expire commits the expiry, and deletes afterwards, by the table as it then
// is, what only expired snapshots needed. While the outcome is unknown nothing
// is deleted.
func (k *maintaining) expire(ctx context.Context, r *MaintenanceReceipt) error {
	e := k.expiry()
	landed, err := k.commit(ctx, k.Table, e)
	r.Attempts = landed.attempts
	if err != nil {
		return err
	}
	x := landed.expires
	r.Snapshots = SnapshotCounts{Expired: len(x.snapshots), Kept: x.kept}
	r.Refs = append(r.Refs, x.refs...)
	if len(x.updates) > 0 {
		r.MetadataLocation = landed.metadataLocation
	}
	now, err := k.open(ctx)
	if err != nil {
		return err
	}
	u, err := k.findLeftovers(ctx, now, x.on)
	if err != nil {
		return err
	}
	r.Expired.Outside, r.LostRefs = u.outside, append(r.LostRefs, u.lostRefs...)
	for _, part := range u.inOrder {
		if err := k.remove(ctx, part, &r.Expired); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes objects, several at a time, and counts them. One that is gone
// already counts as deleted. Its error says that some are left.
func (k *maintaining) remove(ctx context.Context, objects []Object, d *Deletions) error {
	var files, bytes atomic.Int64
	var first atomic.Pointer[error]
	group := errgroup.Group{}
	group.SetLimit(removers)
	for _, o := range objects {
		group.Go(func() error {
			err := context.Cause(ctx)
			if err == nil {
				err = k.s.remove(o.Path)
			}
			if err != nil {
				first.CompareAndSwap(nil, &err)
				return nil
			}
			files.Add(1)
			bytes.Add(o.Bytes)
			return nil
		})
	}
	_ = group.Wait() // the first error is kept, and the rest goes on
	deleted := int(files.Load())
	d.Files, d.Bytes, d.Left = d.Files+deleted, d.Bytes+bytes.Load(), d.Left+len(objects)-deleted
	if err := first.Load(); err != nil {
		return fmt.Errorf("%d of %d objects could not be deleted; another run finds them again: %w", len(objects)-deleted, len(objects), *err)
	}
	return nil
}
