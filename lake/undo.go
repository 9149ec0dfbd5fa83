package lake

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// An undo sets a branch back to the snapshot before a load's. It adds no
// snapshot, so the state that rides on snapshots is right by itself; the mirrors
// in the table's properties, which elsewhere are written with a new snapshot
// only, are set in the same commit.

// Undo says what to undo. Table is required; without more it is the newest load
// of the branch.
type Undo struct {
	Table table.Identifier
	// Branch is the branch to set back. Default: main.
	Branch string
	// Load is the name of the load to undo, Window its window. Default: any.
	Load   string
	Window Window
	// SnapshotID is the snapshot to undo, of a load or another writer; 0: that of
	// the newest load that Load and Window fit.
	SnapshotID int64
	// LoseLater lets the snapshots after the undone one go as well. Default:
	// where there are any, the undo is refused.
	LoseLater bool
}

// UndoPlan is what an undo would do: a value that can be printed.
type UndoPlan struct {
	Table  string `json:"table"`
	Branch string `json:"branch"`
	// To is the snapshot that the branch goes back to, Undone the one after it,
	// and Later what came after that, newest first.
	To     string           `json:"to"`
	Undone UndoneSnapshot   `json:"undone"`
	Later  []UndoneSnapshot `json:"later"`
	// States are those that the loads of these snapshots go back to.
	States []UndoneState `json:"states"`

	head, to int64
	updates  []table.Update
}

// UndoneSnapshot is a snapshot that leaves the branch's history.
type UndoneSnapshot struct {
	SnapshotID string    `json:"snapshot_id"`
	At         time.Time `json:"at"`
	Operation  string    `json:"operation"`
	Load       string    `json:"load,omitempty"`
	Window     string    `json:"window,omitempty"`
	Rows       int64     `json:"rows"`
}

// UndoneState is what a load knows after an undo; empty where it knows nothing.
type UndoneState struct {
	Load      string `json:"load"`
	Coverage  string `json:"coverage"`
	Watermark string `json:"watermark"`
}

// UndoReceipt says what an undo did. Its JSON form is stable.
type UndoReceipt struct {
	Outcome Outcome `json:"outcome"`
	UndoPlan

	MetadataLocation string        `json:"metadata_location"`
	Attempts         int           `json:"attempts"`
	Seconds          float64       `json:"seconds"`
	Error            *ReceiptError `json:"error"`
}

// PlanUndo works out what [Loader.Undo] would do, whether or not LoseLater is
// set. It changes nothing.
func (l *Loader) PlanUndo(ctx context.Context, u Undo) (*UndoPlan, error) {
	d := &undoing{Loader: l.withDefaults(), Undo: u.withDefaults()}
	t, err := d.loadTable(ctx, d.Table)
	if err != nil {
		return nil, d.failed("plan undo", err)
	}
	p, err := d.planOn(ctx, t)
	return p, d.failed("plan undo", err)
}

// Undo sets a branch back to the snapshot before a load's, in one commit with the
// state of the loads. It is refused where later snapshots would go too, unless
// LoseLater is set. A load that runs beside it finds its base gone and says that
// it must run again.
func (l *Loader) Undo(ctx context.Context, u Undo) (UndoReceipt, error) {
	began := time.Now()
	d := &undoing{Loader: l.withDefaults(), Undo: u.withDefaults()}
	r := UndoReceipt{UndoPlan: UndoPlan{Table: d.name(), Branch: d.Branch}}
	err := d.undo(ctx, &r)
	r.Outcome, r.Seconds = outcomeOf(err), time.Since(began).Seconds()
	return r, d.failed("undo", err)
}

func (d *undoing) undo(ctx context.Context, r *UndoReceipt) error {
	t, err := d.loadTable(ctx, d.Table)
	if err != nil {
		return err
	}
	if d.plan, err = d.planOn(ctx, t); err != nil {
		return err
	}
	r.UndoPlan = *d.plan
	if n := len(d.plan.Later); n > 0 && !d.LoseLater {
		return fmt.Errorf("after snapshot %s came %d more, which would be lost with it: %s: with --lose-later they are: %w",
			d.plan.Undone.SnapshotID, n, snapshotsText(d.plan.Later), ErrRefused)
	}
	landed, err := d.commit(ctx, d.Table, d)
	r.Attempts = landed.attempts
	r.MetadataLocation = landed.metadataLocation
	return err
}

// snapshotsText names snapshots for people, the first few.
func snapshotsText(snapshots []UndoneSnapshot) string {
	var parts []string
	for i, s := range snapshots {
		if i == 5 {
			parts = append(parts, fmt.Sprintf("and %d more", len(snapshots)-i))
			break
		}
		text := s.SnapshotID + " (" + s.Operation
		if s.Load != "" {
			text += " by load " + s.Load + " of " + s.Window
		}
		parts = append(parts, text+")")
	}
	return strings.Join(parts, ", ")
}

