package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/calve-data/calve/testenv"
)

// catalogScene is calve with a calve.yaml of its own.
type catalogScene struct {
	*testing.T
	dir string
}

func newCatalogScene(t *testing.T, catalog string, s3 *testenv.S3) *catalogScene {
	t.Helper()
	dir := t.TempDir()
	yaml := fmt.Sprintf(`catalog:
%s
  s3: {endpoint: "%s", region: %s, access_key_id: "%s", secret_access_key: "%s"}
loads:
  events:
    table: demo.events
    time_column: at
    source: {path: events.csv}
`, strings.TrimRight(catalog, "\n"), s3.Endpoint, s3.Region, s3.AccessKey, s3.SecretKey)
	for name, text := range map[string]string{"calve.yaml": yaml, "events.csv": "at,id\n2026-05-04T10:00:00Z,1\n2026-05-04T11:00:00Z,2\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &catalogScene{t, dir}
}

// calve runs a command and expects its exit code; it returns all that was printed.
func (s *catalogScene) calve(code int, args ...string) string {
	s.Helper()
	var out bytes.Buffer
	args = append(args, "--config", filepath.Join(s.dir, "calve.yaml"))
	if got := run(s.Context(), args, strings.NewReader(""), &out, &out); got != code {
		s.Errorf("calve %v: exit code %d, want %d\n%s", args, got, code, &out)
	}
	if text := out.String(); strings.Contains(text, "hunter2") {
		s.Errorf("calve %v printed a secret:\n%s", args, text)
	}
	return out.String()
}

// loads is the life of a table, from its first load on.
func (s *catalogScene) loads() {
	s.Helper()
	s.calve(10, "load", "events", "--window", "2026-05-04")
	s.calve(0, "load", "events", "--window", "2026-05-04", "--create-namespace")
	s.calve(0, "load", "events", "--window", "2026-05-04", "--commit-unchanged")
	if out := s.calve(0, "rows", "demo.events", "--count"); !strings.Contains(out, "2\n") {
		s.Errorf("rows: %q, want 2", out)
	}
}

func TestCatalogsByConfig(t *testing.T) {
	t.Setenv("LAKE_CREDENTIAL", "calve:hunter2secret")
	t.Setenv("LAKE_TOKEN", "hunter2token")
	t.Run("rest with a credential", func(t *testing.T) {
		s3 := testenv.MinIO(t)
		server := testenv.REST(t, s3).Guard(t, testenv.Guard{Credential: "calve:hunter2secret", Headers: map[string]string{"X-Realm": "lake"}})
		newCatalogScene(t, fmt.Sprintf(`
  type: rest
  uri: %s
  credential: ${LAKE_CREDENTIAL}
  scope: PRINCIPAL
  headers: {X-Realm: lake}`, server.URI), s3).loads()
	})
	t.Run("rest with a token", func(t *testing.T) {
		s3 := testenv.MinIO(t)
		server := testenv.REST(t, s3).Guard(t, testenv.Guard{Token: "hunter2token"})
		newCatalogScene(t, "  type: rest\n  token: ${LAKE_TOKEN}\n  uri: "+server.URI, s3).loads()
	})
	t.Run("postgres", func(t *testing.T) {
		s3 := testenv.MinIO(t)
		t.Setenv("LAKE_DB", testenv.Postgres(t).URI)
		newCatalogScene(t, "  type: sql\n  uri: ${LAKE_DB}\n  warehouse: "+s3.URL("wh"), s3).loads()
	})
}

// Who may not is told the setting, with an exit code that says that running
// again is of no use.
func TestDeniedByConfig(t *testing.T) {
	t.Setenv("LAKE_CREDENTIAL", "calve:hunter2secret")
	s3 := testenv.MinIO(t)
	server := testenv.REST(t, s3).Guard(t, testenv.Guard{Credential: "calve:another"})
	db := testenv.Postgres(t)
	for want, catalog := range map[string]string{
		"catalog.credential": "  type: rest\n  credential: ${LAKE_CREDENTIAL}\n  uri: " + server.URI,
		"catalog.token":      "  type: rest\n  uri: " + server.URI,
		"catalog.uri":        "  type: sql\n  uri: " + db.As("nobody", "hunter2secret") + "\n  warehouse: " + s3.URL("wh"),
	} {
		out := newCatalogScene(t, catalog, s3).calve(1, "load", "events", "--window", "2026-05-04", "--json")
		if !strings.Contains(out, want) || !strings.Contains(out, `"kind":"denied"`) {
			t.Errorf("it does not name %s:\n%s", want, out)
		}
	}
}
