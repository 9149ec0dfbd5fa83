package arrowio

import "encoding/hex"

// parseUUID reads the form 8-4-4-4-12 of hexadecimal digits in any case.
func parseUUID(text []byte) (v [16]byte, err error) {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return v, errForm
	}
	n := 0
	for _, part := range [5][]byte{text[:8], text[9:13], text[14:18], text[19:23], text[24:]} {
		m, err := hex.Decode(v[n:], part)
		if err != nil {
			return v, errForm
		}
		n += m
	}
	return v, nil
}
