package lake

import (
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
)

// timePartition is a partition field on the time column.
type timePartition struct {
	unit Step
	// moment is true where the column itself is the partition.
	moment bool
}

// timePartitions are those fields of a spec that put rows of one time together.
func timePartitions(spec iceberg.PartitionSpec, timeID int) (out []timePartition) {
	for _, f := range spec.Fields() {
		if len(f.SourceIDs) == 1 && f.SourceIDs[0] == timeID {
			out = append(out, timePartitionsOf(f.Transform.String())...)
		}
	}
	return out
}

// draftedTimePartitions are those of a table that the load would create.
func draftedTimePartitions(l Load) (out []timePartition) {
	exprs := l.PartitionBy
	if exprs == nil {
		exprs = []string{"day(" + l.TimeColumn + ")"}
	}
	for _, expr := range exprs {
		verb, column := "identity", strings.TrimSpace(expr)
		if m := exprForm.FindStringSubmatch(column); m != nil {
			verb, column = strings.TrimSuffix(strings.ToLower(m[1]), "s"), m[3]
		}
		if foldName(column) == foldName(l.windowColumn()) {
			out = append(out, timePartitionsOf(verb)...)
		}
	}
	return out
}

// timePartitionsOf is one or, for a transform that scatters times, none.
func timePartitionsOf(transform string) []timePartition {
	for _, unit := range timeUnits {
		if unit.name == transform {
			return []timePartition{{unit: unit.step, moment: transform == "identity"}}
		}
	}
	return nil
}

// timeUnits are the transforms that keep rows of one time together, finest first.
var timeUnits = []struct { //nolint:gochecknoglobals // a table that nobody changes
	name string
	step Step
}{
	{"identity", Step{}}, {"hour", Step{Time: 3600e9}}, {"day", Step{Days: 1}}, {"month", Step{Months: 1}}, {"year", Step{Years: 1}},
}

// finestUnit is the finest unit of several; zero where there is none.
func finestUnit(fields []timePartition) Step {
	for _, unit := range timeUnits[1:] {
		if slices.ContainsFunc(fields, func(p timePartition) bool { return p.unit == unit.step }) {
			return unit.step
		}
	}
	return Step{}
}
