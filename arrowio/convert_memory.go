package arrowio

import (
	"math/bits"
	"sync"
)

// recycler is a [memory.Allocator] that keeps freed memory for the next batch.
// Batches are large and of similar size, so that reading needs little more
// memory than the batches in flight, and the garbage collector has no work.
// It is safe for concurrent use.
type recycler struct {
	mu sync.Mutex
	// free holds freed memory by its size as a power of two.
	free [48][][]byte
	// kept is the size of free, and limit its bound.
	kept, limit int64
	// live is the number of allocations that are not freed.
	live int
}

// smallest is the least size of an allocation as a power of two: Arrow's
// alignment of 64 bytes.
const smallest = 6

func class(size int) int { return max(bits.Len(uint(max(size, 1)-1)), smallest) }

// Allocate returns size bytes with any content.
func (r *recycler) Allocate(size int) []byte {
	k := class(size)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live++
	if n := len(r.free[k]); n > 0 {
		b := r.free[k][n-1]
		r.free[k] = r.free[k][:n-1]
		r.kept -= int64(cap(b))
		return b[:size]
	}
	return make([]byte, size, 1<<k)
}

// Reallocate returns b with a new size.
func (r *recycler) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		return b[:size]
	}
	grown := r.Allocate(size)
	copy(grown, b)
	r.Free(b)
	return grown
}

// Free takes b back, which nobody uses any more.
func (r *recycler) Free(b []byte) {
	if cap(b) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live--
	if r.kept+int64(cap(b)) > r.limit {
		return
	}
	k := class(cap(b))
	r.kept += int64(cap(b))
	r.free[k] = append(r.free[k], b[:cap(b)])
}
