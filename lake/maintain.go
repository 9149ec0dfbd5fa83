package lake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/apache/iceberg-go/table"
)

// Maintenance says what to do to a table. Table is required, and at least one
// of Expire, Orphans and Metadata. Loads may run meanwhile.
type Maintenance struct {
	Table table.Identifier
	// Expire expires snapshots and deletes the files that only they needed. Nil:
	// it does not.
	Expire *Expiry
	// Orphans deletes files of loads that are over and did not commit.
	Orphans bool
	// Metadata deletes metadata files of the table that its metadata log names no
	// more: of commits that were lost, or that nothing deleted when they left the
	// log.
	Metadata bool
	// OlderThan is the least age of what Orphans and Metadata delete. Default and
	// minimum: [OrphanAge].
	OlderThan time.Duration
	// NoLoadRuns is the caller's word that no load of the table is running, nor
	// one whose outcome was unknown. Only with it OlderThan counts below the
	// minimum; zero is then no age at all.
	NoLoadRuns bool
}

// TableName is the table's name with dots, for people.
func (m Maintenance) TableName() string { return strings.Join(m.Table, ".") }

func (m Maintenance) withDefaults() Maintenance {
	if m.OlderThan == 0 && !m.NoLoadRuns {
		m.OlderThan = OrphanAge
	}
	return m
}

func (m Maintenance) validate() error {
	switch {
	case m.Expire == nil && !m.Orphans && !m.Metadata:
		return fmt.Errorf("nothing to do: expire snapshots, delete orphans, or delete old metadata files: %w", ErrUsage)
	case m.OlderThan < 0:
		return fmt.Errorf("files older than %s: the age must not be negative: %w", m.OlderThan, ErrUsage)
	case m.OlderThan < OrphanAge && !m.NoLoadRuns:
		return fmt.Errorf("files older than %s: a load may run for %s and need such a file still, so it is %s at least, unless it is certain that no load runs: %w",
			m.OlderThan, LongestLoad, OrphanAge, ErrUsage)
	}
	if m.Expire != nil {
		return m.Expire.validate()
	}
	return nil
}

// MaintenancePlan is what maintenance would do: a value that can be printed.
type MaintenancePlan struct {
	Table string `json:"table"`
	// Snapshots would expire, oldest first; Kept is how many stay.
	Snapshots []PlannedExpiry `json:"snapshots"`
	Kept      int             `json:"kept"`
	// Refs are branches and tags that would go, being past their own age.
	Refs []string `json:"refs"`
	// Expired are the objects that no snapshot would need any more.
	Expired []Object `json:"expired"`
	// Outside is how many more there are outside the table's own folders; these
	// stay, for they may be another table's.
	Outside  int      `json:"outside"`
	Orphans  []Object `json:"orphans"`
	Metadata []Object `json:"metadata"`
}

// PlannedExpiry is a snapshot that would expire.
type PlannedExpiry struct {
	SnapshotID string    `json:"snapshot_id"`
	At         time.Time `json:"at"`
	Load       string    `json:"load,omitempty"`
	Window     string    `json:"window,omitempty"`
}

// maintaining is maintenance under way.
type maintaining struct {
	Loader
	Maintenance

	s *store
	// seen is the metadata file of the table when it was last read.
	seen string
}

// PlanMaintenance works out what [Loader.Maintain] would do. It reads metadata
// and lists the table's folder, and changes nothing.
func (l *Loader) PlanMaintenance(ctx context.Context, m Maintenance) (*MaintenancePlan, error) {
	k := &maintaining{Loader: l.withDefaults(), Maintenance: m.withDefaults()}
	p, err := k.plan(ctx)
	return p, k.failed(k.missing(ctx, err))
}

func (k *maintaining) plan(ctx context.Context) (*MaintenancePlan, error) {
	p := &MaintenancePlan{
		Table: k.TableName(), Snapshots: []PlannedExpiry{}, Refs: []string{},
		Expired: []Object{}, Orphans: []Object{}, Metadata: []Object{},
	}
	if err := k.validate(); err != nil {
		return nil, err
	}
	t, err := k.open(ctx)
	if err != nil {
		return nil, err
	}
	if k.Expire != nil {
		if err := k.planExpiry(ctx, t, p); err != nil {
			return nil, err
		}
	}
	s, err := k.findStale(ctx)
	if err != nil {
		return nil, err
	}
	p.Orphans, p.Metadata = append(p.Orphans, s.orphans...), append(p.Metadata, s.metadata...)
	return p, nil
}

