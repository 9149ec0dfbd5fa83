package lake

import (
	"fmt"

	"github.com/apache/iceberg-go/table"
)

// A load whose rows are in the table already commits nothing: a re-run that
// changes nothing shall leave no snapshot, no new files, and nothing to do for
// those who read what changed. Whether they are there is said by the receipt of
// the earlier load, in its snapshot's summary, and only as long as nothing has
// come between: else the load replaces its window as always, which is never
// wrong.
//
// It is decided on a head that was just read, behind the fence. Where the head
// moves afterwards, the load is as if it had committed at that head, before what
// moved it. It is decided only before a first attempt, while nothing was sent.

// standing is an earlier load of the same window whose rows are all that the
// table holds of it.
type standing struct {
	snapshot *table.Snapshot
	digest   Digest
	state    state
}

// standing returns the load that stands on a head, whose window was surveyed;
// nil where there is none, or where that is not certain.
func (j *loading) standing(head *table.Table, found *survey) *standing {
	if j.load.CommitUnchanged || j.creates || j.fit.evolved || found == nil {
		return nil
	}
	meta := head.Metadata()
	snap := j.newestMeeting(head)
	if snap == nil || snap.SchemaID == nil || *snap.SchemaID != meta.CurrentSchema().ID {
		return nil // the columns may have other meanings by now, and the files other columns
	}
	s := &standing{snapshot: snap}
	if j.sameReceipt(s) && j.onlyFilesOf(s, meta, found) && j.stateHolds(s, head) {
		return s
	}
	return nil
}

// newestMeeting is the newest snapshot by a load, of whatever name, that the
// load's rows meet; nil where the history has none.
func (j *loading) newestMeeting(head *table.Table) *table.Snapshot {
	for s := range ancestors(head.Metadata(), j.headOf(head)) {
		if _, _, meets := overlapping(summaryOf(s), j.owned); meets {
			return s
		}
	}
	return nil
}

// sameReceipt reports whether a snapshot was made by this load for this window,
// and reads its digest.
func (j *loading) sameReceipt(s *standing) bool {
	p := summaryOf(s.snapshot)
	window, _ := j.owned.window.MarshalText()
	var err error
	s.digest, err = ParseDigest(p[keyDigest])
	return err == nil && p[keyLoad] == j.load.Name && p[keyWindow] == string(window) && p[keyScope] == j.owned.scopeText() &&
		p[keyMode] == string(Replace) && p[keyVolatile] == idList(j.volatile)
}

// onlyFilesOf reports whether the window holds all the files that the load
// wrote for it, no others, and each as a whole: a file is never changed, so as
// many rows as the digest counts are the rows of the digest. Files of another
// partitioning are not taken for the load's, since it would lay them out anew.
func (j *loading) onlyFilesOf(s *standing, meta table.Metadata, found *survey) bool {
	rows := int64(0)
	for _, e := range found.inside {
		positions, equalities := found.deletes.applying(e)
		if e.SnapshotID() != s.snapshot.SnapshotID || int(e.DataFile().SpecID()) != meta.DefaultPartitionSpec() || len(positions)+len(equalities) > 0 {
			return false
		}
		rows += e.DataFile().Count()
	}
	return len(found.straddles) == 0 && rows == s.digest.Rows
}

// stateHolds reports whether the load's state says what a commit would make it
// say: coverage and watermark, and on main also their mirror, which is ahead of
// the table after a rollback, and the claim.
func (j *loading) stateHolds(s *standing, head *table.Table) bool {
	meta, tip := head.Metadata(), j.headOf(head)
	known, err := readState(meta, j.load.Branch, tip, j.load.Name)
	if err != nil || j.claimsAnew(meta, tip) || !known.equal(known.add(j.owned.window)) {
		return false
	}
	s.state = known
	if j.load.Branch != table.MainBranch {
		return true
	}
	props := meta.Properties()
	id, sequence, err := parseAt(props[propertyOf(j.load.Name, "at")])
	if err != nil || !table.IsAncestorOf(tip.SnapshotID, id, meta.SnapshotByID) {
		return false
	}
	if len(j.claiming(meta)) > 0 {
		return false // it takes over
	}
	for key, value := range known.properties(j.load.Name, id, sequence) {
		if props[key] != value {
			return false
		}
	}
	return true
}

func (s state) equal(o state) bool {
	return s.coverage.String() == o.coverage.String() && s.watermark.Equal(o.watermark)
}

// attempt is one that has nothing to publish.
func (s *standing) attempt() *attempt {
	return &attempt{id: s.snapshot.SnapshotID, state: s.state, rows: RowCounts{Written: s.digest.Rows}, unchanged: true}
}

// unread returns how the load stands, without having read the source, where it
// was asked to find out so and the source is the one that was loaded: the same
// files, read in the same way by the same program.
func (j *loading) unread() *landing {
	if !j.load.IfChanged || j.origin.Fingerprint == "" {
		return nil
	}
	s := j.standing(j.planned, j.surveyed)
	if s == nil {
		return nil
	}
	p := summaryOf(s.snapshot)
	if p[keySource] != sourceText(j.origin) || p[keySettings] != j.load.Settings || p[keyVersion] != j.Version {
		return nil
	}
	j.digest = &s.digest
	return &landing{attempt: s.attempt(), metadataLocation: j.planned.MetadataLocation()}
}

// checkUnchanged refuses what contradicts itself.
func (l Load) checkUnchanged() error {
	if l.IfChanged && l.CommitUnchanged {
		return fmt.Errorf("if_changed and commit_unchanged contradict each other: %w", ErrUsage)
	}
	return nil
}
