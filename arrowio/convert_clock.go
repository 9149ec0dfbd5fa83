package arrowio

import "encoding/binary"

// dayMemo remembers the last date of a column. Rows next to each other are
// mostly of one day, so that comparing ten bytes replaces reading a date.
type dayMemo struct {
	head uint64 // "YYYY-MM-"
	tail uint16 // "DD"
	day  int32
}

func newDayMemo() dayMemo {
	const epoch = "1970-01-01"
	return dayMemo{
		head: binary.LittleEndian.Uint64([]byte(epoch)),
		tail: binary.LittleEndian.Uint16([]byte(epoch[8:])),
	}
}

// fastDate reads the date at b[pos:].
func (m *dayMemo) fastDate(b []byte, pos int) (day int32, end int, ok bool) {
	head, tail := binary.LittleEndian.Uint64(b[pos:]), binary.LittleEndian.Uint16(b[pos+8:])
	if head == m.head && tail == m.tail {
		return m.day, pos + 10, true
	}
	day, ok = dateAt(b[pos : pos+10])
	if ok {
		m.head, m.tail, m.day = head, tail, day
	}
	return day, pos + 10, ok
}

// fastWall reads a date and a time of day with seconds at b[pos:], as
// microseconds since 1970-01-01 00:00.
func (m *dayMemo) fastWall(b []byte, pos int) (us int64, end int, ok bool) {
	day, end, ok := m.fastDate(b, pos)
	if !ok || b[end] != 'T' && b[end] != ' ' {
		return 0, 0, false
	}
	// All eight bytes of "hh:mm:ss" are checked at once: digits become 0 to 9,
	// colons 0.
	x := binary.LittleEndian.Uint64(b[end+1:]) ^ 0x30303a30303a3030
	const colons, highNibbles = 0x0000ff0000ff0000, 0xf0f0f0f0f0f0f0f0
	if (x|(x+eachByte*6))&highNibbles|x&colons != 0 {
		return 0, 0, false
	}
	hour, minute, second := (x&0xff)*10+x>>8&0xff, (x>>24&0xff)*10+x>>32&0xff, (x>>48&0xff)*10+x>>56
	if hour > 23 || minute > 59 || second > 59 {
		return 0, 0, false
	}
	us = int64(day)*microsPerDay + int64(hour*3600+minute*60+second)*microsPerSecond
	end += 9
	if b[end] != '.' {
		return us, end, true
	}
	fraction, end, ok := fastFraction(b, end+1)
	return us + fraction, end, ok
}

// fastFraction reads the digits after the second at b[pos:], six of them in one
// step.
func fastFraction(b []byte, pos int) (us int64, end int, ok bool) {
	x := binary.LittleEndian.Uint64(b[pos:])&0x0000ffffffffffff ^ 0x303030303030
	if (x|(x+0x060606060606))&0xf0f0f0f0f0f0 == 0 && b[pos+6]-'0' > 9 {
		return eightDigits(x << 16), pos + 6, true
	}
	end = pos
	for b[end]-'0' <= 9 {
		end++
	}
	return micros(b[pos:end]), end, end > pos
}
