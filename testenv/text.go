package testenv

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
)

const (
	instantForm = "2006-01-02T15:04:05.999999999Z"
	wallForm    = "2006-01-02T15:04:05.999999999"
	dateForm    = "2006-01-02"
)

// Text returns the rows of the batches as text, sorted. It is the form that
// every reader of the package uses.
func Text(batches ...arrow.RecordBatch) []string {
	var rows []string
	for _, b := range batches {
		for i := range int(b.NumRows()) {
			cells := make([]string, b.NumCols())
			for c, col := range b.Columns() {
				cells[c] = cellText(col, i)
			}
			rows = append(rows, strings.Join(cells, " "))
		}
	}
	slices.Sort(rows)
	return rows
}

func cellText(col arrow.Array, i int) string {
	if col.IsNull(i) {
		return "NULL"
	}
	switch a := col.(type) {
	case *array.Dictionary:
		return cellText(a.Dictionary(), a.GetValueIndex(i))
	case *array.String:
		return strconv.Quote(a.Value(i))
	case *array.LargeString:
		return strconv.Quote(a.Value(i))
	case *array.StringView:
		return strconv.Quote(a.Value(i))
	case *array.Binary:
		return hex.EncodeToString(a.Value(i))
	case *array.LargeBinary:
		return hex.EncodeToString(a.Value(i))
	case *array.FixedSizeBinary:
		return hex.EncodeToString(a.Value(i))
	case *extensions.UUIDArray:
		return a.Value(i).String()
	case *array.Float32:
		return floatText(float64(a.Value(i)), 32)
	case *array.Float64:
		return floatText(a.Value(i), 64)
	case *array.Date32:
		return a.Value(i).ToTime().Format(dateForm)
	case *array.Timestamp:
		typ := a.DataType().(*arrow.TimestampType)
		at := a.Value(i).ToTime(typ.Unit)
		if typ.TimeZone != "" {
			return at.Format(instantForm)
		}
		return at.Format(wallForm)
	case *array.Decimal128:
		return a.Value(i).ToString(a.DataType().(*arrow.Decimal128Type).Scale)
	case array.ListLike:
		from, to := a.ValueOffsets(i)
		return listText(a.ListValues(), int(from), int(to))
	case *array.Struct:
		cells := make([]string, a.NumField())
		for f := range cells {
			cells[f] = a.DataType().(*arrow.StructType).Field(f).Name + ":" + cellText(a.Field(f), i)
		}
		return "{" + strings.Join(cells, " ") + "}"
	}
	return col.ValueStr(i)
}

func listText(values arrow.Array, from, to int) string {
	cells := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		cells = append(cells, cellText(values, i))
	}
	return "[" + strings.Join(cells, " ") + "]"
}

func floatText(v float64, bits int) string { return strconv.FormatFloat(v, 'g', -1, bits) }

// jsonText renders a cell that one of the scripts in py sent, as cellText would.
func jsonText(raw json.RawMessage) (string, error) {
	var cell any
	if err := json.Unmarshal(raw, &cell); err != nil {
		return "", err
	}
	return taggedText(cell)
}

// taggedText: null, "s:text", "f:float", "i:instant", "v:as it is", a list of
// cells, or {"name": cell}.
func taggedText(cell any) (string, error) {
	switch c := cell.(type) {
	case nil:
		return "NULL", nil
	case []any:
		cells := make([]string, len(c))
		for i, v := range c {
			text, err := taggedText(v)
			if err != nil {
				return "", err
			}
			cells[i] = text
		}
		if len(c) > 0 {
			if _, field := c[0].(map[string]any); field {
				return "{" + strings.Join(cells, " ") + "}", nil
			}
		}
		return "[" + strings.Join(cells, " ") + "]", nil
	case map[string]any:
		for name, v := range c {
			text, err := taggedText(v)
			return name + ":" + text, err
		}
	case string:
		tag, text, _ := strings.Cut(c, ":")
		switch tag {
		case "s":
			return strconv.Quote(text), nil
		case "v":
			return text, nil
		case "f":
			v, err := strconv.ParseFloat(text, 64)
			return floatText(v, 64), err
		case "i":
			at, err := time.Parse(time.RFC3339Nano, text)
			return at.UTC().Format(instantForm), err
		case "w":
			at, err := time.Parse(wallForm, text)
			return at.Format(wallForm), err
		}
	}
	return "", fmt.Errorf("%v is not a cell", cell)
}
