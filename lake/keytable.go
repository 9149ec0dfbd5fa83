package lake

import (
	"bytes"
	"math/bits"
	"slices"

	"github.com/zeebo/xxh3"
)

// keyTable holds the keys of a source, each with the row that is the newest of
// it. Keys are compared whole; their hashes only say where to look.
type keyTable struct {
	slots   []int32 // index of an entry + 1, 0: free; a power of two
	entries []keyEntry
	arena   []byte // keys and versions
	rows    int64  // of which the entries are the newest
	// conflicts are rows that have the key of an entry and other values, in mode
	// append.
	conflicts []conflict
}

type conflict struct {
	row   int64
	entry int
}

// keyEntry is one key with its newest row.
type keyEntry struct {
	hash    uint64
	key     span32
	version span32
	// row is the number of the row among those of the source, content the hash of
	// its values.
	row     int64
	content xxh3.Uint128
	// deleted is true where the row is a deletion.
	deleted bool
}

// span32 is a part of the arena.
type span32 struct {
	at   int64
	size int32
}

// keyEntryBytes is about what an entry takes beside its key and version.
const keyEntryBytes = 96

func (t *keyTable) bytes(s span32) []byte { return t.arena[s.at : s.at+int64(s.size)] }

func (t *keyTable) keep(raw []byte) span32 {
	s := span32{int64(len(t.arena)), int32(len(raw))}
	t.arena = append(t.arena, raw...)
	return s
}

// find returns the index of a key; -1 where it is not there.
func (t *keyTable) find(hash uint64, key []byte) int {
	if len(t.slots) == 0 {
		return -1
	}
	mask := uint64(len(t.slots) - 1)
	for s := hash & mask; t.slots[s] != 0; s = (s + 1) & mask {
		e := &t.entries[t.slots[s]-1]
		if e.hash == hash && bytes.Equal(t.bytes(e.key), key) {
			return int(t.slots[s] - 1)
		}
	}
	return -1
}

// insert adds a key that is not there.
func (t *keyTable) insert(e keyEntry, key, version []byte) int {
	if 2*(len(t.entries)+1) > len(t.slots) {
		t.grow()
	}
	e.key, e.version = t.keep(key), t.keep(version)
	t.entries = append(t.entries, e)
	t.place(len(t.entries) - 1)
	return len(t.entries) - 1
}

func (t *keyTable) place(i int) {
	mask := uint64(len(t.slots) - 1)
	s := t.entries[i].hash & mask
	for t.slots[s] != 0 {
		s = (s + 1) & mask
	}
	t.slots[s] = int32(i + 1)
}

func (t *keyTable) grow() {
	t.slots = make([]int32, max(1024, 1<<bits.Len(uint(4*len(t.entries)))))
	for i := range t.entries {
		t.place(i)
	}
}

// renew gives an entry a newer row.
func (t *keyTable) renew(i int, e keyEntry, version []byte) {
	old := t.entries[i]
	e.hash, e.key, e.version = old.hash, old.key, old.version
	if int(e.version.size) == len(version) {
		copy(t.bytes(e.version), version)
	} else {
		e.version = t.keep(version)
	}
	t.entries[i] = e
}

// sortedColumn are the distinct values of one column of the keys, in order.
func (t *keyTable) sortedColumn(o *ordering, column int) [][]byte {
	values := make([][]byte, len(t.entries))
	for i := range t.entries {
		values[i] = o.column(t.bytes(t.entries[i].key), column)
	}
	slices.SortFunc(values, bytes.Compare)
	return slices.CompactFunc(values, bytes.Equal)
}

// anyWithin reports whether a sorted value is within the bounds, which are in.
func anyWithin(values [][]byte, low, high []byte) bool {
	i, _ := slices.BinarySearchFunc(values, low, bytes.Compare)
	return i < len(values) && bytes.Compare(values[i], high) <= 0
}
