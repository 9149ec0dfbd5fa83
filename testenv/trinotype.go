package testenv

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// trinoType is the type of a column in Trino's protocol.
type trinoType struct {
	RawType   string
	Arguments []struct {
		Kind  string
		Value json.RawMessage
	}
}

// text renders a value of the type as cellText would.
func (t trinoType) text(v any) (string, error) {
	if v == nil {
		return "NULL", nil
	}
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v), nil
	case json.Number:
		if t.RawType == "double" || t.RawType == "real" {
			return t.float(v.String())
		}
		return v.String(), nil
	case []any:
		return t.list(v)
	case string:
		return t.string(v)
	}
	return "", fmt.Errorf("%v is no value of Trino's type %s", v, t.RawType)
}

func (t trinoType) string(v string) (string, error) {
	switch t.RawType {
	case "varchar", "char":
		return strconv.Quote(v), nil
	case "double", "real":
		return t.float(v)
	case "varbinary":
		b, err := base64.StdEncoding.DecodeString(v)
		return hex.EncodeToString(b), err
	case "timestamp":
		at, err := time.Parse("2006-01-02 15:04:05", v)
		return at.Format(wallForm), err
	case "timestamp with time zone":
		at, err := time.Parse("2006-01-02 15:04:05 MST", v)
		return at.UTC().Format(instantForm), err
	}
	return v, nil
}

func (t trinoType) float(text string) (string, error) {
	bits := 64
	if t.RawType == "real" {
		bits = 32
	}
	v, err := strconv.ParseFloat(text, bits)
	return floatText(v, bits), err
}

// list renders an array or a row.
func (t trinoType) list(values []any) (string, error) {
	cells := make([]string, len(values))
	for i, v := range values {
		of := t.Arguments[min(i, len(t.Arguments)-1)].Value
		var field struct {
			FieldName     struct{ Name string }
			TypeSignature trinoType
		}
		inner := &field.TypeSignature
		target := any(&field)
		if t.RawType == "array" {
			target = inner
		}
		if err := json.Unmarshal(of, target); err != nil {
			return "", err
		}
		text, err := inner.text(v)
		if err != nil {
			return "", err
		}
		if t.RawType == "row" {
			text = field.FieldName.Name + ":" + text
		}
		cells[i] = text
	}
	if t.RawType == "row" {
		return "{" + strings.Join(cells, " ") + "}", nil
	}
	return "[" + strings.Join(cells, " ") + "]", nil
}
