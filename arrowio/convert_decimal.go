package arrowio

import (
	"math/big"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// fastDecimal reads a decimal without an exponent whose value, in units of
// 10^-scale, fits an int64.
func fastDecimal(b []byte, pos int, precision, scale int32) (v int64, end int, ok bool) {
	neg := b[pos] == '-'
	if neg {
		pos++
	}
	v, whole, fraction, end := digits(b, pos)
	if whole == 0 || fraction > int(scale) || whole+int(scale) > 18 {
		return 0, 0, false
	}
	v *= pow10(int(scale) - fraction)
	if v >= pow10(int(min(precision, 18))) {
		return 0, 0, false
	}
	if neg {
		v = -v
	}
	return v, end, true
}

// parseDecimal reads a decimal exactly, in units of 10^-scale. Zeros after the
// last place that the scale keeps may be there, other digits may not. An
// exponent is taken if the value stays exact.
func parseDecimal(text []byte, precision, scale int32) (decimal128.Num, error) {
	n, ok := splitNumber(text)
	if !ok {
		return decimal128.Num{}, errForm
	}
	significant, exponent := n.normal()
	if len(significant) == 0 {
		return decimal128.Num{}, nil
	}
	shift := exponent + int(scale)
	if shift < 0 {
		return decimal128.Num{}, errInexact
	}
	if len(significant)+shift > int(precision) {
		return decimal128.Num{}, errRange
	}
	// At most 38 digits are left, which 128 bits hold.
	v, _ := new(big.Int).SetString(string(significant), 10)
	v.Mul(v, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(shift)), nil))
	if n.neg {
		v.Neg(v)
	}
	return decimal128.FromBigInt(v), nil
}

// number is the written form of a decimal number:
// whole.fraction * 10^exponent.
type number struct {
	neg             bool
	whole, fraction []byte
	exponent        int
	// point and power say that a point and an exponent were written.
	point, power bool
}

const (
	// longestNumber is the most bytes of a number, lest its exponent and the
	// number of its digits come to the same size.
	longestNumber = 1 << 16
	// maxExponent is where exponents stop to matter: such a number is out of
	// every range, or has no digit that a decimal keeps.
	maxExponent = 1 << 20
)

// splitNumber takes a number apart. It wants a digit before or after the point.
func splitNumber(text []byte) (number, bool) {
	var n number
	if len(text) > longestNumber {
		return n, false
	}
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		n.neg = text[0] == '-'
		text = text[1:]
	}
	n.whole, text = leadingDigits(text)
	if len(text) > 0 && text[0] == '.' {
		n.point = true
		n.fraction, text = leadingDigits(text[1:])
	}
	if len(n.whole)+len(n.fraction) == 0 {
		return n, false
	}
	if len(text) > 0 && (text[0] == 'e' || text[0] == 'E') {
		n.power = true
		return n, n.parseExponent(text[1:])
	}
	return n, len(text) == 0
}

func leadingDigits(text []byte) (digits, rest []byte) {
	i := 0
	for i < len(text) && text[i]-'0' <= 9 {
		i++
	}
	return text[:i], text[i:]
}

func (n *number) parseExponent(text []byte) bool {
	neg := false
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		neg = text[0] == '-'
		text = text[1:]
	}
	digits, rest := leadingDigits(text)
	for _, d := range digits {
		n.exponent = min(n.exponent*10+int(d-'0'), maxExponent)
	}
	if neg {
		n.exponent = -n.exponent
	}
	return len(digits) > 0 && len(rest) == 0
}

// normal returns the digits from the first to the last that is not zero, and
// the power of ten of the last one.
func (n *number) normal() (significant []byte, exponent int) {
	exponent = n.exponent - len(n.fraction)
	all := n.whole
	if len(n.fraction) > 0 {
		all = append(append(make([]byte, 0, len(n.whole)+len(n.fraction)), n.whole...), n.fraction...)
	}
	for len(all) > 0 && all[0] == '0' {
		all = all[1:]
	}
	for len(all) > 0 && all[len(all)-1] == '0' {
		all = all[:len(all)-1]
		exponent++
	}
	return all, exponent
}
