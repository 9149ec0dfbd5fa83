package catalog_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/catalog"
	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// loadTwice makes a table by its first load and loads its window again, and
// returns the catalog.
func loadTwice(t *testing.T, config catalog.Config, id table.Identifier) *catalog.Catalog {
	t.Helper()
	cat, err := catalog.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cat.Close() })
	if err := cat.CreateNamespace(t.Context(), id[:1]); err != nil {
		t.Fatal(err)
	}
	model := &testenv.Model{}
	check := testenv.Check(t, cat, id, model.Strings)
	for value := range int64(2) {
		event := testenv.NewEvent(1, "2026-05-04T10:00:00Z", "eu", value)
		receipt, err := load(t, cat, id, "2026-05-04", event)
		if err != nil {
			t.Fatal(err)
		}
		check.Loaded(receipt)
		model.Replace(window(t, "2026-05-04"), "", event)
	}
	return cat
}

func load(t *testing.T, cat lake.Catalog, id table.Identifier, day string, events ...testenv.Event) (lake.Receipt, error) {
	t.Helper()
	src := testenv.Rows(t, testenv.EventArrow(), testenv.EventRows(events...)...)
	return (&lake.Loader{Catalog: cat}).Load(t.Context(), lake.Load{Table: id, TimeColumn: "event_time"}, src, window(t, day))
}

func window(t *testing.T, text string) lake.Window {
	t.Helper()
	w, err := lake.ParseWindow(text, nil)
	if err == nil {
		w, err = w.On(lake.Instants, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func restID(t *testing.T) table.Identifier {
	t.Helper()
	name := strings.NewReplacer("/", "_", " ", "_").Replace(t.Name())
	return table.Identifier{name + time.Now().Format("150405.000000")[7:], "events"}
}

// What a server asks for is told to it, with every request.
func TestRESTLogin(t *testing.T) {
	t.Parallel()
	const credential = "calve:hunter2secret"
	headers := map[string]string{"X-Realm": "lake"}
	for _, tt := range []struct {
		name   string
		guard  testenv.Guard
		access catalog.Access
	}{
		{"credential", testenv.Guard{Credential: credential}, catalog.Access{Credential: credential, Scope: "PRINCIPAL"}},
		{"credential and header", testenv.Guard{Credential: credential, Headers: headers}, catalog.Access{Credential: credential, Scope: "PRINCIPAL", Headers: headers}},
		{"token", testenv.Guard{Token: "tok3n"}, catalog.Access{Token: "tok3n"}},
		{"header", testenv.Guard{Headers: headers}, catalog.Access{Headers: headers}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s3 := testenv.MinIO(t)
			server := testenv.REST(t, s3).Guard(t, tt.guard)
			loadTwice(t, catalog.Config{Type: "rest", URI: server.URI, Access: tt.access, S3: s3.Config()}, restID(t))
			if tokens := server.Tokens.Load(); tokens > 1 {
				t.Errorf("%d tokens were asked for, want 1", tokens)
			}
		})
	}
}

func TestRESTLoginByProperties(t *testing.T) {
	t.Parallel()
	s3 := testenv.MinIO(t)
	for name, tt := range map[string]struct {
		guard testenv.Guard
		props map[string]string
	}{
		"token":      {testenv.Guard{Token: "tok3n"}, map[string]string{"token": "tok3n"}},
		"credential": {testenv.Guard{Credential: "a:b"}, map[string]string{"credential": "a:b", "scope": "PRINCIPAL"}},
		"header":     {testenv.Guard{Headers: map[string]string{"X-Realm": "lake"}}, map[string]string{"header.X-Realm": "lake"}},
	} {
		server := testenv.REST(t, s3).Guard(t, tt.guard)
		cat, err := catalog.Open(t.Context(), catalog.Config{Type: "rest", URI: server.URI, Properties: tt.props, S3: s3.Config()})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_ = cat.Close()
	}
}

// AWS's REST catalogs want each request signed, the first one too.
func TestRESTSigned(t *testing.T) {
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": ""} {
		t.Setenv(name, value)
	}
	s3 := testenv.MinIO(t)
	var unsigned atomic.Int32
	server := testenv.REST(t, s3).Guard(t, testenv.Guard{Answer: func(_ http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/s3tables/aws4_request") {
			unsigned.Add(1)
		}
		return false
	}})
	loadTwice(t, catalog.Config{Type: "rest", URI: server.URI, S3: s3.Config(), Properties: map[string]string{
		"rest.sigv4-enabled": "true", "rest.signing-region": "eu-west-1", "rest.signing-name": "s3tables",
	}}, restID(t))
	if n := unsigned.Load(); n > 0 {
		t.Errorf("%d requests were not signed", n)
	}
}

