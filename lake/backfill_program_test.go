package lake_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// killable is a backfill of days of May that the program runs, with its store
// behind a gate.
type killable struct {
	*events
	cat *testenv.AnyCatalog
	dir string
}

const killableDays = 6

func newKillable(t *testing.T, s3 *testenv.S3, name string) *killable {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: this happens in processes of the program, which the race detector does not see; it runs without -short")
	}
	cat := testenv.SQLiteOn(t, s3)
	k := &killable{events: newEventsIn(t, cat, name), cat: cat, dir: t.TempDir()}
	if err := os.Mkdir(filepath.Join(k.dir, "raw"), 0o755); err != nil {
		t.Fatal(err)
	}
	for day := 1; day <= killableDays; day++ {
		text := "id,event_time,region,value\n"
		for i := range day {
			text += fmt.Sprintf("%d,%sT%02d:00:00Z,eu,%d\n", 100*day+i, mayDay(day), i, day)
		}
		k.write("raw/"+mayDay(day)+".csv", text)
		k.model.Append(dayRows(day)...)
	}
	return k
}

func (k *killable) write(name, text string) {
	k.tb.Helper()
	if err := os.WriteFile(filepath.Join(k.dir, name), []byte(text), 0o644); err != nil {
		k.tb.Fatal(err)
	}
}

// start starts the program behind a gate, whose hooks are set.
func (k *killable) start(g *testenv.Gate, flags ...string) *testenv.Process {
	k.tb.Helper()
	k.write("calve.yaml", fmt.Sprintf(`catalog:
  type: %s
  uri: %q
  warehouse: %q
  s3: {endpoint: %q, region: %q, access_key_id: %q, secret_access_key: %q}
loads:
  %s:
    table: %s
    time_column: event_time
    source: {path: "raw/{day:%%Y-%%m-%%d}.csv"}
`, k.cat.Config.Type, k.cat.Config.URI, k.cat.Config.Warehouse, g.HTTP(k.tb, "s3", k.cat.S3.Endpoint), k.cat.S3.Region, k.cat.S3.AccessKey, k.cat.S3.SecretKey,
		k.load.Table[len(k.load.Table)-1], k.load.TableName()))
	args := []string{"backfill", k.load.Table[len(k.load.Table)-1], "--from", mayDay(1), "--to", mayDay(killableDays + 1), "--every", "1d", "--result-file", "receipts"}
	return g.Start(k.tb, k.dir, append(args, flags...)...)
}

// rest runs the backfill again, for what is left, and expects that this is what
// the table does not show, and that all is there then.
func (k *killable) rest() {
	k.tb.Helper()
	there := k.tell()
	end := k.start(testenv.NewGate(k.tb), "--only-gaps").Wait()
	if end.Code != 0 || strings.Count(end.Stdout, "  landed  ") != killableDays-there {
		k.tb.Fatalf("%d windows were there; again: %s", there, end)
	}
	k.tell()
	if got := k.state(k.load.Table[len(k.load.Table)-1]).Coverage.String(); got != "2026-05-01/2026-05-07" {
		k.tb.Errorf("coverage %s", got)
	}
}

// putsNth matches the n-th PUT of an object, from 1.
func putsNth(n int64, ending string) func(testenv.Request) bool {
	var count atomic.Int64
	return func(r testenv.Request) bool {
		path, _, _ := strings.Cut(r.What, "?")
		return strings.HasPrefix(r.What, "PUT ") && strings.HasSuffix(path, ending) && count.Add(1) == n
	}
}

// TestBackfillKilled: the program is killed while it loads windows at the same
// time; run again, it loads what is left, and nothing is lost or doubled.
func TestBackfillKilled(t *testing.T) {
	t.Parallel()
	s3 := testenv.MinIO(t)
	for name, at := range map[string]struct {
		ending string
		n      int64
		after  bool
	}{
		"before the first commit": {".metadata.json", 1, false},
		"after its metadata":      {".metadata.json", 1, true},
		"in a commit":             {".metadata.json", 4, true},
		"staging":                 {".parquet", 4, true},
		"between two manifests":   {".avro", 6, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKillable(t, s3, strings.ReplaceAll(name, " ", "_"))
			g := testenv.NewGate(t)
			match := putsNth(at.n, at.ending)
			strike := func(r testenv.Request) bool {
				if match(r) {
					g.Process().Kill()
					return false
				}
				return true
			}
			if g.Before = strike; at.after {
				g.Before, g.After = nil, strike
			}
			if end := k.start(g, "--parallel", "3").Wait(); end.Code != -1 {
				t.Fatalf("it was not killed: %s", end)
			}
			g.Close()
			k.rest()
		})
	}
}

// TestBackfillSignal: after SIGTERM no window is begun, and the one under way ends
// as a load does; the result file says how each ended.
func TestBackfillSignal(t *testing.T) {
	t.Parallel()
	k := newKillable(t, testenv.MinIO(t), "signal")
	g := testenv.NewGate(t)
	third := putsNth(3, ".parquet")
	g.Before = func(r testenv.Request) bool {
		if third(r) {
			g.Process().Signal(syscall.SIGTERM)
			<-g.Process().Done() // it does not wait for this answer
			return false
		}
		return true
	}
	end := k.start(g).Wait()
	if end.Code != 143 || !strings.Contains(end.Stderr, "--only-gaps") {
		t.Fatalf("after SIGTERM: %s", end)
	}
	content, err := os.ReadFile(filepath.Join(k.dir, "receipts"))
	if err != nil {
		t.Fatal(err)
	}
	var receipts []lake.Receipt
	for line := range strings.Lines(string(content)) {
		var r lake.Receipt
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		receipts = append(receipts, r)
	}
	if got := outcomes(receipts); got != "01 landed, 02 landed, 03 interrupted" || receipts[2].Error == nil || receipts[2].Error.Code != 143 {
		t.Errorf("receipts: %s", content)
	}
	k.rest()
}
