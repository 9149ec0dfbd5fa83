package testenv

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/catalog"
	"github.com/calve-data/calve/lake"
)

// site is a catalog and its bucket, as a test reaches them and as processes
// reach them through their gates.
type site struct {
	*AnyCatalog

	mu     sync.Mutex
	tables []table.Identifier // that were used
}

func newSite(tb testing.TB, kind Kind) *site {
	tb.Helper()
	return &site{AnyCatalog: kind.New(tb, MinIO(tb))}
}

// filesSite is the embedded catalog with its tables in files.
func filesSite(tb testing.TB) *site {
	tb.Helper()
	c := &AnyCatalog{Config: catalog.Config{Warehouse: tb.TempDir()}, Namespace: Namespace}
	c.Catalog = c.Again(tb)
	if err := c.CreateNamespace(tb.Context(), table.Identifier{Namespace}); err != nil {
		tb.Fatal(err)
	}
	return &site{AnyCatalog: c}
}

// objects are the locations of all that is in the store.
func (s *site) objects(tb testing.TB) map[string]bool {
	tb.Helper()
	there := map[string]bool{}
	if s.S3 != nil {
		for _, key := range s.S3.Objects("") {
			there[s.S3.URL(key)] = true
		}
		return there
	}
	err := filepath.WalkDir(s.Config.Warehouse, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasPrefix(d.Name(), "catalog.db") {
			there[fileURL(path)] = true
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return there
}

// use notes a table of the test and returns its identifier.
func (s *site) use(name string) table.Identifier {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.Ident(name)
	s.tables = append(s.tables, id)
	return id
}

// onEachSite runs a test on every kind of catalog.
func onEachSite(t *testing.T, test func(t *testing.T, s *site)) {
	for _, kind := range Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			test(t, newSite(t, kind))
		})
	}
}

// yaml is the catalog of calve.yaml, with its services behind the gate.
func (s *site) yaml(tb testing.TB, g *Gate) string {
	tb.Helper()
	uri := s.Config.URI
	switch {
	case s.Config.Type == "rest":
		uri = g.HTTP(tb, "rest", uri)
	case strings.HasPrefix(uri, "postgres"):
		u, err := url.Parse(uri)
		if err != nil {
			tb.Fatal(err)
		}
		u.Host = g.Postgres(tb, "postgres", u.Host)
		uri = u.String()
	}
	text := fmt.Sprintf("catalog:\n  type: %s\n  uri: %q\n", s.Config.Type, uri)
	if s.Config.Warehouse != "" {
		text += fmt.Sprintf("  warehouse: %q\n", s.Config.Warehouse)
	}
	if s.Config.Access.Credential != "" {
		text += fmt.Sprintf("  credential: %q\n", s.Config.Access.Credential)
	}
	return text + fmt.Sprintf("  s3:\n    endpoint: %s\n    region: %s\n    access_key_id: %q\n    secret_access_key: %q\n",
		g.HTTP(tb, "s3", s.S3.Endpoint), s.S3.Region, s.S3.AccessKey, s.S3.SecretKey)
}

// ownProcesses begins a test that happens in processes of the program alone. The
// race detector, which runs the short tests, does not see into them.
func ownProcesses(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: this happens in processes of the program, which the race detector does not see; it runs without -short")
	}
	Calve(t)
}

// job is a load that processes run, of a file in a folder of its own.
type job struct {
	*site
	tb     testing.TB
	dir    string
	table  table.Identifier
	window string
	// source is the file's name, or the location of an object.
	source string
	flags  []string
}

// newJob writes the rows as CSV for a load of the window.
func (s *site) newJob(tb testing.TB, name, window string, lines ...string) *job {
	tb.Helper()
	j := &job{site: s, tb: tb, dir: tb.TempDir(), table: s.use(name), window: window, source: "events.csv"}
	j.rewrite("id,event_time,region,value", lines...)
	return j
}

// rewrite makes the source another one.
func (j *job) rewrite(header string, lines ...string) {
	j.tb.Helper()
	j.write(j.source, strings.Join(append([]string{header}, lines...), "\n")+"\n")
}

// csvLines are events as lines of CSV.
func csvLines(events ...Event) []string {
	lines := make([]string, len(events))
	for i, e := range events {
		row := e.Row()
		cell := func(name string) string {
			if row[name] == nil {
				return ""
			}
			return fmt.Sprint(row[name])
		}
		at := ""
		if e.Time != nil {
			at = strings.Split(e.String(), " ")[1]
		}
		lines[i] = fmt.Sprintf("%d,%s,%s,%d", e.ID, at, cell("region"), e.Value)
	}
	return lines
}

// result is the path of the result file.
func (j *job) result() string { return filepath.Join(j.dir, "result.json") }

// start starts the load behind a gate, whose hooks are set by then.
func (j *job) start(g *Gate) *Process {
	j.tb.Helper()
	return j.startInto(g, nil)
}

// startInto is start with stdout and stderr going to a file, where there is one.
func (j *job) startInto(g *Gate, out *os.File) *Process {
	j.tb.Helper()
	return j.command(g, out, append([]string{
		"load", "--table", j.name(), "--time-column", "event_time", "--source", j.source, "--window", j.window,
		"--json", "--result-file", j.result(),
	}, j.flags...)...)
}

// command starts any command behind a gate, in the job's folder.
func (j *job) command(g *Gate, out *os.File, args ...string) *Process {
	j.tb.Helper()
	j.write("calve.yaml", j.yaml(j.tb, g))
	return g.start(j.tb, j.dir, out, args...)
}

// name is the table's, as a command takes it.
func (j *job) name() string { return strings.Join(j.table, ".") }

// run runs the load with nothing in its way.
func (j *job) run() Ended {
	j.tb.Helper()
	g := NewGate(j.tb)
	defer g.Close()
	return j.start(g).Wait()
}

// replace loads events from within the test's own process.
func (s *site) replace(tb testing.TB, name, window string, events ...Event) lake.Receipt {
	tb.Helper()
	return s.run(tb, lake.Load{Table: s.Ident(name), TimeColumn: "event_time"}, window, events...)
}

// run is any load of events from within the test's own process.
func (s *site) run(tb testing.TB, load lake.Load, window string, events ...Event) lake.Receipt {
	tb.Helper()
	w, err := lake.ParseWindow(window, nil)
	if err != nil {
		tb.Fatal(err)
	}
	r, err := (&lake.Loader{Catalog: s}).Load(context.WithoutCancel(tb.Context()), load, Rows(tb, EventArrow(), EventRows(events...)...), w)
	if err != nil {
		tb.Fatalf("load %s of %s: %v", window, load.TableName(), err)
	}
	return r
}

// window parses a window of the events' time.
func eventWindow(tb testing.TB, text string) lake.Window {
	tb.Helper()
	w, err := lake.ParseWindow(text, nil)
	if err == nil {
		w, err = w.On(lake.Instants, nil)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return w
}
