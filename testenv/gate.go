package testenv

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Gate stands between one process and the services that it uses, and numbers
// its requests from 0 in the order in which they arrive, whatever the service.
// A process that is killed at a request is killed at an effect that no code of
// its own can soften.
//
// The hooks are set before the process starts. They are called from many
// goroutines and may block. Where a hook returns false the connection is cut.
type Gate struct {
	// Before is told of a request before it is passed on.
	Before func(Request) bool
	// After is told of a request that was answered, before the process hears of
	// the answer.
	After func(Request) bool

	mu       sync.Mutex
	requests []Request
	closers  []io.Closer

	started chan struct{}
	process *Process
}

// Request is one request of a process.
type Request struct {
	N int
	// Service is the name that the service was given at the gate.
	Service string
	// What is the method, path and query of HTTP; empty for others.
	What string
}

// NewGate returns a gate that lets everything pass. It is closed with the test.
func NewGate(tb testing.TB) *Gate {
	tb.Helper()
	g := &Gate{started: make(chan struct{})}
	tb.Cleanup(g.Close)
	return g
}

// Close cuts all connections. A gate may be closed twice.
func (g *Gate) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.closers {
		_ = c.Close()
	}
	g.closers = nil
}

// Requests are the requests so far, in order.
func (g *Gate) Requests() []Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.requests)
}

func (g *Gate) arrive(service, what string) Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := Request{N: len(g.requests), Service: service, What: what}
	g.requests = append(g.requests, r)
	return r
}

func (g *Gate) before(r Request) bool { return g.Before == nil || g.Before(r) }
func (g *Gate) after(r Request) bool  { return g.After == nil || g.After(r) }

// listen opens a port that closes with the gate.
func (g *Gate) listen(tb testing.TB) net.Listener {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	g.keep(l)
	return l
}

func (g *Gate) keep(c io.Closer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closers = append(g.closers, c)
}

// HTTP puts the gate before an HTTP service at a URL and returns the URL to
// use instead. Requests are passed on as they are, the Host too, which an S3
// client has signed.
func (g *Gate) HTTP(tb testing.TB, service, upstream string) string {
	tb.Helper()
	to, err := url.Parse(upstream)
	if err != nil {
		tb.Fatal(err)
	}
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16}
	l := g.listen(tb)
	server := &http.Server{Handler: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: to.Scheme, Host: to.Host})
			r.Out.Host = r.In.Host
		},
		Transport:    throughGate{g, service, transport},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}}
	g.keep(server)
	g.keep(closer(func() error { transport.CloseIdleConnections(); return nil }))
	go func() { _ = server.Serve(l) }()
	return to.Scheme + "://" + l.Addr().String() + strings.TrimRight(to.Path, "/")
}

type closer func() error

func (c closer) Close() error { return c() }

// errCut ends a connection as the hooks want it.
var errCut = errors.New("cut at the gate")

type throughGate struct {
	gate    *Gate
	service string
	next    http.RoundTripper
}

func (t throughGate) RoundTrip(out *http.Request) (*http.Response, error) {
	r := t.gate.arrive(t.service, out.Method+" "+out.URL.RequestURI())
	if !t.gate.before(r) {
		return nil, errCut
	}
	answer, err := t.next.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil {
		return nil, err
	}
	if !t.gate.after(r) {
		return nil, errCut
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, nil
}

// Postgres puts the gate before a PostgreSQL server at host:port and returns
// the address to use instead. A request is what the client sends in one go; it
// is answered once the server is ready for the next.
func (g *Gate) Postgres(tb testing.TB, service, upstream string) string {
	tb.Helper()
	l := g.listen(tb)
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			g.keep(client)
			go g.carry(client, service, upstream)
		}
	}()
	return l.Addr().String()
}

// carry passes one connection's requests on, and their answers back.
func (g *Gate) carry(client net.Conn, service, upstream string) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", upstream)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	g.keep(server)
	var mu sync.Mutex
	var asked []Request // and not answered yet
	go func() {
		defer func() { _, _ = client.Close(), server.Close() }()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if err != nil {
				return
			}
			if readyForQuery(buf[:n]) {
				mu.Lock()
				answered := asked
				asked = nil
				mu.Unlock()
				for _, r := range answered {
					if !g.after(r) {
						return
					}
				}
			}
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		r := g.arrive(service, "")
		if !g.before(r) {
			return
		}
		mu.Lock()
		asked = append(asked, r)
		mu.Unlock()
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

// readyForQuery reports whether what a server sent ends with the message that
// says so: Z, a length of 5, and the state of the transaction.
func readyForQuery(sent []byte) bool {
	return len(sent) >= 6 && bytes.Equal(sent[len(sent)-6:len(sent)-1], []byte{'Z', 0, 0, 0, 5})
}