// A login elsewhere does not get the headers that are the catalog's.
func TestRESTLoginElsewhere(t *testing.T) {
	t.Parallel()
	s3 := testenv.MinIO(t)
	const credential = "calve:hunter2secret"
	elsewhere := testenv.REST(t, s3).Guard(t, testenv.Guard{Credential: credential})
	server := testenv.REST(t, s3).Guard(t, testenv.Guard{Token: "token-of-" + credential, Headers: map[string]string{"X-Realm": "lake"}})
	loadTwice(t, catalog.Config{Type: "rest", URI: server.URI, S3: s3.Config(), Access: catalog.Access{
		Credential: credential, Scope: "PRINCIPAL", Headers: map[string]string{"X-Realm": "lake"},
		OAuth2ServerURI: elsewhere.URI + "/v1/oauth/tokens",
	}}, restID(t))
	if elsewhere.Tokens.Load() != 1 {
		t.Error("the token is not from elsewhere")
	}
}

// Whoever may not, is told so, with the setting; never that a table is missing.
func TestRESTDenied(t *testing.T) {
	t.Parallel()
	const credential = "calve:hunter2secret"
	s3 := testenv.MinIO(t)
	for _, tt := range []struct {
		name   string
		guard  testenv.Guard
		access catalog.Access
		want   string
	}{
		{"no login", testenv.Guard{Token: "tok3n"}, catalog.Access{}, "catalog.token"},
		{"wrong token", testenv.Guard{Token: "tok3n"}, catalog.Access{Token: "other-secret"}, "catalog.token"},
		{"wrong credential", testenv.Guard{Credential: credential}, catalog.Access{Credential: "calve:wrong-secret", Scope: "PRINCIPAL"}, "catalog.credential"},
		{"wrong scope", testenv.Guard{Credential: credential}, catalog.Access{Credential: credential}, "catalog.scope"},
		{"no header", testenv.Guard{Headers: map[string]string{"X-Realm": "lake"}}, catalog.Access{}, "X-Realm"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := testenv.REST(t, s3).Guard(t, tt.guard)
			_, err := catalog.Open(t.Context(), catalog.Config{Type: "rest", URI: server.URI, Access: tt.access, S3: s3.Config()})
			if !errors.Is(err, lake.ErrDenied) || errors.Is(err, lake.ErrTemporary) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Open = %v, want ErrDenied with %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("Open printed a secret: %v", err)
			}
		})
	}
}

func TestRESTLoginAwayIsTemporary(t *testing.T) {
	t.Parallel()
	_, err := catalog.Open(t.Context(), catalog.Config{
		Type: "rest", URI: "http://127.0.0.1:1",
		Access: catalog.Access{Credential: "calve:hunter2secret", OAuth2ServerURI: "http://127.0.0.1:1/tokens"},
	})
	if !errors.Is(err, lake.ErrTemporary) || errors.Is(err, lake.ErrDenied) || strings.Contains(err.Error(), "secret") {
		t.Errorf("Open = %v, want ErrTemporary without the secret", err)
	}
}

// A client that has no keys of its own reads and writes with those that the
// server gives, a table's first load included.
func TestRESTVendedKeys(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION"} {
		t.Setenv(name, "")
	}
	s3 := testenv.MinIO(t)
	for _, tt := range []struct {
		name  string
		guard testenv.Guard
	}{
		{"with the table", testenv.Guard{Vend: "config"}},
		{"as storage credentials", testenv.Guard{Vend: "storage-credentials"}},
		{"as short-lived storage credentials", testenv.Guard{Vend: "storage-credentials", Lifetime: time.Hour}},
		{"as defaults", testenv.Guard{Defaults: s3.Properties()}},
		{"as overrides", testenv.Guard{Overrides: s3.Properties()}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := testenv.REST(t, s3).Guard(t, tt.guard)
			loadTwice(t, catalog.Config{Type: "rest", URI: server.URI}, restID(t))
			if tt.guard.Vend != "" && server.Keys.Load() == 0 {
				t.Error("no keys were given")
			}
		})
	}
}

// Keys that come to their end are renewed, in the middle of a load too.
func TestRESTVendedKeysAreRenewed(t *testing.T) {
	t.Parallel()
	s3 := testenv.MinIO(t)
	asked := map[time.Duration]int32{}
	for _, lifetime := range []time.Duration{time.Hour, time.Nanosecond} {
		for _, part := range []string{"config", "storage-credentials"} {
			server := testenv.REST(t, s3).Guard(t, testenv.Guard{Vend: part, Lifetime: lifetime})
			loadTwice(t, catalog.Config{Type: "rest", URI: server.URI}, restID(t))
			asked[lifetime] += server.Keys.Load()
		}
	}
	if asked[time.Nanosecond] <= asked[time.Hour] {
		t.Errorf("keys were given %d times where they last, %d times where they do not", asked[time.Hour], asked[time.Nanosecond])
	}
}

// The server's keys win over a client's own, which may not open these files.
func TestRESTVendedKeysWin(t *testing.T) {
	t.Parallel()
	s3 := testenv.MinIO(t)
	own := s3.Config()
	own.AccessKeyID, own.SecretAccessKey, own.SessionToken = "wrong", "wrong", "wrong"
	for _, guard := range []testenv.Guard{{Vend: "config"}, {Vend: "storage-credentials"}, {Vend: "storage-credentials", Lifetime: time.Hour}} {
		server := testenv.REST(t, s3).Guard(t, guard)
		loadTwice(t, catalog.Config{Type: "rest", URI: server.URI, S3: own}, restID(t))
	}
}