// undoing is an undo under way; it is the change that the commit makes.
type undoing struct {
	Loader
	Undo

	plan *UndoPlan
}

func (u Undo) withDefaults() Undo {
	if u.Branch == "" {
		u.Branch = table.MainBranch
	}
	return u
}

func (u Undo) name() string { return strings.Join(u.Table, ".") }

func (d *undoing) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	if unreachable(err) {
		err = fmt.Errorf("%w: %w", err, ErrTemporary)
	}
	return &Error{Op: op, Table: d.name(), Err: err}
}

// planOn finds what is to be undone on a table, and what that means.
func (d *undoing) planOn(ctx context.Context, t *table.Table) (*UndoPlan, error) {
	meta := t.Metadata()
	if err := cmp.Or(supported(meta), refuseTag(meta, d.Branch)); err != nil {
		return nil, err
	}
	head := meta.SnapshotByName(d.Branch)
	if head == nil {
		return nil, fmt.Errorf("branch %q has no snapshot, so there is nothing to undo: %w", d.Branch, ErrUsage)
	}
	gone, found := d.find(meta, head)
	if !found {
		return nil, fmt.Errorf("the branch's history has no %s: calve history shows it: %w", d.wanted(), ErrUsage)
	}
	undone := gone[len(gone)-1]
	to, err := before(meta, undone)
	if err != nil {
		return nil, err
	}
	p := &UndoPlan{
		Table: d.name(), Branch: d.Branch, To: strconv.FormatInt(to.SnapshotID, 10), Undone: undoneSnapshot(undone),
		Later: []UndoneSnapshot{}, States: []UndoneState{}, head: head.SnapshotID, to: to.SnapshotID,
	}
	for _, s := range gone[:len(gone)-1] {
		p.Later = append(p.Later, undoneSnapshot(s))
	}
	return p, d.update(ctx, t, p, to, gone)
}

// find lists the snapshots from head to the one that is to be undone.
func (d *undoing) find(meta table.Metadata, head *table.Snapshot) (gone []*table.Snapshot, found bool) {
	for s := range ancestors(meta, head) {
		gone = append(gone, s)
		if d.fits(s) {
			return gone, true
		}
	}
	return nil, false
}

// fits reports whether a snapshot is the one that is to be undone.
func (d *undoing) fits(s *table.Snapshot) bool {
	if d.SnapshotID != 0 {
		return s.SnapshotID == d.SnapshotID
	}
	p := summaryOf(s)
	if p[keyLoad] == "" || d.Undo.Load != "" && p[keyLoad] != d.Undo.Load {
		return false
	}
	if d.Window.IsZero() {
		return true
	}
	var w Window
	err := w.UnmarshalText([]byte(p[keyWindow]))
	return err == nil && w.From.Equal(d.Window.From) && w.To.Equal(d.Window.To)
}

func (d *undoing) wanted() string {
	switch {
	case d.SnapshotID != 0:
		return fmt.Sprintf("snapshot %d", d.SnapshotID)
	case d.Undo.Load == "" && d.Window.IsZero():
		return "snapshot of a load"
	case d.Window.IsZero():
		return fmt.Sprintf("snapshot of load %q", d.Undo.Load)
	case d.Undo.Load == "":
		return fmt.Sprintf("snapshot of a load of exactly %s", d.Window)
	}
	return fmt.Sprintf("snapshot of load %q of exactly %s", d.Undo.Load, d.Window)
}

// before is the snapshot before one that is to be undone.
func before(meta table.Metadata, s *table.Snapshot) (*table.Snapshot, error) {
	if s.ParentSnapshotID == nil {
		return nil, fmt.Errorf("snapshot %d is the table's first, so there is none to go back to: drop the table, or load its windows again: %w", s.SnapshotID, ErrRefused)
	}
	to := meta.SnapshotByID(*s.ParentSnapshotID)
	if to == nil {
		return nil, fmt.Errorf("snapshot %d, the one before %d, has expired, so the table cannot go back to it: load the window again instead: %w", *s.ParentSnapshotID, s.SnapshotID, ErrRefused)
	}
	return to, nil
}

func undoneSnapshot(s *table.Snapshot) UndoneSnapshot {
	e := historyEntry(s)
	return UndoneSnapshot{SnapshotID: strconv.FormatInt(e.SnapshotID, 10), At: e.At, Operation: e.Operation, Load: e.Load, Window: e.Window, Rows: e.Rows}
}

