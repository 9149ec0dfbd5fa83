package lake

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// The keys of calve in a snapshot's summary. See the design of state in
// ARCHITECTURE.md: it is part of the commit of the data, so that it can
// neither run ahead of the data nor stay behind, and a rollback takes it along.
const (
	keyLoad      = "calve.load"
	keyWindow    = "calve.window"
	keyScope     = "calve.scope"
	keyMode      = "calve.mode"
	keyRows      = "calve.rows"
	keyDigest    = "calve.digest"   // of the rows as stored, see [Digest]
	keyVolatile  = "calve.volatile" // field ids that the digest leaves out
	keyRun       = "calve.run"
	keySource    = "calve.source"
	keySettings  = "calve.settings"
	keyVersion   = "calve.version"
	keyCoverage  = "calve.coverage"
	keyWatermark = "calve.watermark"
)

// propertyOf is the table property that mirrors part of a load's state, for
// readers that do not walk snapshots and for the time after their expiry.
func propertyOf(load, what string) string { return "calve.load." + load + "." + what }

// state is what a table says of one load.
type state struct {
	coverage  Coverage
	watermark time.Time
}

// readState is a load's state at the head of a branch, by the metadata alone:
// see [stateAt].
func readState(meta table.Metadata, branch string, head *table.Snapshot, load string) (state, error) {
	known, _, err := findState(parentsIn(meta), nil, meta, branch, head, load)
	return known, err
}

// findState finds a load's state at the head of a branch: in the newest ancestor
// that the load made, else in the mirror if that is not ahead of the table. The
// mirror is main's: to another branch it counts only if it is of its history.
// several are snapshots that are known not to be the only one of the table. sure
// is false where expired snapshots would tell more.
func findState(parent parents, several map[int64]bool, meta table.Metadata, branch string, head *table.Snapshot, load string) (known state, sure bool, err error) {
	props := meta.Properties()
	at, mirrored := props[propertyOf(load, "at")]
	var id, sequence int64
	if mirrored {
		id, sequence, err = parseAt(at)
	}
	var oldest *table.Snapshot
	held, count := false, 0
	for s := range parent.of(head) {
		if p := summaryOf(s); p[keyLoad] == load && holdsState(p) {
			known, err = parseState(p[keyCoverage], p[keyWatermark])
			return known, true, err
		}
		held = held || mirrored && s.SnapshotID == id
		oldest = s
		count++
	}
	if !mirrored || err != nil {
		return state{}, true, mend(load, err)
	}
	// The first snapshot of all has no parent; a catalog such as Nessie shows a
	// later one as if it were.
	whole := oldest != nil && oldest.ParentSnapshotID == nil && (count > 1 || oldest.SequenceNumber <= 1 || several[oldest.SnapshotID])
	// A snapshot whose number follows that of the mirror's and that has another
	// parent is proof of a rollback.
	past := meta.SnapshotByID(id) == nil && oldest != nil && sequence+1 < oldest.SequenceNumber
	beside := oldest != nil && oldest.ParentSnapshotID != nil && *oldest.ParentSnapshotID == id
	sure = held || whole || beside || oldest == nil
	switch {
	case held, beside, past && !whole && branch == table.MainBranch:
		known, err = parseState(props[propertyOf(load, "coverage")], props[propertyOf(load, "watermark")])
		return known, sure, mend(load, err)
	case branch != table.MainBranch:
		return state{}, sure, nil
	}
	return state{}, sure, fmt.Errorf("the state of load %q is ahead of the table: snapshot %d, which wrote it, is not in the branch's history (rolled back, or the table was made anew?): unset the table properties %s* and load again: %w",
		load, id, propertyOf(load, ""), ErrRefused)
}

// mend says how to mend a mirror that cannot be read.
func mend(load string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("load %q: %w: it is read from the table properties %s*, of which no snapshot of the load is left to tell more: set them right, or unset them and load again", load, err, propertyOf(load, ""))
}

func parseAt(at string) (id, sequence int64, err error) {
	a, b, _ := strings.Cut(at, ":")
	id, err = strconv.ParseInt(a, 10, 64)
	if err == nil {
		sequence, err = strconv.ParseInt(b, 10, 64)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("state mark %q is not SNAPSHOT:SEQUENCE: %w", at, ErrRefused)
	}
	return id, sequence, nil
}

func parseState(coverage, watermark string) (state, error) {
	c, err := ParseCoverage(coverage)
	if err != nil {
		return state{}, fmt.Errorf("read the state: %w: %w", err, ErrRefused)
	}
	s := state{coverage: c}
	if watermark == "" && len(c.Windows) > 0 {
		return state{}, fmt.Errorf("read the state: the coverage %q is without a watermark: %w", coverage, ErrRefused)
	}
	if watermark != "" {
		b, err := parseBound(watermark)
		if err != nil {
			return state{}, fmt.Errorf("read the state: watermark: %w: %w", err, ErrRefused)
		}
		s.watermark = b.at
	}
	return s, nil
}

// add is the state after w was loaded. The watermark goes to the end of the
// unbroken coverage that holds it, so it never moves back and never jumps a gap.
func (s state) add(w Window) state {
	w = Window{From: w.From.UTC(), To: w.To.UTC()} // kept without a zone mark
	next := state{coverage: s.coverage.Add(w), watermark: s.watermark}
	if next.watermark.IsZero() {
		next.watermark = next.coverage.end(w.From)
	} else {
		next.watermark = next.coverage.end(next.watermark)
	}
	return next
}

// properties are the mirror of a state that snapshot id with this sequence
// number writes.
func (s state) properties(load string, id, sequence int64) iceberg.Properties {
	return iceberg.Properties{
		propertyOf(load, "coverage"):  s.coverage.String(),
		propertyOf(load, "watermark"): shortTime(s.watermark),
		propertyOf(load, "at"):        fmt.Sprintf("%d:%d", id, sequence),
	}
}

func summaryOf(s *table.Snapshot) iceberg.Properties {
	if s == nil || s.Summary == nil {
		return nil
	}
	return s.Summary.Properties
}