// Overrides are the server's last word.
func TestRESTOverridesWin(t *testing.T) {
	t.Parallel()
	s3 := testenv.MinIO(t)
	server := testenv.REST(t, s3).Guard(t, testenv.Guard{Overrides: s3.Properties()})
	wrong := catalog.S3{Endpoint: "http://127.0.0.1:1", Region: "nowhere-1", AccessKeyID: "wrong", SecretAccessKey: "wrong"}
	loadTwice(t, catalog.Config{Type: "rest", URI: server.URI, S3: wrong}, restID(t))
}

// A draft leaves nothing on the server, and is where the server puts tables.
func TestRESTDraftIsStaged(t *testing.T) {
	t.Parallel()
	s3 := testenv.MinIO(t)
	var made []string
	server := testenv.REST(t, s3).Guard(t, testenv.Guard{Answer: func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost && strings.Contains(r.URL.Path, "/tables") {
			made = append(made, r.URL.Path)
		}
		return false
	}})
	cat, err := catalog.Open(t.Context(), catalog.Config{Type: "rest", URI: server.URI, S3: s3.Config()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cat.Close() })
	id := restID(t)
	if err := cat.CreateNamespace(t.Context(), id[:1]); err != nil {
		t.Fatal(err)
	}
	draft, err := cat.Draft(t.Context(), id, testenv.EventSchema(), testenv.EventsByDay(), map[string]string{"calve.test": "1"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(draft.Location(), "s3://") || draft.Properties()["calve.test"] != "1" || draft.Metadata().Version() != 2 {
		t.Errorf("the draft is at %s with %v, version %d", draft.Location(), draft.Properties(), draft.Metadata().Version())
	}
	if testenv.Exists(t, cat, id) || len(s3.Objects("")) > 0 {
		t.Errorf("the draft left something: %v", s3.Objects(""))
	}
	if len(made) != 1 {
		t.Errorf("requests: %v, want one", made)
	}
}

// A proxy's page is not a catalog's word on a table.
func TestRESTNotFoundByAStranger(t *testing.T) {
	t.Parallel()
	s3 := testenv.MinIO(t)
	page := func(w http.ResponseWriter) bool {
		http.Error(w, "<html>nothing here</html>", http.StatusNotFound)
		return true
	}
	stranger := testenv.REST(t, s3).Guard(t, testenv.Guard{Answer: func(w http.ResponseWriter, _ *http.Request) bool { return page(w) }})
	if _, err := catalog.Open(t.Context(), catalog.Config{Type: "rest", URI: stranger.URI}); !errors.Is(err, lake.ErrUsage) || !strings.Contains(err.Error(), "catalog.uri") {
		t.Errorf("Open of no catalog: %v, want ErrUsage with catalog.uri", err)
	}
	flaky := testenv.REST(t, s3).Guard(t, testenv.Guard{Answer: func(w http.ResponseWriter, r *http.Request) bool {
		return strings.Contains(r.URL.Path, "/tables/") && page(w)
	}})
	cat, err := catalog.Open(t.Context(), catalog.Config{Type: "rest", URI: flaky.URI})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cat.Close() })
	if _, err := cat.LoadTable(t.Context(), restID(t)); !errors.Is(err, lake.ErrTemporary) || errors.Is(err, lake.ErrNoTable) {
		t.Errorf("LoadTable behind a proxy's page: %v, want ErrTemporary", err)
	}
}

// What each status means, on reading.
func TestRESTStatus(t *testing.T) {
	t.Parallel()
	s3 := testenv.MinIO(t)
	for status, is := range map[int]error{
		http.StatusUnauthorized:        lake.ErrDenied,
		http.StatusForbidden:           lake.ErrDenied,
		419:                            lake.ErrDenied,
		http.StatusNotFound:            lake.ErrNoTable,
		http.StatusTooManyRequests:     lake.ErrTemporary,
		http.StatusInternalServerError: lake.ErrTemporary,
		http.StatusBadGateway:          lake.ErrTemporary,
		http.StatusServiceUnavailable:  lake.ErrTemporary,
		http.StatusGatewayTimeout:      lake.ErrTemporary,
	} {
		server := testenv.REST(t, s3).Guard(t, testenv.Guard{Answer: func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/tables/") {
				return false
			}
			testenv.AnswerError(w, status, "SomeException")
			return true
		}})
		cat, err := catalog.Open(t.Context(), catalog.Config{Type: "rest", URI: server.URI})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cat.LoadTable(t.Context(), restID(t)); !errors.Is(err, is) {
			t.Errorf("LoadTable answered %d: %v, want %v", status, err, is)
		}
		_ = cat.Close()
	}
}
