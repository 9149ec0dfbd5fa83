package testenv

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Guard is what stands before a REST catalog: it asks who is there, and tells
// what the store's settings are. The zero value does neither.
type Guard struct {
	// Credential is the id:secret that gets a token at /v1/oauth/tokens, for the
	// scope PRINCIPAL; requests without such a token are refused.
	Credential string
	// Token is a bearer token; requests without it are refused.
	Token string
	// Headers are those that every request must carry, the one for a token too.
	Headers map[string]string
	// Defaults and Overrides are what /v1/config says besides.
	Defaults, Overrides map[string]string
	// Vend says in what part of a table's answer the store's keys are: config, or
	// storage-credentials. Default: nowhere.
	Vend string
	// Lifetime is how long the keys are said to be good. Default: without end.
	Lifetime time.Duration
	// Answer may answer a request in the server's place: it returns true if it did.
	Answer func(http.ResponseWriter, *http.Request) bool
	// Status may change the status of an answer, after the server did what it was
	// asked: it returns the one to send, 0 for the server's own.
	Status func(*http.Request) int
}

// GuardedREST is a REST catalog with a guard before it.
type GuardedREST struct {
	*RESTServer
	// Tokens and Keys count how often a token, and the store's keys, were given.
	Tokens, Keys atomic.Int32

	guard Guard
	proxy *httputil.ReverseProxy
}

// Guard puts a guard before the server: the returned one has another URI.
func (r *RESTServer) Guard(tb testing.TB, guard Guard) *GuardedREST {
	tb.Helper()
	target, err := url.Parse(r.URI)
	if err != nil {
		tb.Fatalf("guard %s: %v", r.URI, err)
	}
	g := &GuardedREST{guard: guard}
	g.proxy = &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(target)
			p.Out.Header.Del("Accept-Encoding") // so that answers can be read here
		},
		ModifyResponse: g.tell,
	}
	server := httptest.NewServer(g)
	tb.Cleanup(server.Close)
	g.RESTServer = &RESTServer{URI: server.URL, S3: r.S3, Shared: r.Shared}
	return g
}

func (g *GuardedREST) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range g.guard.Headers {
		if r.Header.Get(name) != value {
			refuse(w, http.StatusForbidden, "ForbiddenException", "the header "+name+" is missing")
			return
		}
	}
	switch {
	case g.guard.Credential != "" && r.URL.Path == "/v1/oauth/tokens":
		g.giveToken(w, r)
	case !g.knows(r.Header.Get("Authorization")):
		refuse(w, http.StatusUnauthorized, "NotAuthorizedException", "who are you?")
	case g.guard.Answer != nil && g.guard.Answer(w, r):
	default:
		g.proxy.ServeHTTP(w, r)
	}
}

func (g *GuardedREST) knows(authorization string) bool {
	switch {
	case g.guard.Token != "":
		return authorization == "Bearer "+g.guard.Token
	case g.guard.Credential != "":
		return authorization == "Bearer token-of-"+g.guard.Credential
	}
	return true
}

func (g *GuardedREST) giveToken(w http.ResponseWriter, r *http.Request) {
	id, secret, basic := r.BasicAuth() // as OAuth2 has it; DuckDB does so
	if !basic {
		id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
	}
	if r.FormValue("grant_type") != "client_credentials" || r.FormValue("scope") != "PRINCIPAL" || id+":"+secret != g.guard.Credential {
		answerJSON(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client", "error_description": "no such client"})
		return
	}
	g.Tokens.Add(1)
	answerJSON(w, http.StatusOK, map[string]any{"access_token": "token-of-" + g.guard.Credential, "token_type": "bearer", "expires_in": 3600})
}

// tell adds to what the server says.
func (g *GuardedREST) tell(resp *http.Response) error {
	if g.guard.Status != nil {
		if status := g.guard.Status(resp.Request); status != 0 {
			_ = resp.Body.Close()
			resp.Status, resp.StatusCode = http.StatusText(status), status
			replace(resp, marshal(refusal(status, "SomeException", http.StatusText(status))))
			return nil
		}
	}
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		return nil
	}
	answer := map[string]json.RawMessage{} // as it is: numbers must not become floats
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if json.Unmarshal(body, &answer) == nil {
		if err := g.addTo(answer, strings.HasSuffix(resp.Request.URL.Path, "/v1/config")); err != nil {
			return err
		}
		if body, err = json.Marshal(answer); err != nil {
			return err
		}
	}
	replace(resp, body)
	return nil
}

func replace(resp *http.Response, body []byte) {
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
}

func (g *GuardedREST) addTo(answer map[string]json.RawMessage, config bool) (err error) {
	merge := func(part string, more map[string]string) {
		is := map[string]string{}
		err = errors.Join(err, json.Unmarshal(first(answer[part], []byte("{}")), &is))
		maps.Copy(is, more)
		answer[part] = marshal(is)
	}
	switch {
	case config:
		merge("defaults", g.guard.Defaults)
		merge("overrides", g.guard.Overrides)
	case answer["metadata"] == nil:
	case g.guard.Vend == "config":
		merge("config", g.keys())
	case g.guard.Vend == "storage-credentials":
		answer["storage-credentials"] = marshal([]any{
			map[string]any{"prefix": "s3://", "config": map[string]string{"s3.access-key-id": "wrong", "s3.secret-access-key": "wrong"}},
			map[string]any{"prefix": g.S3.URL(""), "config": g.keys()}, // the longer prefix counts
		})
	}
	return err
}

func first(a, b json.RawMessage) json.RawMessage {
	if len(a) > 0 {
		return a
	}
	return b
}

func marshal(v any) json.RawMessage {
	text, _ := json.Marshal(v) // of texts and numbers: it cannot fail
	return text
}

// keys are the store's, and all else that reaches it.
func (g *GuardedREST) keys() map[string]string {
	g.Keys.Add(1)
	keys := maps.Clone(g.S3.Properties())
	keys["s3.path-style-access"] = "true"
	if g.guard.Lifetime > 0 {
		keys["s3.session-token-expires-at-ms"] = fmt.Sprint(time.Now().Add(g.guard.Lifetime).UnixMilli())
	}
	return keys
}

// AnswerError answers as a catalog that refuses.
func AnswerError(w http.ResponseWriter, status int, kind string) {
	refuse(w, status, kind, http.StatusText(status))
}

func refuse(w http.ResponseWriter, code int, kind, message string) {
	answerJSON(w, code, refusal(code, kind, message))
}

func refusal(code int, kind, message string) any {
	return map[string]any{"error": map[string]any{"code": code, "type": kind, "message": message}}
}

func answerJSON(w http.ResponseWriter, code int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer)
}
