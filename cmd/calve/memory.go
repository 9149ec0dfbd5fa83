package main

import (
	"os"
	"runtime/debug"
)

// boundHeap has memory collected more often before the process outgrows --memory,
// which bounds what a load holds, not what waits to be collected. GOMEMLIMIT, where
// it is set, says otherwise.
func boundHeap(budget byteSize) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if budget == 0 {
		budget = 1 << 30
	}
	debug.SetMemoryLimit(max(int64(budget)/10*7, 256<<20))
}
