package lake

import (
	"fmt"
	"iter"
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

// readState finds a load's state at the head of a branch: in the newest ancestor
// that the load made, else in the mirror if that is not ahead of the table. The
// mirror is main's: to another branch it counts only if it is of its history.
func readState(meta table.Metadata, branch string, head *table.Snapshot, load string) (state, error) {
	var oldest *table.Snapshot
	for s := range ancestors(meta, head) {
		if p := summaryOf(s); p[keyLoad] == load && p[keyCoverage] != "" {
			return parseState(p[keyCoverage], p[keyWatermark])
		}
		oldest = s
	}
	props := meta.Properties()
	at, ok := props[propertyOf(load, "at")]
	if !ok {
		return state{}, nil
	}
	id, sequence, err := parseAt(at)
	if err != nil {
		return state{}, err
	}
	held := head != nil && table.IsAncestorOf(head.SnapshotID, id, meta.SnapshotByID)
	expired := meta.SnapshotByID(id) == nil && oldest != nil && sequence < oldest.SequenceNumber
	if !held && branch != table.MainBranch {
		return state{}, nil
	}
	if !held && !expired {
		return state{}, fmt.Errorf("the state of load %q is ahead of the table: snapshot %d, which wrote it, is not in the branch's history (rolled back?): unset the table properties %s* and load again: %w",
			load, id, propertyOf(load, ""), ErrRefused)
	}
	return parseState(props[propertyOf(load, "coverage")], props[propertyOf(load, "watermark")])
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

// ancestors are a snapshot and those before it, newest first, as far as the
// metadata has them. It ends also where the metadata is wrong and they go round
// in a circle.
func ancestors(meta table.Metadata, head *table.Snapshot) iter.Seq[*table.Snapshot] {
	return func(yield func(*table.Snapshot) bool) {
		seen := map[int64]bool{}
		for s := head; s != nil && !seen[s.SnapshotID] && yield(s); {
			seen[s.SnapshotID] = true
			if s.ParentSnapshotID == nil {
				return
			}
			s = meta.SnapshotByID(*s.ParentSnapshotID)
		}
	}
}

func summaryOf(s *table.Snapshot) iceberg.Properties {
	if s == nil || s.Summary == nil {
		return nil
	}
	return s.Summary.Properties
}
