package lake

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
)

// firstPartitionID is where Iceberg starts to number partition fields.
const firstPartitionID = 1000

var exprForm = regexp.MustCompile(`^([A-Za-z]+)\((?:\s*(\d+)\s*,)?\s*(.+?)\s*\)$`)

// partitionSpec makes the spec of a new table from expressions such as
// day(event_time), bucket(16, id), truncate(4, name) or region. Its error
// wraps ErrUsage.
func partitionSpec(sc *iceberg.Schema, exprs []string) (iceberg.PartitionSpec, error) {
	var fields []iceberg.PartitionField
	for _, expr := range exprs {
		source, transform, err := parsePartition(sc, expr)
		if err != nil {
			return iceberg.PartitionSpec{}, err
		}
		name := partitionName(sc, source, transform, fields)
		fields = append(fields, iceberg.PartitionField{
			SourceIDs: []int{source.ID}, FieldID: firstPartitionID + len(fields), Name: name, Transform: transform,
		})
	}
	return iceberg.NewPartitionSpec(fields...), nil
}

func parsePartition(sc *iceberg.Schema, expr string) (iceberg.NestedField, iceberg.Transform, error) {
	bad := func(why string) (iceberg.NestedField, iceberg.Transform, error) {
		return iceberg.NestedField{}, nil, fmt.Errorf("partition_by %q: %s: %w", expr, why, ErrUsage)
	}
	verb, width, column := "identity", "", strings.TrimSpace(expr)
	if m := exprForm.FindStringSubmatch(column); m != nil {
		verb, width, column = strings.TrimSuffix(strings.ToLower(m[1]), "s"), m[2], m[3]
	}
	source, ok := findField(sc, column)
	if !ok {
		return bad(fmt.Sprintf("no column %q; there are %s", column, columnNames(sc)))
	}
	n, _ := strconv.Atoi(width)
	var t iceberg.Transform
	switch verb {
	case "identity":
		t = iceberg.IdentityTransform{}
	case "year":
		t = iceberg.YearTransform{}
	case "month":
		t = iceberg.MonthTransform{}
	case "day":
		t = iceberg.DayTransform{}
	case "hour":
		t = iceberg.HourTransform{}
	case "bucket":
		t = iceberg.BucketTransform{NumBuckets: n}
	case "truncate":
		t = iceberg.TruncateTransform{Width: n}
	default:
		return bad("the transforms are year, month, day, hour, bucket(N, column), truncate(N, column), or the column alone")
	}
	needsWidth := verb == "bucket" || verb == "truncate"
	if needsWidth != (n > 0) || (!needsWidth && width != "") {
		return bad("bucket and truncate take a number first, as in bucket(16, " + column + "); the others take none")
	}
	if !t.CanTransform(source.Type) {
		return bad(fmt.Sprintf("%s does not work on a column of type %s", verb, source.Type))
	}
	return source, t, nil
}

var (
	notAvro  = regexp.MustCompile(`[^A-Za-z0-9_]`)
	avroName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// partitionName names a partition field as other engines do (event_time_day),
// in characters that Avro accepts: iceberg-go creates a table with another
// name but can never write to it (pitfall L10).
func partitionName(sc *iceberg.Schema, source iceberg.NestedField, t iceberg.Transform, taken []iceberg.PartitionField) string {
	suffix := ""
	switch t.(type) {
	case iceberg.YearTransform:
		suffix = "_year"
	case iceberg.MonthTransform:
		suffix = "_month"
	case iceberg.DayTransform:
		suffix = "_day"
	case iceberg.HourTransform:
		suffix = "_hour"
	case iceberg.BucketTransform:
		suffix = "_bucket"
	case iceberg.TruncateTransform:
		suffix = "_trunc"
	}
	base := notAvro.ReplaceAllString(source.Name, "_") + suffix
	if base[0] >= '0' && base[0] <= '9' {
		base = "_" + base
	}
	name := base
	for n := 2; nameTaken(sc, source, t, taken, name); n++ {
		name = base + "_" + strconv.Itoa(n)
	}
	return name
}

// nameTaken reports whether a partition field may not be called name: another
// one is, or a column is that it is not the identity of.
func nameTaken(sc *iceberg.Schema, source iceberg.NestedField, t iceberg.Transform, taken []iceberg.PartitionField, name string) bool {
	if slices.ContainsFunc(taken, func(f iceberg.PartitionField) bool { return f.Name == name }) {
		return true
	}
	_, identity := t.(iceberg.IdentityTransform)
	field, isColumn := sc.FindFieldByName(name)
	return isColumn && (!identity || field.ID != source.ID)
}

// samePartitioning checks that partition_by, where given, is what the table
// has. Its error wraps ErrUsage.
func samePartitioning(sc *iceberg.Schema, have iceberg.PartitionSpec, exprs []string) error {
	if exprs == nil {
		return nil
	}
	want, err := partitionSpec(sc, exprs)
	if err != nil {
		return err
	}
	if a, b := specText(sc, have), specText(sc, want); !slices.Equal(a, b) {
		return fmt.Errorf("partition_by is [%s], but the table is partitioned by [%s]: leave partition_by out, or change the table with another engine: %w",
			strings.Join(b, ", "), strings.Join(a, ", "), ErrUsage)
	}
	return nil
}

// specText prints the fields of a spec as partition_by writes them.
func specText(sc *iceberg.Schema, spec iceberg.PartitionSpec) []string {
	var out []string
	for _, f := range spec.Fields() {
		name := fmt.Sprint(f.SourceIDs)
		if len(f.SourceIDs) == 1 {
			if n, ok := sc.FindColumnName(f.SourceIDs[0]); ok {
				name = n
			}
		}
		switch t := f.Transform.(type) {
		case iceberg.IdentityTransform:
			out = append(out, name)
		case iceberg.BucketTransform:
			out = append(out, fmt.Sprintf("bucket(%d, %s)", t.NumBuckets, name))
		case iceberg.TruncateTransform:
			out = append(out, fmt.Sprintf("truncate(%d, %s)", t.Width, name))
		case iceberg.VoidTransform:
		default:
			out = append(out, fmt.Sprintf("%s(%s)", t, name))
		}
	}
	return out
}
