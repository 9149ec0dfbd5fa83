package arrowio

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"
)

// ordersType is a nested type as tables have them.
func ordersType() arrow.DataType {
	field := func(name string, t arrow.DataType) arrow.Field {
		return arrow.Field{Name: name, Type: t, Nullable: true}
	}
	item := arrow.StructOf(
		arrow.Field{Name: "sku", Type: str},
		field("price", dec18x2),
		field("tags", arrow.ListOf(str)),
	)
	return arrow.StructOf(
		field("items", arrow.ListOf(item)),
		field("notes", arrow.MapOf(str, long)),
		field("at", instant), field("day", arrow.FixedWidthTypes.Date32), field("time", arrow.FixedWidthTypes.Time64us), field("local", wallTime),
		field("id", extensions.NewUUIDType()), field("raw", arrow.BinaryTypes.Binary), field("two", &arrow.FixedSizeBinaryType{ByteWidth: 2}),
		field("n", arrow.PrimitiveTypes.Int32), field("f", arrow.PrimitiveTypes.Float64), field("g", arrow.PrimitiveTypes.Float32), field("b", arrow.FixedWidthTypes.Boolean),
	)
}

func TestNDJSONNested(t *testing.T) {
	t.Parallel()
	schema := fieldsOf("k", long, "o", ordersType())
	wantJSON(t, lines(
		`{"k":1,"o":{"items":[{"sku":"a\"\u00e9","price":9007199254740993.01,"tags":["x",null]},{"price":"1.5","sku":"b"}],"notes":{"p":9007199254740993,"":null}}}`,
		`{"k":2}`,
		`{"k":3,"o":null}`,
		`{"k":4,"o":{}}`,
		`{"k":5,"o":{"items":[],"notes":{},"AT":"2026-05-04T10:00:00+02:00","day":"2026-05-04","time":"10:00:00.5","local":"2026-05-04 10:00","id":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6","raw":"00ff","two":"0102"}}`,
		`{"k":6,"o":{"n":-5,"f":1e3,"g":0.5,"b":true}}`,
	), schema,
		`a.ndjson:1 1 | {"at":null,"b":null,"day":null,"f":null,"g":null,"id":null,"items":[{"price":"9007199254740993.01","sku":"a\"é","tags":["x",null]},{"price":"1.5","sku":"b","tags":null}],"local":null,"n":null,"notes":[{"key":"p","value":9007199254740993},{"key":"","value":null}],"raw":null,"time":null,"two":null}`,
		`a.ndjson:2 2 | (null)`,
		`a.ndjson:3 3 | (null)`,
		`a.ndjson:4 4 | {"at":null,"b":null,"day":null,"f":null,"g":null,"id":null,"items":null,"local":null,"n":null,"notes":null,"raw":null,"time":null,"two":null}`,
		`a.ndjson:5 5 | {"at":"2026-05-04T08:00:00Z","b":null,"day":"2026-05-04","f":null,"g":null,"id":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6","items":[],"local":"2026-05-04T10:00:00","n":null,"notes":[],"raw":"AP8=","time":"10:00:00.5","two":"AQI="}`,
		`a.ndjson:6 6 | {"at":null,"b":true,"day":null,"f":1000,"g":0.5,"id":null,"items":null,"local":null,"n":-5,"notes":null,"raw":null,"time":null,"two":null}`)
}

func TestNDJSONNestedRefusals(t *testing.T) {
	t.Parallel()
	schema := fieldsOf("k", long, "o", ordersType(), "r!", arrow.ListOf(str))
	for _, tt := range []struct{ value, want string }{
		{`5`, `"o": 5 is a number, and the column takes a struct, written in braces`},
		{`[]`, `"o": [] is a list, and the column takes a struct, written in braces`},
		{`{"items":{}}`, `"o.items": {} is an object, and the column takes a list, written in brackets`},
		{`{"items":"[]"}`, `"o.items": "[]" is a string, and the column takes a list, written in brackets`},
		{`{"notes":[]}`, `"o.notes": [] is a list, and the column takes a map, written in braces`},
		{`{"notes":{"a":"5"}}`, `"o.notes.value": "5" is a string, and the column takes a long, written without quotes`},
		{`{"notes":{"a":1,"a":2}}`, `"o": the key "a" occurs twice in an object`},
		{`{"n":2147483648}`, `"o.n": 2147483648 is not an int: out of range`},
		{`{"n":1.0}`, `"o.n": 1.0 is not an int`},
		{`{"items":[{"sku":"a","price":1.005}]}`, `"o.items.element.price": 1.005 is not a decimal(18, 2): it has more digits after the point than the column keeps`},
		{`{"items":[{"sku":null}]}`, `"o.items.element.sku": is null, but the column is required`},
		{`{"items":[{"price":1}]}`, `"o.items.element.sku": an object lacks the key, and the column is required`},
		{`{"items":[{"sku":"a","colour":1}]}`, `"o.items.element": an object has the key "colour", and the column has sku, price, tags: add it to the table, or leave it out of the source`},
		{`{"items":[{"sku":"a","SKU":"b"}]}`, `"o.items.element.sku": the key "SKU" occurs twice in an object, in upper and lower case`},
		{`{"items":[{"sku":"a","sku":"b"}]}`, `"o": the key "sku" occurs twice in an object`},
		{`{"items":[{"sku":"\ud800"}]}`, `"o": {"items":[{"sku":"\ud800"}]}: this is no JSON: invalid surrogate pair ` + "`\\ud800\"}]},\"` in string"},
		{`{"raw":"xyz"}`, `"o.raw": "xyz" is not binary in hexadecimal digits`},
		{`{"two":"01"}`, `"o.two": "01" is not fixed[2] in hexadecimal digits: it has 1 bytes`},
		{`{"n":01}`, `"o": {"n":01}: this is no JSON: invalid character '1' after object value (expecting ',' or '}')`},
		{`{"n":NaN}`, `"o": {"n":NaN}: this is no JSON: invalid character 'N' at start of value`},
	} {
		_, err := rowsOf(t, lines(`{"k":1,"r":[]}`, `{"k":2,"o":`+tt.value+`,"r":[]}`).ndjson(t, 0, NDJSONOptions{}), schema, 1)
		wantError(t, err, `a.ndjson line 2, column `+tt.want)
	}
	_, err := rowsOf(t, lines(`{"k":1,"r":null}`).ndjson(t, 0, NDJSONOptions{}), schema, 1)
	wantError(t, err, `a.ndjson line 1, column "r": is null, but the column is required`)
	_, err = rowsOf(t, lines(`{"k":1}`).ndjson(t, 0, NDJSONOptions{}), schema, 1)
	wantError(t, err, `a.ndjson line 1: the record has no key "r", and the column is required`)

	_, err = rowsOf(t, lines(`{}`).ndjson(t, 0, NDJSONOptions{}), fieldsOf("a", ordersType(), "m", arrow.MapOf(long, str)), 1)
	wantError(t, err, `a.ndjson column "m": a map whose keys are no strings cannot be read from NDJSON, which has objects with text as keys`)
	_, err = rowsOf(t, lines(`{}`).ndjson(t, 0, NDJSONOptions{}), fieldsOf("m", arrow.ListOf(arrow.PrimitiveTypes.Uint8)), 1)
	wantError(t, err, `a.ndjson column "m": columns of type uint8 cannot be read from NDJSON`)
}
