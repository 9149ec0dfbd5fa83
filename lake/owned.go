package lake

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/iceberg-go"
)

// owned is what a load owns in a table, bound to the table's field ids: the
// rows whose time is in the window and whose scope columns have the scope's
// values. A row whose time is NULL belongs to no window.
type owned struct {
	window Window
	kind   TimeKind
	span   span
	timeID int
	time   iceberg.NestedField
	scope  []equality
	// always is true where rows of any time are owned, also of none.
	always bool
}

// around are the rows of the scope in the window and some time around it.
func (o *owned) around(s Step) *owned {
	wider := *o
	wider.window.From, wider.window.To = s.Before(o.window.From), s.After(o.window.To)
	wider.span = spanOf(wider.window, o.kind)
	return &wider
}

// atAnyTime are the rows of the scope whatever their time.
func (o *owned) atAnyTime() *owned {
	all := *o
	all.always = true
	return &all
}

// equality is one scope column with its constant.
type equality struct {
	field iceberg.NestedField
	value iceberg.Literal
	bytes []byte // value as Iceberg serialises bounds
}

// side says how a data file lies to what a load owns.
type side int

const (
	outside    side = iota // no row is owned
	inside                 // every row is owned
	straddling             // some rows may be owned
)

// newOwned binds load and window to a schema. Its error wraps ErrUsage,
// ErrSchema or ErrWindow.
func newOwned(load Load, w Window, sc *iceberg.Schema) (*owned, error) {
	field, ok := findField(sc, load.windowColumn())
	if !ok {
		return nil, fmt.Errorf("the table has no column %q for the window; it has %s: %w", load.windowColumn(), columnNames(sc), ErrUsage)
	}
	kind, err := TimeKindOf(field.Type)
	if err != nil {
		return nil, fmt.Errorf("column %q: %w", field.Name, err)
	}
	if w, err = w.On(kind, load.Zone); err != nil {
		return nil, err
	}
	o := &owned{window: w, kind: kind, span: spanOf(w, kind), timeID: field.ID, time: field}
	for _, name := range slices.Sorted(maps.Keys(load.Scope)) {
		eq, err := newEquality(sc, name, load.Scope[name])
		if err != nil {
			return nil, err
		}
		o.scope = append(o.scope, eq)
	}
	slices.SortFunc(o.scope, func(a, b equality) int { return strings.Compare(a.field.Name, b.field.Name) })
	return o, nil
}

func newEquality(sc *iceberg.Schema, name, text string) (equality, error) {
	field, ok := findField(sc, name)
	if !ok {
		return equality{}, fmt.Errorf("the table has no column %q for the scope; it has %s: %w", name, columnNames(sc), ErrUsage)
	}
	switch field.Type.(type) {
	case iceberg.Float32Type, iceberg.Float64Type:
		return equality{}, fmt.Errorf("scope column %q is a %s, which has no exact equality: %w", name, field.Type, ErrUsage)
	case iceberg.PrimitiveType:
	default:
		return equality{}, fmt.Errorf("scope column %q is a %s; a scope needs a column of single values: %w", name, field.Type, ErrUsage)
	}
	value, err := iceberg.NewLiteral(text).To(field.Type)
	if err != nil {
		return equality{}, fmt.Errorf("scope %s=%q: not a %s: %w", name, text, field.Type, ErrUsage)
	}
	raw, err := value.MarshalBinary()
	if err != nil {
		return equality{}, fmt.Errorf("scope %s=%q: %w", name, text, err)
	}
	return equality{field: field, value: value, bytes: raw}, nil
}

// findField looks a top-level column up by name, exactly or, where that is
// unique, whatever its case.
func findField(sc *iceberg.Schema, name string) (iceberg.NestedField, bool) {
	var found []iceberg.NestedField
	for _, f := range sc.Fields() {
		if f.Name == name {
			return f, true
		}
		if foldName(f.Name) == foldName(name) {
			found = append(found, f)
		}
	}
	if len(found) == 1 {
		return found[0], true
	}
	return iceberg.NestedField{}, false
}

// scopeText prints the scope as state and summary keep it: sorted, one form.
func (o *owned) scopeText() string {
	var b bytes.Buffer
	for i, eq := range o.scope {
		if i > 0 {
			b.WriteByte('&')
		}
		fmt.Fprintf(&b, "%s=%s", escapeScope(eq.field.Name), escapeScope(fmt.Sprint(eq.value)))
	}
	return b.String()
}

// manifestMayHold reports whether a file listed in a manifest of spec with
// these partition summaries can hold an owned row. A summary without bounds
// says nothing: iceberg-go before its fix wrote empty strings so (pitfall L2).
func (o *owned) manifestMayHold(spec iceberg.PartitionSpec, summaries []iceberg.FieldSummary) bool {
	for i, pf := range spec.Fields() {
		if i >= len(summaries) || len(pf.SourceIDs) != 1 {
			continue
		}
		lo, hi := summaries[i].LowerBound, summaries[i].UpperBound
		if lo == nil || hi == nil || *lo == nil || *hi == nil {
			continue
		}
		if pf.SourceIDs[0] == o.timeID && !o.always && !o.timeMayBeWithin(pf.Transform, *lo, *hi) {
			return false
		}
		for _, eq := range o.scope {
			if eq.field.ID == pf.SourceIDs[0] && !eq.mayBeWithin(pf.Transform, *lo, *hi) {
				return false
			}
		}
	}
	return true
}

