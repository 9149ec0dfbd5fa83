package arrowio

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// pow10 returns 10^n for n of 0 to 18.
func pow10(n int) int64 { return int64(decimal128.GetScaleMultiplier(n).LowBits()) }

// fastInt reads an integer of at most 18 digits at b[pos:].
func fastInt(b []byte, pos int) (v int64, end int, ok bool) {
	neg := b[pos] == '-'
	if neg {
		pos++
	}
	// A byte of x is at most 9 where there is a digit. Adding 0x76 sets the high
	// bit of all others; a carry only reaches bytes after the first of them.
	x := binary.LittleEndian.Uint64(b[pos:]) ^ eachByte*'0'
	switch n := bits.TrailingZeros64(((x+eachByte*0x76)|x)&highBits) >> 3; n {
	case 0:
		return 0, 0, false
	case 8:
		v, end, ok = longInt(b, pos)
	default:
		v, end, ok = eightDigits(x<<(64-8*n)), pos+n, true
	}
	if neg {
		v = -v
	}
	return v, end, ok
}

// longInt reads 8 to 18 digits.
func longInt(b []byte, pos int) (v int64, end int, ok bool) {
	end = pos
	for b[end]-'0' <= 9 {
		v = v*10 + int64(b[end]-'0')
		end++
	}
	return v, end, end-pos <= 18
}

// eightDigits returns the number whose digits are the bytes of x, the first in
// the lowest byte.
func eightDigits(x uint64) int64 {
	const mask = 0x000000ff000000ff
	x = x*10 + x>>8
	return int64(((x&mask)*0x000f424000000064 + (x>>16&mask)*0x0000271000000001) >> 32)
}

// parseInt reads an integer of so many bits. A sign and leading zeros are
// allowed, anything else is not.
func parseInt(text []byte, size int) (int64, error) {
	v, err := strconv.ParseInt(string(text), 10, size)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, errRange
	case err != nil:
		return 0, errForm
	}
	return v, nil
}

// fastFloat reads a number of at most 15 digits without an exponent: digits
// and power of ten are exact as doubles, so one division rounds correctly.
func fastFloat(b []byte, pos int) (v float64, end int, ok bool) {
	neg := b[pos] == '-'
	if neg {
		pos++
	}
	u, whole, fraction, end := digits(b, pos)
	if whole == 0 || whole+fraction > 15 {
		return 0, 0, false
	}
	v = float64(u) / float64(pow10(fraction))
	if neg {
		v = -v
	}
	return v, end, true
}

// digits reads digits with or without a point in between and counts those
// before and after it. The value is right up to 18 digits.
func digits(b []byte, pos int) (v int64, whole, fraction, end int) {
	end = pos
	for b[end]-'0' <= 9 {
		v = v*10 + int64(b[end]-'0')
		end++
	}
	whole = end - pos
	if b[end] != '.' {
		return v, whole, 0, end
	}
	end++
	point := end
	for b[end]-'0' <= 9 {
		v = v*10 + int64(b[end]-'0')
		end++
	}
	return v, whole, end - point, end
}

// parseFloat reads a decimal number, NaN or an infinity, rounded to the nearest
// of so many bits.
func parseFloat(text []byte, size int) (float64, error) {
	for _, ch := range text {
		// strconv reads these too, but they are the syntax of programs.
		if ch == '_' || ch == 'x' || ch == 'X' {
			return 0, errForm
		}
	}
	v, err := strconv.ParseFloat(string(text), size)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, errRange
	case err != nil:
		return 0, errForm
	}
	return v, nil
}

// parseBool reads true, t, 1, false, f and 0 in any case.
func parseBool(text []byte) (bool, error) {
	switch {
	case isWord(text, "true"), isWord(text, "t"), isWord(text, "1"):
		return true, nil
	case isWord(text, "false"), isWord(text, "f"), isWord(text, "0"):
		return false, nil
	}
	return false, errForm
}

// isWord reports whether text is the lower-case ASCII word, in any case.
func isWord(text []byte, word string) bool {
	if len(text) != len(word) {
		return false
	}
	for i, ch := range text {
		if 'A' <= ch && ch <= 'Z' {
			ch += 'a' - 'A'
		}
		if ch != word[i] {
			return false
		}
	}
	return true
}
