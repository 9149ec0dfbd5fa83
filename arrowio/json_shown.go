package arrowio

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shownAt shows what is written at pos, see [shownStart].
func (p *jsonParser) shownAt(pos int) string { return shownStart(p.lineAfter(pos)) }

// shownStart shows what the rest of a line begins with: a value, or a word that
// is none.
func shownStart(rest []byte) string {
	if len(rest) == 0 {
		return "the end of the line"
	}
	n := len(rest)
	switch rest[0] {
	case '"':
		n = quotedLen(rest)
	case '{', '[':
		n = nestedLen(rest)
	default:
		if i := bytes.IndexAny(rest, ",}] \t\r"); i >= 0 {
			n = max(i, 1)
		}
	}
	return shownRaw(rest[:n])
}

// nestedLen returns the length of the object or list that text begins with.
func nestedLen(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i += quotedLen(text[i:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

// quotedLen returns the length of the string that text begins with.
func quotedLen(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// shownRaw shows JSON as it is written, cut, and what cannot be printed as Go
// writes it.
func shownRaw(text []byte) string {
	more := ""
	if len(text) > shownBytes {
		text, more = text[:shownBytes], "..."
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n == 1 || !unicode.IsPrint(r) {
			q := strconv.Quote(string(text[:n]))
			b.WriteString(q[1 : len(q)-1])
		} else {
			b.WriteRune(r)
		}
		text = text[n:]
	}
	return b.String() + more
}

// shownToken shows a value as an error names it.
func shownToken(t token) string {
	if t.form == jsonString {
		return shown(t.text)
	}
	return shownRaw(t.text)
}
