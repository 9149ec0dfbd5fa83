package lake

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPositionsOf counts the rows of a file as a reader does, without those that
// are deleted, and holds the places to what the numbers stand for.
func TestPositionsOf(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		var live, deleted, numbers, want []int64
		for row := range random.Int64N(30) {
			if random.IntN(3) == 0 {
				deleted = append(deleted, row)
			} else {
				live = append(live, row)
			}
		}
		for n, row := range live {
			if random.IntN(2) == 0 {
				numbers, want = append(numbers, int64(n)), append(want, row)
			}
		}
		if got := positionsOf(numbers, deleted); !slices.Equal(got, want) {
			t.Fatalf("positionsOf(%v, %v) = %v, want %v", numbers, deleted, got, want)
		}
	}
}
