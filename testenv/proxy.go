package testenv

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"
)

// Proxy is an HTTP server between a client and a service: it writes down what
// is asked, and can answer in the service's place. It also serves as a forward
// proxy, for names that are in no DNS.
type Proxy struct {
	// Endpoint is the URL that the client is given.
	Endpoint string

	mu       sync.Mutex
	answer   func(http.ResponseWriter, *http.Request) bool
	delay    time.Duration
	requests []string
	under    int
	most     int
}

// NewProxy starts a proxy before the service at upstream, a URL. It ends with
// the test.
func NewProxy(tb testing.TB, upstream string) *Proxy {
	tb.Helper()
	to, err := url.Parse(upstream)
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // it is part of what a client of S3 signs
		},
		Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64},
		// A client that has gone needs no answer, and the log no line.
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, delay := p.begin(r)
		defer p.end()
		if answer == nil || !answer(w, r) {
			forward.ServeHTTP(w, r)
		}
		time.Sleep(delay)
	}))
	tb.Cleanup(server.Close)
	p.Endpoint = server.URL
	return p
}

// Answer lets f answer each request from now on; where it returns false it has
// not, and the service does. nil: the service answers all.
func (p *Proxy) Answer(f func(http.ResponseWriter, *http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = f
}

// Delay holds each answer's end back for d.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

func (p *Proxy) begin(r *http.Request) (func(http.ResponseWriter, *http.Request) bool, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, r.Method+" "+r.URL.Path)
	p.under++
	p.most = max(p.most, p.under)
	return p.answer, p.delay
}

func (p *Proxy) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.under--
}

// Requests returns what was asked so far or since the last call of Forget, as
// "GET /bucket/key".
func (p *Proxy) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// AtOnce is how many requests were under way at the same time, at most.
func (p *Proxy) AtOnce() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.most
}

// Forget begins to count anew.
func (p *Proxy) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests, p.most = nil, 0
}