func (k *maintaining) planExpiry(ctx context.Context, t *table.Table, p *MaintenancePlan) error {
	x, err := k.expiry().planOn(t)
	if err != nil {
		return err
	}
	p.Kept, p.Refs = x.kept, append(p.Refs, x.refs...)
	for _, id := range x.snapshots {
		e := historyEntry(t.Metadata().SnapshotByID(id))
		p.Snapshots = append(p.Snapshots, PlannedExpiry{fmt.Sprint(id), e.At, e.Load, e.Window})
	}
	meta, err := x.after()
	if err != nil {
		return err
	}
	after := table.New(t.Identifier(), meta, t.MetadataLocation(), k.s.itself, nil)
	u, err := k.findLeftovers(ctx, after, t)
	if err != nil {
		return err
	}
	p.Expired, p.Outside = append(p.Expired, u.all()...), u.outside
	return nil
}

// open reads the table and its store, and refuses tables whose files are not
// calve's to delete.
func (k *maintaining) open(ctx context.Context) (*table.Table, error) {
	t, err := k.look(ctx)
	if err != nil {
		return nil, err
	}
	k.s, err = openStore(ctx, t, k.Timeout)
	return t, err
}

// look reads the table as it is now.
func (k *maintaining) look(ctx context.Context) (*table.Table, error) {
	t, err := k.loadTable(ctx, k.Table)
	if err != nil {
		return nil, err
	}
	k.seen = t.MetadataLocation()
	return t, maintainable(t.Metadata())
}

// missing says what it means that an object was not there which a snapshot
// needs: that another program expired the snapshot meanwhile, or that the table
// is damaged.
func (k *maintaining) missing(ctx context.Context, err error) error {
	if k.seen == "" || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if t, e := k.loadTable(ctx, k.Table); e != nil || t.MetadataLocation() != k.seen {
		return fmt.Errorf("the table changed meanwhile: %w: %w", err, ErrTemporary)
	}
	return fmt.Errorf("the table is damaged, so nothing of it is deleted: %w: %w", err, ErrRefused)
}

// maintainable refuses tables whose files others may need that cannot be seen
// from the table.
func maintainable(meta table.Metadata) error {
	if err := supported(meta); err != nil {
		return err
	}
	for key, value := range meta.Properties() {
		if key == table.GCEnabledKey && !strings.EqualFold(value, "true") {
			return fmt.Errorf("the table property %s is %q, which says that other tables may need its files: %w", key, value, ErrRefused)
		}
		if strings.HasPrefix(key, nessiePrefix) {
			return fmt.Errorf("the catalog is Nessie, whose other branches and commits may need the table's files and cannot be seen from here: use Nessie's own garbage collection: %w", ErrRefused)
		}
	}
	if id, hidden := hiddenSnapshot(meta); hidden {
		return fmt.Errorf("the catalog shows only a part of the table's snapshots (%d is not among them), so that nobody can say what is needed: %w", id, ErrRefused)
	}
	return nil
}

// nessiePrefix begins the properties that Nessie gives to its tables.
const nessiePrefix = "nessie."

// hiddenSnapshot finds a snapshot that the table's log names and a catalog does
// not show.
func hiddenSnapshot(meta table.Metadata) (id int64, hidden bool) {
	for entry := range meta.SnapshotLogs() {
		if meta.SnapshotByID(entry.SnapshotID) == nil {
			return entry.SnapshotID, true
		}
	}
	return 0, false
}

func (k *maintaining) rule() Expiry {
	if k.Expire != nil {
		return *k.Expire
	}
	return Expiry{}
}

func (k *maintaining) expiry() *expiry { return &expiry{rule: k.rule(), now: k.Now()} }

// failed says what was being done to which table.
func (k *maintaining) failed(err error) error {
	if err == nil {
		return nil
	}
	if unreachable(err) {
		err = fmt.Errorf("%w: %w", err, ErrTemporary)
	}
	return &Error{Op: "maintain", Table: k.TableName(), Err: err}
}
