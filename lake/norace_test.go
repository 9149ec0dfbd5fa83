//go:build !race

package lake_test

// raceDetector is true where the race detector keeps a shadow of all memory.
const raceDetector = false
