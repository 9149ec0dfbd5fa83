package testenv

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
)

// counter counts what a client asks of a service.
type counter interface {
	Forget()
	Requests() []string
}

// The requests of a small commit, which replaces one file, stay few at any
// history, of manifests and of snapshots: those to the store and to the catalog
// together, where every answer takes 20 ms. Where there are many manifests some
// are merged: these are read at the same time.
func TestRequestsOfASmallCommit(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		for _, history := range []int{10, 300} {
			t.Run(fmt.Sprint(kind.Name, history), func(t *testing.T) {
				requestsOfASmallCommit(t, kind.New(t, MinIO(t)), history)
			})
		}
	}
}

func requestsOfASmallCommit(t *testing.T, near *AnyCatalog, history int) {
	load := lake.Load{Table: near.Ident("events"), TimeColumn: "event_time"}
	CreateTable(t, near, load.Table, EventSchema(), EventsByDay(), nil)
	ManyManifests(t, near, load.Table, history)
	olderSnapshots(t, near, load.Table, history)

	store := NewProxy(t, near.S3.Endpoint)
	far := *near
	far.Config.S3.Endpoint = store.Endpoint
	counters := []counter{store}
	if c := counted(t, &far); c != nil {
		counters = append(counters, c)
	}
	cat := far.Again(t)
	w, err := lake.ParseWindow("1970-01-05", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range counters {
		c.Forget()
	}
	store.Delay(20 * time.Millisecond)
	began := time.Now()
	r, err := (&lake.Loader{Catalog: cat}).Load(t.Context(), load, Rows(t, EventArrow(), NewEvent(1, "1970-01-05T10:00:00Z", "eu", 1).Row()), w)
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	if r.Rows.Replaced != 1 || r.Attempts != 1 {
		t.Errorf("%d rows replaced in %d attempts, want 1 and 1", r.Rows.Replaced, r.Attempts)
	}
	var requests []string
	for _, c := range counters {
		asked := c.Requests()
		if len(asked) == 0 {
			t.Errorf("%T counted no request", c)
		}
		requests = append(requests, asked...)
	}
	t.Logf("%d requests, %d of them to the store, at most %d of these at once, %.2f s with 20 ms for each answer",
		len(requests), len(store.Requests()), store.AtOnce(), took.Seconds())
	if history == 300 && store.AtOnce() < 2 {
		t.Error("the requests were sent one after the other")
	}
	if len(requests) >= 30 {
		t.Errorf("%d requests, want fewer than 30:\n%s", len(requests), strings.Join(requests, "\n"))
	}
}

// counted puts a counter before the catalog's server, whose answers take 20 ms
// from then on; nil where there is no server.
func counted(t *testing.T, c *AnyCatalog) counter {
	t.Helper()
	u, err := url.Parse(c.Config.URI)
	if err != nil {
		t.Fatal(err)
	}
	var out counter
	switch u.Scheme {
	case "http":
		proxy := NewProxy(t, "http://"+u.Host)
		proxy.Delay(20 * time.Millisecond)
		u.Host, out = strings.TrimPrefix(proxy.Endpoint, "http://"), proxy
	case "postgres":
		wire := Wire(t, u.Host)
		wire.Add(Latency(20*time.Millisecond, 0))
		questions := newQuestions(t, wire.Address)
		u.Host, out = questions.address, questions
	default:
		return nil
	}
	c.Config.URI = u.String()
	return out
}

// questions is a PostgreSQL server's address that counts what is asked of it:
// each message that the client waits for the answer of.
type questions struct {
	address string

	mu    sync.Mutex
	asked []string
}

func newQuestions(t *testing.T, upstream string) *questions {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	q := &questions{address: l.Addr().String()}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", upstream)
			if err != nil {
				_ = client.Close()
				continue
			}
			go func() {
				_, _ = io.Copy(client, server)
				_ = client.Close()
			}()
			go func() {
				_ = q.pass(client, server)
				_ = server.Close()
			}()
		}
	}()
	return q
}

// pass carries the client's messages: a kind, but for the first one, a length
// that counts itself, and the rest.
func (q *questions) pass(client io.Reader, server io.Writer) error {
	for kind := 0; ; kind = 1 { // the length of it
		head := make([]byte, kind+4)
		if _, err := io.ReadFull(client, head); err != nil {
			return err
		}
		message := make([]byte, binary.BigEndian.Uint32(head[kind:])-4)
		if _, err := io.ReadFull(client, message); err != nil {
			return err
		}
		q.note(string(head[:kind]), message)
		if _, err := server.Write(append(head, message...)); err != nil {
			return err
		}
	}
}

// note counts a new connection, a password's step, a simple query, and the end
// of a group of messages that are answered together.
func (q *questions) note(kind string, message []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch kind {
	case "", "p", "S":
		q.asked = append(q.asked, "PostgreSQL, message "+kind)
	case "Q":
		q.asked = append(q.asked, "PostgreSQL, "+strings.Trim(string(message), "\x00"))
	}
}

// Forget begins to count anew.
func (q *questions) Forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.asked = nil
}

// Requests are those since Forget.
func (q *questions) Requests() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return append([]string(nil), q.asked...)
}

// olderSnapshots gives the table's head as many successors that change nothing.
func olderSnapshots(t *testing.T, cat lake.Catalog, id table.Identifier, n int) {
	t.Helper()
	head := Load(t, cat, id).CurrentSnapshot()
	var updates []table.Update
	for i := range int64(n) {
		next := *head
		parent := head.SnapshotID
		next.SnapshotID, next.ParentSnapshotID, next.SequenceNumber = head.SnapshotID+1+i, &parent, head.SequenceNumber+1
		next.Summary = &table.Summary{Operation: table.OpAppend, Properties: iceberg.Properties{}}
		updates = append(updates, table.NewAddSnapshotUpdate(&next))
		head = &next
	}
	updates = append(updates, table.NewSetSnapshotRefUpdate(table.MainBranch, head.SnapshotID, table.BranchRef, 0, 0, 0))
	if _, _, err := cat.CommitTable(t.Context(), id, nil, updates); err != nil {
		t.Fatal(err)
	}
}
