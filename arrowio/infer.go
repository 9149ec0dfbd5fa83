package arrowio

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/calve-data/calve/lake"
)

// form is what a value of text looks like.
type form uint16

const (
	formText form = 1 << iota
	formBool
	formInteger
	formDecimal
	formDouble
	formDate
	formTimestamp
	formTimestampTZ

	numbers = formInteger | formDecimal | formDouble
)

const (
	maxDigits = 38 // of a decimal
	// intDigits and longDigits are the most digits of which every integer fits an
	// int or a long, and floatDigits those before the point of every number that
	// is in a float's range.
	intDigits   = 9
	longDigits  = 18
	floatDigits = 38
	// doubleDigits is the most digits of which every integer is exact as a double.
	doubleDigits = 15
)

// shape is what is known of a column's values. Shapes only grow: the shape of
// all values is the join of the shapes of any parts, in any order.
type shape struct {
	forms form
	// whole is the most digits before a point, integer the same of integers
	// alone, and fraction the most digits after it.
	whole, integer, fraction int
	// big says that an integer does not fit a long, long that one does not fit an
	// int, and double that a number is out of a float's range.
	big, long, double bool
}

func (s shape) join(t shape) shape {
	return shape{
		forms:    s.forms | t.forms,
		whole:    max(s.whole, t.whole),
		integer:  max(s.integer, t.integer),
		fraction: max(s.fraction, t.fraction),
		big:      s.big || t.big,
		long:     s.long || t.long,
		double:   s.double || t.double,
	}
}

// isText reports whether no more values can change the type.
func (s shape) isText() bool { return s.forms&formText != 0 }

// dataType returns the narrowest type that holds all values without loss,
// which is text if there is none.
func (s shape) dataType() arrow.DataType {
	switch s.forms {
	case formBool:
		return arrow.FixedWidthTypes.Boolean
	case formDate:
		return arrow.FixedWidthTypes.Date32
	case formTimestamp, formTimestamp | formDate:
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	case formTimestampTZ:
		return arrow.FixedWidthTypes.Timestamp_us
	}
	if s.forms == 0 || s.forms&^numbers != 0 {
		return arrow.BinaryTypes.String
	}
	return s.numberType()
}

func (s shape) numberType() arrow.DataType {
	digits := s.whole + s.fraction
	switch {
	case s.forms&formDouble != 0 && s.integer > doubleDigits:
		return arrow.BinaryTypes.String
	case s.forms&formDouble != 0:
		return arrow.PrimitiveTypes.Float64
	case s.forms == formInteger && !s.big:
		return arrow.PrimitiveTypes.Int64
	case digits > maxDigits:
		return arrow.BinaryTypes.String
	case digits > longDigits || s.forms == formInteger:
		return &arrow.Decimal128Type{Precision: maxDigits, Scale: int32(s.fraction)}
	}
	return &arrow.Decimal128Type{Precision: longDigits, Scale: int32(s.fraction)}
}

// shapeOf returns the shape of one value.
func shapeOf(text []byte) shape {
	if n, ok := splitNumber(text); ok {
		return n.shape(text)
	}
	if m, ok := parseMoment(text); ok {
		return m.shape()
	}
	if isWord(text, "true") || isWord(text, "false") {
		return shape{forms: formBool}
	}
	if _, err := parseFloat(text, 64); err == nil {
		return shape{forms: formDouble} // NaN and the infinities
	}
	return shape{forms: formText}
}

func (m moment) shape() shape {
	switch {
	case m.date:
		return shape{forms: formDate}
	case m.zoned:
		return shape{forms: formTimestampTZ}
	}
	return shape{forms: formTimestamp}
}

// shape returns the shape of a number that is written as text. A leading zero
// or plus would be lost in a number, so such a value is text, as are postal
// codes and telephone numbers.
func (n *number) shape(text []byte) shape {
	if text[0] == '+' || len(n.whole) > 1 && n.whole[0] == '0' {
		return shape{forms: formText}
	}
	switch {
	case n.power:
		if _, err := parseFloat(text, 64); err != nil {
			return shape{forms: formText}
		}
		return shape{forms: formDouble, double: beyondFloat(text)}
	case n.point:
		return shape{forms: formDecimal, whole: len(n.whole), fraction: len(n.fraction), double: len(n.whole) > floatDigits && beyondFloat(text)}
	}
	s := shape{forms: formInteger, whole: len(n.whole), integer: len(n.whole)}
	if len(n.whole) > intDigits {
		_, err := parseInt(text, 32)
		s.long = err != nil
	}
	if len(n.whole) > longDigits {
		_, err := parseInt(text, 64)
		s.big = err != nil
		s.double = len(n.whole) > floatDigits && beyondFloat(text)
	}
	return s
}

// beyondFloat reports whether a number is out of a float's range.
func beyondFloat(text []byte) bool {
	_, err := parseFloat(text, 32)
	return err != nil
}

// sighting is the first value that gave a column a larger shape.
type sighting struct {
	shape shape
	text  string // quoted, for people
	file  string
	line  int64
}

func (s sighting) String() string { return fmt.Sprintf("%s at %s line %d", s.text, s.file, s.line) }

// evidence is what was seen of a column in some run of values.
type evidence struct {
	shape shape
	// steps are the sightings in the order of the values. There are few: each
	// made the shape larger.
	steps []sighting
}

// add adds a value of shape s. Where it matters, see says which value it is.
func (e *evidence) add(s shape, see func() sighting) {
	joined := e.shape.join(s)
	if joined == e.shape {
		return
	}
	step := see()
	step.shape = s
	e.shape, e.steps = joined, append(e.steps, step)
}

// follow adds the evidence of the values that come next.
func (e *evidence) follow(next evidence) {
	for _, s := range next.steps {
		e.add(s.shape, func() sighting { return s })
	}
}

// verdict returns the type of all values and the first value at which it was
// settled.
func (e *evidence) verdict() (t arrow.DataType, why string) {
	if len(e.steps) == 0 {
		return arrow.BinaryTypes.String, "no value in any file"
	}
	t = e.shape.dataType()
	var decisive sighting
	var seen shape
	settled := false
	for _, s := range e.steps {
		seen = seen.join(s.shape)
		same := arrow.TypeEqual(seen.dataType(), t)
		if same && !settled {
			decisive = s
		}
		settled = same
	}
	return t, decisive.String()
}

// sightings are the numbers seen that are larger than all before them.
func (e *evidence) sightings() []lake.Sighting {
	seen := []lake.Sighting{}
	for _, s := range e.steps {
		if s.shape.forms&numbers != 0 {
			seen = append(seen, lake.Sighting{Digits: s.shape.whole, Long: s.shape.long, Double: s.shape.double, At: s.String()})
		}
	}
	return seen
}