func (o *owned) timeMayBeWithin(t iceberg.Transform, lo, hi []byte) bool {
	typ := t.ResultType(o.time.Type)
	a, okA := intBound(typ, lo)
	b, okB := intBound(typ, hi)
	if !okA || !okB {
		return true
	}
	first, known := o.kind.partitionSpan(t, a)
	last, _ := o.kind.partitionSpan(t, b)
	return !known || o.span.overlaps(span{first.from, last.to})
}

func (e equality) mayBeWithin(t iceberg.Transform, lo, hi []byte) bool {
	p, ok := e.partition(t)
	if !ok {
		return true
	}
	typ := t.ResultType(e.field.Type)
	return !certainlyLess(typ, p, lo) && !certainlyLess(typ, hi, p)
}

// partition is the serialised value that t maps the constant to.
func (e equality) partition(t iceberg.Transform) ([]byte, bool) {
	switch t.(type) {
	case iceberg.IdentityTransform, iceberg.BucketTransform, iceberg.TruncateTransform:
	default:
		return nil, false
	}
	v := t.Apply(iceberg.Optional[iceberg.Literal]{Val: e.value, Valid: true})
	if !v.Valid {
		return nil, false
	}
	raw, err := v.Val.MarshalBinary()
	return raw, err == nil
}

// side classifies a data file that was written under spec: by its partition
// tuple first, by its column bounds where the tuple cannot tell.
func (o *owned) side(spec iceberg.PartitionSpec, df iceberg.DataFile) side {
	s := inside
	if !o.always {
		s = orElse(o.timeByPartition(spec, df), func() side { return o.timeByBounds(df) })
	}
	for _, eq := range o.scope {
		if s == outside {
			return outside
		}
		e := orElse(eq.byPartition(spec, df), func() side { return eq.byBounds(df) })
		if e == outside || (e == straddling && s == inside) {
			s = e
		}
	}
	return s
}

// orElse keeps a certain answer and asks again for an uncertain one.
func orElse(first side, second func() side) side {
	if first != straddling {
		return first
	}
	return second()
}

func (o *owned) timeByPartition(spec iceberg.PartitionSpec, df iceberg.DataFile) side {
	s := straddling
	for _, pf := range spec.Fields() {
		if len(pf.SourceIDs) != 1 || pf.SourceIDs[0] != o.timeID {
			continue
		}
		value, present := df.Partition()[pf.FieldID]
		if _, void := pf.Transform.(iceberg.VoidTransform); void || !present {
			continue
		}
		if value == nil {
			if _, known := o.kind.partitionSpan(pf.Transform, 0); known {
				return outside // the time is NULL in every row
			}
			continue
		}
		p, ok := intValue(value)
		if !ok {
			continue
		}
		part, known := o.kind.partitionSpan(pf.Transform, p)
		switch {
		case !known:
		case !o.span.overlaps(part):
			return outside
		case o.span.covers(part):
			s = inside
		}
	}
	return s
}

func (o *owned) timeByBounds(df iceberg.DataFile) side {
	lo, okLo := intBound(o.time.Type, df.LowerBoundValues()[o.timeID])
	hi, okHi := intBound(o.time.Type, df.UpperBoundValues()[o.timeID])
	switch {
	case okHi && hi < o.span.from, okLo && lo >= o.span.to, allNull(df, o.timeID):
		return outside
	case okLo && okHi && o.span.contains(lo) && o.span.contains(hi) && noNulls(df, o.timeID):
		return inside
	}
	return straddling
}

func (e equality) byPartition(spec iceberg.PartitionSpec, df iceberg.DataFile) side {
	s := straddling
	for _, pf := range spec.Fields() {
		if len(pf.SourceIDs) != 1 || pf.SourceIDs[0] != e.field.ID {
			continue
		}
		want, ok := e.partition(pf.Transform)
		value, present := df.Partition()[pf.FieldID]
		if !ok || !present {
			continue
		}
		have, ok := partitionBytes(pf.Transform.ResultType(e.field.Type), value)
		switch {
		case !ok:
		case have == nil || !bytes.Equal(have, want):
			return outside // NULL, or another value
		default:
			if _, identity := pf.Transform.(iceberg.IdentityTransform); identity {
				s = inside
			}
		}
	}
	return s
}

func (e equality) byBounds(df iceberg.DataFile) side {
	lo, okLo := df.LowerBoundValues()[e.field.ID]
	hi, okHi := df.UpperBoundValues()[e.field.ID]
	if allNull(df, e.field.ID) {
		return outside
	}
	switch {
	case okLo && certainlyLess(e.field.Type, e.bytes, lo), okHi && certainlyLess(e.field.Type, hi, e.bytes):
		return outside
	case okLo && okHi && bytes.Equal(lo, e.bytes) && bytes.Equal(hi, e.bytes) && e.exactBound(df) && noNulls(df, e.field.ID):
		return inside
	}
	return straddling
}

// exactBound reports whether a bound equal to the constant is certainly a
// value of the file: other writers may cut texts, by default to 16 characters;
// calve itself never cuts those of a scope.
func (e equality) exactBound(df iceberg.DataFile) bool {
	if ownFile(df) {
		return true
	}
	switch e.field.Type.(type) {
	case iceberg.StringType:
		return utf8.RuneCount(e.bytes) < 16
	case iceberg.BinaryType:
		return len(e.bytes) < 16
	}
	return true
}

// ownFile reports whether calve wrote a file.
func ownFile(df iceberg.DataFile) bool { return strings.HasPrefix(path.Base(df.FilePath()), "calve-") }

func noNulls(df iceberg.DataFile, id int) bool {
	n, ok := df.NullValueCounts()[id]
	return ok && n == 0
}

func allNull(df iceberg.DataFile, id int) bool {
	n, ok := df.NullValueCounts()[id]
	return ok && n == df.Count()
}
