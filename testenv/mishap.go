package testenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
)

// Answer is what a catalog, or a proxy before it, answers to a commit instead
// of the truth.
type Answer string

// The wrong answers: those of HTTP, and none at all.
const (
	NotFound           Answer = "404"
	Conflict           Answer = "409"
	InternalError      Answer = "500"
	BadGateway         Answer = "502"
	ServiceUnavailable Answer = "503"
	GatewayTimeout     Answer = "504"
	Reset              Answer = "reset"
	Timeout            Answer = "timeout"
)

// Answers are all wrong answers.
func Answers() []Answer {
	return []Answer{NotFound, Conflict, InternalError, BadGateway, ServiceUnavailable, GatewayTimeout, Reset, Timeout}
}

// err is the answer as iceberg-go's REST client returns it.
func (a Answer) err() error {
	switch a {
	case NotFound:
		return fmt.Errorf("404 not found: %w", lake.ErrNoTable)
	case Conflict:
		return fmt.Errorf("409 conflict: %w", table.ErrCommitFailed)
	case InternalError, BadGateway, GatewayTimeout:
		return fmt.Errorf("%s: %w", string(a), rest.ErrCommitStateUnknown)
	case ServiceUnavailable:
		return fmt.Errorf("503: %w", rest.ErrServiceUnavailable)
	case Reset:
		return &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	case Timeout:
		return context.DeadlineExceeded
	}
	return errors.New(string(a))
}

// Mishap is what goes wrong with the commits of a load, and with reading the
// table afterwards. It is for one load.
type Mishap struct {
	Answer Answer
	// Applied is true where the commit was applied before it was answered.
	Applied bool
	// Commits is how many commits are answered so; -1: all.
	Commits int
	// Reloads is how many reads of the table fail after the first of them, with
	// the same answer; -1: all.
	Reloads int

	mu   sync.Mutex
	sent bool
}

func (m *Mishap) String() string {
	when, commits, reloads := "before", "once", fmt.Sprintf("%d reloads fail", m.Reloads)
	if m.Applied {
		when = "after"
	}
	if m.Commits < 0 {
		commits = "always"
	}
	if m.Reloads < 0 {
		reloads = "all reloads fail"
	}
	return fmt.Sprintf("%s %s applying, %s, %s", m.Answer, when, commits, reloads)
}

// Catalog returns c with the mishap in between.
func (m *Mishap) Catalog(c lake.Catalog) lake.Catalog { return mishapCatalog{c, m} }

// commit reports whether the next commit is answered wrongly.
func (m *Mishap) commit() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Commits == 0 {
		return false
	}
	m.Commits--
	m.sent = true
	return true
}

// reload reports whether the next read of the table fails.
func (m *Mishap) reload() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.sent || m.Reloads == 0 {
		return false
	}
	m.Reloads--
	return true
}

// Proxy returns the URI of a REST catalog behind a proxy with the mishap in it.
func (m *Mishap) Proxy(tb testing.TB, uri string) string {
	tb.Helper()
	target, err := url.Parse(uri)
	if err != nil {
		tb.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: target.Scheme, Host: target.Host})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wrong := false
		if strings.Contains(r.URL.Path, "/tables/") {
			wrong = r.Method == http.MethodPost && m.commit() || r.Method == http.MethodGet && m.reload()
		}
		if !wrong {
			forward.ServeHTTP(w, r)
			return
		}
		if r.Method == http.MethodPost && m.Applied {
			forward.ServeHTTP(httptest.NewRecorder(), r)
		}
		m.Answer.write(w, r)
	}))
	tb.Cleanup(server.Close)
	return server.URL + target.Path
}

// write is the answer as a server gives it.
func (a Answer) write(w http.ResponseWriter, r *http.Request) {
	switch a {
	case Timeout:
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client is gone
		<-r.Context().Done()
	case Reset:
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		}
	default:
		status, _ := strconv.Atoi(string(a))
		kind := map[Answer]string{NotFound: "NoSuchTableException", Conflict: "CommitFailedException"}[a]
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":"injected","type":%q,"code":%d}}`, kind, status)
	}
}

type mishapCatalog struct {
	lake.Catalog
	m *Mishap
}

func (c mishapCatalog) LoadTable(ctx context.Context, id table.Identifier) (*table.Table, error) {
	if c.m.reload() {
		return nil, c.m.Answer.err()
	}
	return c.Catalog.LoadTable(ctx, id)
}

func (c mishapCatalog) CommitTable(ctx context.Context, id table.Identifier, reqs []table.Requirement, updates []table.Update) (table.Metadata, string, error) {
	if !c.m.commit() {
		return c.Catalog.CommitTable(ctx, id, reqs, updates)
	}
	err := c.m.Answer.err()
	if c.m.Applied {
		if _, _, failed := c.Catalog.CommitTable(ctx, id, reqs, updates); failed != nil {
			err = errors.Join(err, failed)
		}
	}
	return nil, "", err
}
