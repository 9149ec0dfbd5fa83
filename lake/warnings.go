package lake

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// Warning says what an engine will not read, or will read otherwise, of the
// table as a load leaves it. It does not hinder the load.
type Warning struct {
	// Engines are the engines that it is about: "Spark", "Trino".
	Engines []string `json:"engines"`
	// Column is the column that it is about.
	Column string `json:"column"`
	// Text says what these engines do, and what may be done about it.
	Text string `json:"text"`
}

func (w Warning) String() string {
	return fmt.Sprintf("%s: column %q: %s", strings.Join(w.Engines, ", "), w.Column, w.Text)
}

// leaving is a table as a load will leave it, for the rules to look at.
type leaving struct {
	schema *iceberg.Schema
	meta   table.Metadata
	// manifests are those of the base.
	manifests []iceberg.ManifestFile
}

// engineRules are what other engines were seen not to read right. They are few,
// and each is about data that is sound: what no engine could read is refused.
var engineRules = []struct { //nolint:gochecknoglobals // a table that nobody changes
	applies func(leaving, iceberg.NestedField) bool
	engines []string
	text    string
}{
	{
		func(_ leaving, f iceberg.NestedField) bool { return hasType(f.Type, iceberg.PrimitiveTypes.Time) },
		[]string{"Spark"},
		"a time makes the whole table unreadable: keep it as text, or as microseconds in a long",
	},
	{
		func(l leaving, f iceberg.NestedField) bool { return hasTwin(l.schema.Fields(), f) },
		[]string{"Trino", "Hive"},
		"a name that differs from another one's only by case makes the whole table unreadable: rename one",
	},
	{
		func(_ leaving, f iceberg.NestedField) bool { return hasType(f.Type, iceberg.PrimitiveTypes.UUID) },
		[]string{"PyIceberg"},
		"an equality filter on a uuid fails or, on a partition, finds nothing: filter after reading",
	},
	{
		leaving.lacksBound,
		[]string{"Spark", "Trino", "PyIceberg"},
		"another writer left a manifest without a bound of this partition column (as iceberg-go does for the empty text), so filters on it miss rows without an error: let Spark run rewrite_manifests",
	},
}

// warnings are what users of other engines should know of the table; found is
// nil where there is none yet.
func (j *loading) warnings(found *survey) (out []Warning) {
	l := leaving{schema: j.fit.schema, meta: j.planned.Metadata()}
	if found != nil {
		l.manifests = found.manifests
	}
	for _, f := range l.schema.Fields() {
		for _, rule := range engineRules {
			if rule.applies(l, f) {
				out = append(out, Warning{rule.engines, f.Name, rule.text})
			}
		}
	}
	return out
}

// hasType reports whether a type is kind or holds one at any depth.
func hasType(t, kind iceberg.Type) bool {
	nested, ok := t.(iceberg.NestedType)
	if !ok {
		return t.Equals(kind)
	}
	return slices.ContainsFunc(nested.Fields(), func(f iceberg.NestedField) bool { return hasType(f.Type, kind) })
}

// hasTwin reports whether another sibling's name differs from f's only by case,
// or such twins are nested in f.
func hasTwin(siblings []iceberg.NestedField, f iceberg.NestedField) bool {
	if slices.ContainsFunc(siblings, func(x iceberg.NestedField) bool { return x.ID != f.ID && foldName(x.Name) == foldName(f.Name) }) {
		return true
	}
	nested, ok := f.Type.(iceberg.NestedType)
	return ok && slices.ContainsFunc(nested.Fields(), func(x iceberg.NestedField) bool { return hasTwin(nested.Fields(), x) })
}

// lacksBound reports whether a manifest's summary of a partition field of f
// lacks a bound though there are values (pitfall L2): engines take the null for
// "no value". Manifests that calve writes have both.
func (l leaving) lacksBound(f iceberg.NestedField) bool {
	for _, m := range l.manifests {
		spec := l.meta.PartitionSpecByID(int(m.PartitionSpecID()))
		if spec == nil || !live(m) {
			continue
		}
		for i, pf := range spec.Fields() {
			if pf.SourceID() != f.ID || i >= len(m.Partitions()) {
				continue
			}
			s := m.Partitions()[i]
			lower, upper := s.LowerBound != nil, s.UpperBound != nil
			noValue := s.ContainsNull || (s.ContainsNaN != nil && *s.ContainsNaN)
			if lower != upper || (!lower && !noValue) {
				return true
			}
		}
	}
	return false
}
