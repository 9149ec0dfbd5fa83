package arrowio

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/calve-data/calve/lake"
)

// ColumnOptions says how a column of a source is read, apart from its type. The
// zero value is good for most.
type ColumnOptions struct {
	// Default is what stands where the source has no value: in a NULL cell, and in
	// all rows of a file that lacks the column, be it every one. It is written in
	// the plain form, whatever Format is, and must fit the column's type.
	Default *string
	// Format is how a column of text writes its times, as %d.%m.%Y (see
	// docs/columns.md), or its numbers: how 1234.56 is written there, as 1.234,56.
	// Default: 2026-05-04 10:00:00, and 1234.56.
	Format string
	// Zone is the zone of times that carry none, in a column of instants.
	// Default: such times are refused, or [Config.Zone].
	Zone *time.Location
	// Fold says which instant a time means that clocks show twice.
	Fold Fold
}

// reading is ColumnOptions, understood.
type reading struct {
	zone    *time.Location
	fold    Fold
	times   *timeFormat
	numbers *numberFormat
}

// readings understands the options of columns, whose types may be declared, and
// adds to types those that follow from the options. zone is that of columns
// without one. Its error wraps [lake.ErrUsage].
func readings(options map[string]ColumnOptions, types map[string]arrow.DataType, zone *time.Location) (map[string]reading, error) {
	all := make(map[string]reading, len(options))
	for _, name := range slices.Sorted(maps.Keys(options)) {
		r, err := options[name].reading(types[name])
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", name, err)
		}
		if t := r.impliedType(); types[name] == nil && t != nil {
			types[name] = t
		}
		if t := types[name]; t != nil {
			if err := r.within(t, zone).fits(t); err != nil {
				return nil, fmt.Errorf("column %q: %w: %w", name, err, lake.ErrUsage)
			}
		}
		all[name] = r
	}
	return all, nil
}

// within is r with the given zone where r has none and a column of type t needs one.
func (r reading) within(t arrow.DataType, zone *time.Location) reading {
	if r.zone == nil && kindOf(t) == kindTimestampTZ {
		r.zone = zone
	}
	return r
}

func (o ColumnOptions) reading(t arrow.DataType) (r reading, err error) {
	r.zone, r.fold = o.Zone, o.Fold
	switch {
	case o.Fold != RefuseFold && o.Fold != EarlierFold && o.Fold != LaterFold:
		return r, fmt.Errorf("fold %q is unknown: there are earlier and later: %w", o.Fold, lake.ErrUsage)
	case o.Fold != RefuseFold && o.Zone == nil:
		return r, fmt.Errorf("fold %s needs the time zone whose clocks are set back: %w", o.Fold, lake.ErrUsage)
	case o.Format == "":
		return r, nil
	}
	if t != nil && !isNumeral(t) && !isTime(t) {
		return r, fmt.Errorf("format %q is for times and numbers, and the type is %s: %w", o.Format, icebergWord(t), lake.ErrUsage)
	}
	if isNumeral(t) || t == nil && !strings.Contains(o.Format, "%") && !strings.HasPrefix(o.Format, "unix") {
		r.numbers, err = compileNumber(o.Format)
		return r, err
	}
	r.times, err = compileTime(o.Format)
	return r, err
}

// impliedType is the type of a column that declares none, or nil.
func (r reading) impliedType() arrow.DataType {
	switch f := r.times; {
	case r.zone != nil, f != nil && f.zoned:
		return timestamptzType
	case f == nil:
		return nil
	case !f.date:
		return arrow.FixedWidthTypes.Time64us
	case !f.clock:
		return arrow.FixedWidthTypes.Date32
	}
	return timestampType
}

// fits says why a column of type t cannot be read so.
func (r reading) fits(t arrow.DataType) error {
	kind, f := kindOf(t), r.times
	switch {
	case r.zone != nil && kind != kindTimestampTZ:
		return fmt.Errorf("a time zone makes instants, and the type is %s: it must be timestamptz", icebergWord(t))
	case r.numbers != nil && !isNumeral(t):
		return fmt.Errorf("the format %s is for numbers, and the type is %s", r.numbers.example, icebergWord(t))
	case f == nil:
		return nil
	}
	bad := func(why string) error {
		return fmt.Errorf("the format %s does not fit %s: %s", f.text, icebergWord(t), why)
	}
	switch kind {
	case kindDate:
		if f.clock || !f.date {
			return bad("it must have a date, and nothing else")
		}
	case kindTime:
		if f.date || !f.clock {
			return bad("it must have a time of day, and nothing else")
		}
	case kindTimestamp:
		if !f.date || f.zoned {
			return bad("it must have a date, and neither an offset nor a zone of its own; timestamptz has")
		}
	case kindTimestampTZ:
		if !f.date || !f.zoned && r.zone == nil {
			return bad("it must have a date, and an offset (%z) unless the time zone is declared")
		}
	default:
		return bad("it is for date, time, timestamp and timestamptz")
	}
	return nil
}

func isTime(t arrow.DataType) bool {
	switch kindOf(t) {
	case kindDate, kindTime, kindTimestamp, kindTimestampTZ:
		return true
	}
	return false
}

// isNumeral reports whether t is a type of numbers.
func isNumeral(t arrow.DataType) bool {
	return t != nil && slices.Contains([]kind{kindInt32, kindInt64, kindFloat32, kindFloat64, kindDecimal}, kindOf(t))
}

// use makes c read text as r says, and numbers in the given format. What does
// not fit c's type is left alone.
func (c *column) use(r reading, numbers *numberFormat) {
	c.zone, c.fold = r.zone, r.fold
	switch c.kind {
	case kindDate, kindTime, kindTimestamp, kindTimestampTZ:
		if c.times = r.times; c.times != nil {
			c.fastKind = kindFormatted
		}
	case kindFloat32, kindFloat64, kindDecimal:
		if !numbers.isPlain() {
			c.numbers, c.fastKind = numbers, kindFormatted
		}
	case kindInt32, kindInt64:
		if !numbers.isPlain() {
			c.numbers = numbers // digits alone are an integer in any format
		}
	}
}

// fastFormatted is fast for columns with a format.
func (c *column) fastFormatted(b []byte, pos, row int) (end int, ok bool) {
	end = endOfText(b, pos, c.delims)
	if b[end] == '\n' && end > pos && b[end-1] == '\r' {
		end--
	}
	return end, c.set(row, b[pos:end]) == nil
}

// setFormatted is set for a column with a format of times.
func (c *column) setFormatted(row int, text []byte) (err error) {
	m, ok := c.times.parse(text)
	if !ok {
		return fmt.Errorf("it is not of the form %s", c.times.text)
	}
	switch c.kind {
	case kindDate:
		c.i32[row] = int32(floorDiv(m.wall, microsPerDay))
	case kindTimestampTZ:
		c.i64[row], err = c.of(m)
	default:
		c.i64[row] = m.wall
	}
	return err
}
