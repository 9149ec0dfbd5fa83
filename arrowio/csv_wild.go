package arrowio

import (
	"bytes"
	"strings"
)

// notText says what b, the start of a file, is if it is not the text that CSV
// is, with what to do; "" if it may be.
func notText(b []byte) string {
	for _, form := range []struct{ start, what string }{
		{"\xff\xfe", "is UTF-16, and CSV must be UTF-8: convert it, as by iconv -f UTF-16 -t UTF-8"},
		{"\xfe\xff", "is UTF-16, and CSV must be UTF-8: convert it, as by iconv -f UTF-16 -t UTF-8"},
		{"\x1f\x8b", "is compressed by gzip, and its name does not say so: let it end in .gz"},
		{"\x28\xb5\x2f\xfd", "is compressed by zstd, and its name does not say so: let it end in .zst"},
		{"PK\x03\x04", "is a ZIP archive, as Excel workbooks are, and no CSV: unpack or export it"},
		{"PAR1", "is a Parquet file, and no CSV: set source.type"},
	} {
		if bytes.HasPrefix(b, []byte(form.start)) {
			return form.what
		}
	}
	return ""
}

// notRecord says what is wrong with a file whose first record has this field;
// "" if nothing is.
func notRecord(text string) string {
	switch {
	case strings.ContainsRune(text, 0):
		return "the first line holds NUL bytes: if the file is UTF-16, convert it, as by iconv -f UTF-16LE -t UTF-8"
	case strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\r"):
		return `the first line holds a carriage return without a newline: if lines end so, convert them, as by tr '\r' '\n'`
	}
	return ""
}