// update works out the updates: the branch, and on main the mirrors of the loads
// whose snapshots go. A load that did nothing before goes with all it has kept,
// its claim too.
func (d *undoing) update(ctx context.Context, t *table.Table, p *UndoPlan, to *table.Snapshot, gone []*table.Snapshot) error {
	meta := t.Metadata()
	builder, err := table.MetadataBuilderFromBase(meta, t.MetadataLocation())
	if err != nil {
		return err
	}
	p.updates = []table.Update{builder.NewRetainingSnapshotRefUpdate(d.Branch, to.SnapshotID, table.BranchRef)}
	var loads []string
	for _, s := range gone {
		if load := summaryOf(s)[keyLoad]; load != "" && !slices.Contains(loads, load) {
			loads = append(loads, load)
		}
	}
	slices.Sort(loads)
	s, err := openStore(ctx, t, d.Timeout)
	if err != nil {
		return err
	}
	past := newExpiredPast(s, t)
	set, unset := iceberg.Properties{}, []string{}
	for _, load := range loads {
		known, holder, err := stateBefore(past, to, load)
		if err != nil {
			return err
		}
		p.States = append(p.States, UndoneState{load, known.coverage.String(), watermarkText(known)})
		if holder == nil {
			for _, what := range []string{"coverage", "watermark", "at", "claim"} {
				unset = append(unset, propertyOf(load, what))
			}
			continue
		}
		for k, v := range known.properties(load, holder.SnapshotID, holder.SequenceNumber) {
			set[k] = v
		}
	}
	if d.Branch != table.MainBranch {
		return nil // its state is in its snapshots alone
	}
	if len(set) > 0 {
		p.updates = append(p.updates, table.NewSetPropertiesUpdate(set))
	}
	if len(unset) > 0 {
		p.updates = append(p.updates, table.NewRemovePropertiesUpdate(unset))
	}
	return nil
}

func watermarkText(s state) string {
	if s.watermark.IsZero() {
		return ""
	}
	return shortTime(s.watermark)
}

// stateBefore is the state of a load at a snapshot of which it is known that the
// load has done something after it, so that its mirror tells nothing; holder is
// the snapshot that says so, nil where the load did nothing before.
func stateBefore(past *expiredPast, to *table.Snapshot, load string) (known state, holder *table.Snapshot, err error) {
	var oldest *table.Snapshot
	for s := range parents(past.parent).of(to) {
		if p := summaryOf(s); p[keyLoad] == load && holdsState(p) {
			known, err = parseState(p[keyCoverage], p[keyWatermark])
			return known, s, err
		}
		oldest = s
	}
	if past.err != nil {
		return state{}, nil, past.err
	}
	if oldest.ParentSnapshotID != nil {
		return state{}, nil, fmt.Errorf("what load %q had loaded before is not known any more: its snapshots have expired, and the metadata log does not reach back to them: load the window again instead: %w", load, ErrRefused)
	}
	return state{}, nil, nil
}

func (d *undoing) draft() *table.Table { return nil }

// fence refuses to undo what the plan did not see.
func (d *undoing) fence(head *table.Table) error {
	tip := head.Metadata().SnapshotByName(d.Branch)
	if tip == nil || tip.SnapshotID != d.plan.head {
		return fmt.Errorf("branch %q has moved from snapshot %d since the undo began: %w", d.Branch, d.plan.head, ErrTemporary)
	}
	return nil
}

func (d *undoing) attemptOn(ctx context.Context, head *table.Table, _ bool) (*attempt, error) {
	p, err := d.planOn(ctx, head)
	if err != nil {
		return nil, err
	}
	return &attempt{id: p.to, parent: &p.head, updates: p.updates, requires: []table.Requirement{
		table.AssertTableUUID(head.Metadata().TableUUID()), table.AssertRefSnapshotID(d.Branch, &p.head),
	}}, nil
}

// shows reports whether the branch has gone back: the snapshot that it went to is
// in its history, and the one that was its tip is not. Whether this attempt or
// another program did it makes no difference.
func (d *undoing) shows(t *table.Table, a *attempt) bool {
	return d.holds(t, a.id) && !d.holds(t, *a.parent)
}

// moved reports whether the branch's tip is another one, and certainly came
// after the old one, or in another table.
func (d *undoing) moved(was, is *table.Table) bool {
	a, b := was.Metadata().SnapshotByName(d.Branch), is.Metadata().SnapshotByName(d.Branch)
	return was.Metadata().TableUUID() != is.Metadata().TableUUID() ||
		a != nil && b != nil && a.SnapshotID != b.SnapshotID && d.holds(is, a.SnapshotID)
}

// holds reports whether a snapshot is in the branch's history.
func (d *undoing) holds(t *table.Table, id int64) bool {
	for s := range ancestors(t.Metadata(), t.Metadata().SnapshotByName(d.Branch)) {
		if s.SnapshotID == id {
			return true
		}
	}
	return false
}

// expired is false: no object of the head is needed.
func (d *undoing) expired(context.Context, *table.Table) bool { return false }

// discard has nothing to do: an undo writes no object.
func (d *undoing) discard(context.Context, map[string]bool) {}
