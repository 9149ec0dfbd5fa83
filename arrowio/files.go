package arrowio

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/calve-data/calve/lake"
)

// namesShown is how many of the files' names an origin holds: enough to see
// what a pattern found, few enough for a snapshot's summary.
const namesShown = 3

// originOf describes what was listed. The fingerprint changes when any file
// is added, removed or written again.
func originOf(kind, path string, list []lake.File) lake.Origin {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b lake.File) int { return strings.Compare(a.Path, b.Path) })
	origin := lake.Origin{Kind: kind, Path: path, Files: len(list)}
	hash := sha256.New()
	for i, f := range list {
		if i < namesShown {
			origin.Names = append(origin.Names, f.Path)
		}
		origin.Bytes += f.Size
		fmt.Fprintf(hash, "%s\x00%d\x00%s\n", f.Path, f.Size, f.ETag)
	}
	origin.Fingerprint = hex.EncodeToString(hash.Sum(nil))
	return origin
}
