package arrowio

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/calve-data/calve/lake"
)

// inputError is what is wrong with the text of a source. It wraps
// [lake.ErrInput] without repeating its words.
type inputError struct{ text string }

func (e *inputError) Error() string { return e.text }
func (e *inputError) Unwrap() error { return lake.ErrInput }

func inputErrorf(format string, args ...any) error {
	return &inputError{fmt.Sprintf(format, args...)}
}

// shownBytes is how much of a bad value an error shows.
const shownBytes = 60

// shown quotes a value for people and cuts it.
func shown(text []byte) string {
	if len(text) > shownBytes {
		return strconv.Quote(string(text[:shownBytes])) + "..."
	}
	return strconv.Quote(string(text))
}

// badValue says that text is not of type t. The form speaks for itself, so
// only other reasons are added.
func badValue(text []byte, t arrow.DataType, why error) string {
	s := shown(text) + " is not " + typeName(t)
	if errors.Is(why, errForm) {
		return s
	}
	return s + ": " + why.Error()
}

// typeName names t in Iceberg's words, with an article.
func typeName(t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.BooleanType:
		return "a boolean"
	case *arrow.Int32Type:
		return "an int"
	case *arrow.Int64Type:
		return "a long"
	case *arrow.Float32Type:
		return "a float"
	case *arrow.Float64Type:
		return "a double"
	case *arrow.Decimal128Type:
		return fmt.Sprintf("a decimal(%d, %d)", t.Precision, t.Scale)
	case *arrow.Date32Type:
		return "a date"
	case *arrow.Time64Type:
		return "a time"
	case *arrow.TimestampType:
		if t.TimeZone == "" {
			return "a timestamp"
		}
		return "a timestamptz"
	case *arrow.StringType:
		return "a string"
	}
	if kindOf(t) == kindUUID {
		return "a uuid"
	}
	return "a " + t.String()
}

// columnsOf names the columns of a type that text cannot become.
func columnsOf(t arrow.DataType) string {
	switch t.(type) {
	case *arrow.BinaryType, *arrow.LargeBinaryType:
		return "binary columns"
	case *arrow.FixedSizeBinaryType:
		return "fixed columns"
	}
	return "columns of type " + t.String()
}
