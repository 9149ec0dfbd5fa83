package lake

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// Claim is what a load says it owns in a table. It is kept in the table, written
// with the load's first snapshot on main, so that two loads which would replace
// each other's rows are refused, before either does.
type Claim struct {
	// TimeColumn is the column that windows are on.
	TimeColumn string
	// Scope is column=value, several joined by &; empty for all rows.
	Scope string
	// Mode is replace, merge or append.
	Mode string
}

// String prints the claim as the table keeps it.
func (c Claim) String() string {
	return url.Values{"time_column": {c.TimeColumn}, "scope": {c.Scope}, "mode": {c.Mode}}.Encode()
}

// parseClaim reads what String prints. What a later version adds is left out.
func parseClaim(text string) (Claim, error) {
	v, err := url.ParseQuery(text)
	c := Claim{TimeColumn: v.Get("time_column"), Scope: v.Get("scope"), Mode: v.Get("mode")}
	if err == nil && (c.TimeColumn == "" || c.Mode == "") {
		err = fmt.Errorf("claim %q lacks time_column or mode", text)
	}
	return c, err
}

// words are the claim for people.
func (c Claim) words() string {
	scope := "all rows"
	if c.Scope != "" {
		scope = "rows with " + strings.ReplaceAll(c.Scope, "&", " and ")
	}
	return fmt.Sprintf("%s by %s (mode %s)", scope, c.TimeColumn, c.Mode)
}

// meets reports whether some row may be in both claims. Windows do not tell them
// apart: they come from the caller, each time anew. Nor do different time
// columns, for one row has a time in each.
func (c Claim) meets(o Claim) bool { return !scopesDisjoint(c.Scope, o.Scope) }

// claim is what the load says it owns.
func (j *loading) claim() Claim {
	return Claim{TimeColumn: j.owned.time.Name, Scope: j.owned.scopeText(), Mode: string(j.load.Mode)}
}

// admit refuses a load that claims otherwise than it did, or what another load
// of the table claims. It stands at plan and again before each attempt: of two
// first loads with two names that race, one finds the other's claim there.
func (j *loading) admit(meta table.Metadata) error {
	if j.load.TakeOver {
		return nil
	}
	mine := j.claim()
	for _, load := range loadsOf(meta) {
		text, kept := meta.Properties()[propertyOf(load, "claim")]
		if !kept {
			continue
		}
		theirs, err := parseClaim(text)
		switch {
		case err != nil:
			return fmt.Errorf("the table property %s cannot be read (%w): set it right or unset it, or load once with --take-over: %w", propertyOf(load, "claim"), err, ErrClaim)
		case load == j.load.Name && theirs != mine:
			return fmt.Errorf("load %q has claimed %s of the table and now wants %s, so that what it loaded before would not be replaced as a whole: give it another name, or, if that is meant, load once with --take-over: %w",
				load, theirs.words(), mine.words(), ErrClaim)
		case load != j.load.Name && theirs.meets(mine):
			return fmt.Errorf("load %q wants %s of the table and load %q has claimed %s, so that each would replace the other's rows: give each a scope of its own, or, where %q runs no more, load once with --take-over: %w",
				j.load.Name, mine.words(), load, theirs.words(), load, ErrClaim)
		}
	}
	return nil
}

// stateOn is the load's state at a head: none where what the load has done so far
// was done within another scope or by another time column, for it says nothing of
// the rows that the load claims now.
func (j *loading) stateOn(ctx context.Context, head *table.Table, tip *table.Snapshot) (state, error) {
	if j.claimsAnew(head.Metadata(), tip) {
		return state{}, nil
	}
	return stateAt(ctx, head, j.Timeout, j.load.Branch, tip, j.load.Name)
}

// claimsAnew reports whether the load's state was made under another claim. The
// scope stands in the snapshot that holds the state, for the claim itself does not
// follow a rollback, and is main's alone.
func (j *loading) claimsAnew(meta table.Metadata, tip *table.Snapshot) bool {
	mine := j.claim()
	was := mine
	if kept, err := parseClaim(meta.Properties()[propertyOf(j.load.Name, "claim")]); err == nil {
		was = kept
	}
	for s := range ancestors(meta, tip) {
		if p := summaryOf(s); p[keyLoad] == j.load.Name && holdsState(p) {
			was.Scope = p[keyScope]
			break
		}
	}
	return was.TimeColumn != mine.TimeColumn || was.Scope != mine.Scope
}

// claiming are the updates that keep the claim in the table. They remove those
// that it takes over.
func (j *loading) claiming(meta table.Metadata) (updates []table.Update) {
	mine := j.claim()
	var gone []string
	for _, load := range loadsOf(meta) {
		key := propertyOf(load, "claim")
		text, kept := meta.Properties()[key]
		if theirs, err := parseClaim(text); kept && load != j.load.Name && (err != nil || theirs.meets(mine)) {
			gone = append(gone, key)
		}
	}
	if len(gone) > 0 {
		updates = append(updates, table.NewRemovePropertiesUpdate(gone))
	}
	if key := propertyOf(j.load.Name, "claim"); meta.Properties()[key] != mine.String() {
		updates = append(updates, table.NewSetPropertiesUpdate(iceberg.Properties{key: mine.String()}))
	}
	return updates
}
