package arrowio

import (
	"encoding/hex"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
)

// scalar appends a value that is no list and no object, or says why not.
func (n *node) scalar(t token) error {
	if t.form == jsonNull {
		if !n.nullable {
			return &cellProblem{n.path, errNullCell.Error()}
		}
		n.builder.AppendNull()
		return nil
	}
	if why := refuses(n.typ, n.kind, t.form); why != "" {
		return &cellProblem{n.path, shownToken(t) + why}
	}
	if err := n.append(t.text); err != nil {
		return &cellProblem{n.path, misfit(t, n.typ, err)}
	}
	return nil
}

// append converts text, exactly, or says why not.
func (n *node) append(text []byte) error {
	switch b := n.builder.(type) {
	case *array.StringBuilder:
		b.BinaryBuilder.Append(text)
		return nil
	case *array.BooleanBuilder:
		v, err := parseBool(text)
		b.Append(v)
		return err
	case *array.Int32Builder:
		v, err := parseInt(text, 32)
		b.Append(int32(v))
		return err
	case *array.Int64Builder:
		v, err := parseInt(text, 64)
		b.Append(v)
		return err
	case *array.Float32Builder:
		v, err := parseFloat(text, 32)
		b.Append(float32(v))
		return err
	case *array.Float64Builder:
		v, err := parseFloat(text, 64)
		b.Append(v)
		return err
	case *array.Decimal128Builder:
		t := n.typ.(*arrow.Decimal128Type)
		v, err := parseDecimal(text, t.Precision, t.Scale)
		b.Append(v)
		return err
	case *extensions.UUIDBuilder:
		v, err := parseUUID(text)
		b.AppendBytes(v)
		return err
	}
	return n.appendTime(text)
}

// appendTime is append for the types of the calendar and the clock, and bytes.
func (n *node) appendTime(text []byte) error {
	switch b := n.builder.(type) {
	case *array.Date32Builder:
		v, err := parseDate(text)
		b.Append(arrow.Date32(v))
		return err
	case *array.Time64Builder:
		v, err := parseTime(text)
		b.Append(arrow.Time64(v))
		return err
	case *array.TimestampBuilder:
		v, err := parseTimestamp(text)
		if n.kind == kindTimestampTZ {
			v, err = parseInstant(text, n.zone)
		}
		b.Append(arrow.Timestamp(v))
		return err
	case *array.BinaryBuilder:
		v, err := parseHex(text)
		b.Append(v)
		return err
	case *array.FixedSizeBinaryBuilder:
		v, err := parseHex(text)
		if width := n.typ.(*arrow.FixedSizeBinaryType).ByteWidth; err == nil && len(v) != width {
			return fmt.Errorf("it has %d bytes", len(v))
		}
		b.Append(v)
		return err
	}
	return errForm
}

// parseHex reads bytes as Iceberg writes them in JSON: by two hexadecimal digits.
func parseHex(text []byte) ([]byte, error) {
	v := make([]byte, hex.DecodedLen(len(text)))
	if _, err := hex.Decode(v, text); err != nil {
		return nil, errForm
	}
	return v, nil
}
