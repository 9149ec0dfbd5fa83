package lake

import (
	"slices"
	"testing"
)

func TestObjectKey(t *testing.T) {
	t.Parallel()
	same := [][]string{
		{"s3://b/wh/t/data/x.parquet", "s3a://b/wh/t/data/x.parquet", "s3n://b/wh/t/data/x.parquet", "s3://b/wh//t/data/x.parquet"},
		{"file:///wh/a b/x", "file:///wh/a%20b/x", "/wh/a b/x", "file:/wh/a%20b/x", "file:///wh/./a b/x"},
		{"file:///wh/a%23b", "/wh/a#b"},
	}
	for _, group := range same {
		for _, location := range group[1:] {
			if objectKey(location) != objectKey(group[0]) {
				t.Errorf("%q is %q, %q is %q", location, objectKey(location), group[0], objectKey(group[0]))
			}
		}
	}
	for _, pair := range [][2]string{
		{"s3://b/a%20b", "s3://b/a b"}, // the keys of a store are raw
		{"s3://b/A", "s3://b/a"},
		{"s3://b/x", "s3://c/x"},
		{"s3://b/x", "gs://b/x"},
		{"/wh/a%20b", "/wh/a b"},
	} {
		if objectKey(pair[0]) == objectKey(pair[1]) {
			t.Errorf("%q and %q are one", pair[0], pair[1])
		}
	}
	// What names a file to an engine that decodes nothing is protected too.
	if got := objectKeys("file:///wh/a%20b"); !slices.Equal(got, []string{"file:/wh/a b", "file:/wh/a%20b"}) {
		t.Errorf("objectKeys = %q", got)
	}
}

func TestBelow(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		location, folder string
		want             bool
	}{
		{"s3://b/wh/orders/data/x", "s3://b/wh/orders", true},
		{"s3a://b/wh/orders/data/x", "s3://b/wh/orders/", true},
		{"s3://b/wh/orders2/data/x", "s3://b/wh/orders", false},
		{"s3://b/wh/orders/../orders2/x", "s3://b/wh/orders", false},
		{"s3://b/wh/orders", "s3://b/wh/orders", false},
		{"s3://c/wh/orders/x", "s3://b/wh/orders", false},
		{"s3://b/x", "s3://b/", true},
		{"/wh/a b/t/x", "file:///wh/a%20b/t", true},
	} {
		if got := below(objectKey(tc.location), tc.folder); got != tc.want {
			t.Errorf("below(%q, %q) = %v", tc.location, tc.folder, got)
		}
	}
}

func TestStagedBy(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"s3://b/t/data/day=1/calve-payments-0123456789abcdef-12.parquet":   "payments",
		"/t/metadata/calve-a-b_c-0123456789abcdef-1.avro":                  "a-b_c",
		"/t/metadata/snap-77-calve-payments-0123456789abcdef-1.avro":       "payments",
		"/t/data/calve-payments-0123456789abcde-1.parquet":                 "",
		"/t/data/calve-payments-0123456789abcdef.parquet":                  "",
		"/t/data/xcalve-payments-0123456789abcdef-1.parquet":               "",
		"/t/data/calve-payments-0123456789abcdef-1.parquet.crc":            "",
		"/t/calve-payments-0123456789abcdef-1.parquet/00000-other.parquet": "",
	} {
		if got := stagedBy(name); got != want {
			t.Errorf("stagedBy(%q) = %q, want %q", name, got, want)
		}
	}
}
