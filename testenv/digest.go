package testenv

import (
	"encoding/json"
	"fmt"
	"testing"
)

// WrongDigestVectors has a program in Python recompute golden vectors of the
// digest, as lake/testdata/digest-vectors.json holds and describes them, and
// says what it finds otherwise.
func WrongDigestVectors(tb testing.TB, vectors []byte) (wrong []string) {
	tb.Helper()
	type result struct {
		Name, Digest string
		Encodings    []string
	}
	var want struct{ Vectors []result }
	if err := json.Unmarshal(vectors, &want); err != nil {
		tb.Fatal(err)
	}
	var got []result
	Python(tb).run(tb, "digest.py", string(vectors), &got)
	for i, g := range got {
		if w := want.Vectors[i]; fmt.Sprint(g) != fmt.Sprint(w) {
			wrong = append(wrong, fmt.Sprintf("%s: %s %s, the file has %s %s", g.Name, g.Digest, g.Encodings, w.Digest, w.Encodings))
		}
	}
	if len(got) != len(want.Vectors) {
		wrong = append(wrong, fmt.Sprintf("%d vectors of %d", len(got), len(want.Vectors)))
	}
	return wrong
}
