package arrowio

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

func TestNDJSON(t *testing.T) {
	t.Parallel()
	schema := fieldsOf("id!", long, "s", str, "d", dec18x2, "b", arrow.FixedWidthTypes.Boolean, "f", arrow.PrimitiveTypes.Float64)
	wantJSON(t, memFiles{
		{"a.ndjson", `{"id":1,"s":"a","d":1.5,"b":true,"f":0.5}` + "\n" + `{"id":2,"s":"","d":"2.25","b":false,"f":-1e3}` + "\n"},
		{"b.ndjson", "\xef\xbb\xbf" + ` {"s": "x\"y\u00e9\ud83d\ude00", "id": 3}` + "\r\n\r\n \n" + `{ "more":[1,{"id":2}], "b":null,"id" :4,"d":10 }` + "\n" + `{"id":5}`},
		{"c.ndjson", ""},
		{"d.ndjson", "\n\n"},
	}, schema,
		`a.ndjson:1 1 | "a" | 1.50 | true | 0.5`,
		`a.ndjson:2 2 | "" | 2.25 | false | -1000`,
		`b.ndjson:1 3 | "x\"yé😀" | NULL | (null) | (null)`,
		`b.ndjson:2 4 | NULL | 10.00 | (null) | (null)`,
		`b.ndjson:3 5 | NULL | NULL | (null) | (null)`)
}
