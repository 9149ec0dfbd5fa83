package catalog_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/catalog"
	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// The numbers are those of the list of faults from the field that the project
// began with.

// 15, 16, 18: the server commits and answers that it did not, or that it does not
// know. The load finds its snapshot.
func TestCase15And16And18AppliedAndRefused(t *testing.T) {
	t.Parallel()
	s3 := testenv.MinIO(t)
	for _, status := range []int{
		http.StatusConflict, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
		http.StatusNotFound, http.StatusTooManyRequests, http.StatusRequestTimeout,
	} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			var refused atomic.Int32
			server := testenv.REST(t, s3).Guard(t, testenv.Guard{Status: func(r *http.Request) int {
				if r.Method != http.MethodPost || !strings.Contains(r.URL.Path, "/tables/") {
					return 0
				}
				refused.Add(1)
				return status
			}})
			id := restID(t)
			loadTwice(t, catalog.Config{Type: "rest", URI: server.URI, S3: s3.Config()}, id)
			if n := refused.Load(); n != 2 {
				t.Errorf("%d commits for two loads, want 2", n)
			}
		})
	}
}

// 19: a load whose head moved under it is a conflict, whatever the catalog says
// of it: the load goes round and lands, and the other writer's rows stay.
func TestCase19StaleHeadOnEveryCatalog(t *testing.T) {
	t.Parallel()
	for _, kind := range testenv.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			a := kind.New(t, testenv.MinIO(t))
			b := a.Again(t)
			id, model := a.Ident("events"), &testenv.Model{}
			testenv.Check(t, a, id, model.Strings)
			land := func(cat lake.Catalog, day string, e testenv.Event) lake.Receipt {
				t.Helper()
				receipt, err := load(t, cat, id, day, e)
				if err != nil {
					t.Fatal(err)
				}
				model.Replace(window(t, day), "", e)
				return receipt
			}
			land(a, "2026-05-04", testenv.NewEvent(1, "2026-05-04T10:00:00Z", "eu", 1))
			hasty := &meanwhile{Catalog: a, do: func() {
				land(b, "2026-05-05", testenv.NewEvent(2, "2026-05-05T10:00:00Z", "eu", 2))
			}}
			receipt := land(hasty, "2026-05-06", testenv.NewEvent(3, "2026-05-06T10:00:00Z", "eu", 3))
			if receipt.Attempts != 2 {
				t.Errorf("it took %d attempts, want 2", receipt.Attempts)
			}
		})
	}
}

// meanwhile lets another writer commit before the first commit.
type meanwhile struct {
	lake.Catalog
	do func()
}

func (m *meanwhile) CommitTable(ctx context.Context, id table.Identifier, requirements []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	if do := m.do; do != nil {
		m.do = nil
		do()
	}
	return m.Catalog.CommitTable(ctx, id, requirements, updates)
}

// 22: eight processes with a day each, started together on a table that does
// not exist yet: all land.
func TestCase22ParallelWindows(t *testing.T) {
	t.Parallel()
	for _, kind := range testenv.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			cat := kind.New(t, testenv.MinIO(t))
			loadTogether(t, cat, cat.Config, cat.Ident("events"), 8)
		})
	}
}

// 116: five programs on one SQLite file, which they also make.
func TestCase116SQLiteUnderConcurrency(t *testing.T) {
	t.Parallel()
	config := catalog.Config{Warehouse: t.TempDir()}
	cat, err := catalog.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cat.Close() })
	loadTogether(t, cat, config, table.Identifier{"demo", "events"}, 5)
}

// loadTogether loads a day in each of several processes and checks that all are
// there, each by a snapshot of its own.
func loadTogether(t *testing.T, cat lake.Catalog, config catalog.Config, id table.Identifier, processes int) {
	t.Helper()
	model := &testenv.Model{}
	check := testenv.Check(t, cat, id, model.Strings)
	type answer struct {
		receipt lake.Receipt
		err     error
	}
	answers, begin := make(chan answer, processes), make(chan struct{})
	for n := range processes {
		day := fmt.Sprintf("2026-05-%02d", n+1)
		model.Replace(window(t, day), "", childEvent(day))
		wait := startChild(t, childTask{Config: config, Table: id, Day: day}, begin)
		go func() {
			receipt, err := wait()
			answers <- answer{receipt, err}
		}()
	}
	close(begin)
	for range processes {
		a := <-answers
		if a.err != nil {
			t.Error(a.err)
			continue
		}
		check.Loaded(a.receipt)
	}
	if n := len(testenv.Load(t, cat, id).Metadata().Snapshots()); n != processes {
		t.Errorf("%d loads made %d snapshots", processes, n)
	}
}

// childTask is what a child process is to load.
type childTask struct {
	Config catalog.Config
	Table  table.Identifier
	Day    string
}

const childEnv = "CALVE_TEST_CHILD"

func childEvent(day string) testenv.Event { return testenv.NewEvent(1, day+"T10:00:00Z", "eu", 1) }

// startChild runs TestChild in a process of its own, which loads once begin is
// closed.
func startChild(t *testing.T, task childTask, begin <-chan struct{}) (wait func() (lake.Receipt, error)) {
	t.Helper()
	text, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the child for %s: %q, %v", task.Day, line, err)
	}
	return func() (receipt lake.Receipt, err error) {
		<-begin
		_ = in.Close()
		text, _ := io.ReadAll(lines)
		if err := cmd.Wait(); err != nil {
			return receipt, fmt.Errorf("load of %s: %w\n%s", task.Day, err, text)
		}
		err = json.NewDecoder(bytes.NewReader(text)).Decode(&receipt) // go test's own words come after it
		return receipt, err
	}
}

// TestChild is a load in a process of its own; in a plain test run it is nothing.
func TestChild(t *testing.T) {
	text := os.Getenv(childEnv)
	if text == "" {
		t.Skip("only as a child of other tests")
	}
	var task childTask
	if err := json.Unmarshal([]byte(text), &task); err != nil {
		t.Fatal(err)
	}
	fmt.Println("ready")
	if _, err := io.ReadAll(os.Stdin); err != nil {
		t.Fatal(err)
	}
	cat, err := catalog.Open(t.Context(), task.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cat.Close() }()
	if err := cat.CreateNamespace(t.Context(), task.Table[:1]); err != nil {
		t.Fatal(err)
	}
	receipt, err := load(t, cat, task.Table, task.Day, childEvent(task.Day))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := json.Marshal(receipt)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(answer))
}
