package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/calve-data/calve/testenv"
)

// place is a catalog and a store, as calve.yaml describes them.
type place struct {
	name, catalog string
	// env holds the secrets that the description names.
	env []string
	s3  *testenv.S3
}

// places are all that snippets are tried on: made here, without a table.
func places(t *testing.T) []place {
	t.Helper()
	s3 := testenv.MinIO(t)
	store := fmt.Sprintf(`
  s3:
    endpoint: %s/
    access_key_id: ${LAKE_KEY}
    secret_access_key: ${LAKE_SECRET}
`, s3.Endpoint)
	keys := []string{"LAKE_KEY=" + s3.AccessKey, "LAKE_SECRET=" + s3.SecretKey}
	sqlite := fmt.Sprintf("catalog:\n  type: sql\n  uri: file:%s\n  warehouse: %s%s", filepath.Join(t.TempDir(), "catalog.db"), s3.URL("sqlite"), store)
	rest := fmt.Sprintf("catalog:\n  type: rest\n  uri: %s\n%s", testenv.REST(t, s3).URI, store)
	// Without keys in calve.yaml, everyone has them from where AWS tools look.
	chain := fmt.Sprintf("catalog:\n  type: sql\n  uri: file:%s\n  warehouse: %s\n  s3: {endpoint: %q}\n", filepath.Join(t.TempDir(), "catalog.db"), s3.URL("chain"), s3.Endpoint)
	aws := []string{"AWS_ACCESS_KEY_ID=" + s3.AccessKey, "AWS_SECRET_ACCESS_KEY=" + s3.SecretKey}
	// The server asks who is there and lends the keys of the store.
	lends := func(credential string) string {
		guard := testenv.REST(t, s3).Guard(t, testenv.Guard{Credential: credential, Vend: "config"})
		return fmt.Sprintf("catalog:\n  type: rest\n  uri: %s\n  credential: ${LAKE_CREDENTIAL}\n  scope: PRINCIPAL\n  s3: {endpoint: %q, region: us-east-1}\n", guard.URI, s3.Endpoint)
	}
	places := []place{
		{name: "files"},
		{"sqlite", sqlite, keys, s3},
		{"rest", rest, keys, s3},
		{"chain", chain, aws, s3},
		{"lent", lends("client:s3cret-word"), []string{"LAKE_CREDENTIAL=client:s3cret-word"}, s3},
		// A secret alone is no mistake: then the client has no name.
		{"secret alone", lends(":s3cret-alone"), []string{"LAKE_CREDENTIAL=s3cret-alone"}, s3},
	}

	database, err := url.Parse(testenv.Postgres(t).URI)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := database.User.Password()
	uri := strings.Replace(database.String(), ":"+password+"@", ":${LAKE_PASSWORD}@", 1)
	postgres := fmt.Sprintf("catalog:\n  type: sql\n  uri: %s\n  warehouse: %s%s", uri, s3.URL("postgres"), store)
	t.Setenv("LAKE_PASSWORD", password) // Trino has the variables that are set where it starts
	return append(places, place{"postgres", postgres, append(keys, "LAKE_PASSWORD="+password), s3})
}

// The snippets of every engine that can read a place do so as they are printed.
func TestConnect(t *testing.T) {
	for _, p := range places(t) {
		t.Run(p.name, func(t *testing.T) {
			config := p.load(t)
			t.Run("duckdb", func(t *testing.T) {
				showsAll(t, testenv.DuckDBShell(t, p.connect(t, config, "duckdb"), p.env...))
			})
			t.Run("pyiceberg", func(t *testing.T) {
				showsAll(t, testenv.PythonScript(t, p.connect(t, config, "pyiceberg"), p.env...))
			})
			t.Run("spark", func(t *testing.T) {
				jars := testenv.SparkJars(t)
				snippet := p.connect(t, config, "spark")
				// What Spark would fetch is here already.
				fetch := regexp.MustCompile(`"spark\.jars\.packages", "[^"]*"`)
				if !fetch.MatchString(snippet) {
					t.Fatalf("the snippet names no packages:\n%s", snippet)
				}
				showsAll(t, testenv.SparkScript(t, fetch.ReplaceAllLiteralString(snippet, `"spark.jars", "`+jars+`"`), p.env...))
			})
			if p.name != "rest" && p.name != "postgres" {
				return // the scenes have why; of lent keys Trino takes only those with a session token
			}
			t.Run("trino", func(t *testing.T) {
				trino := testenv.Trino(t, p.s3)
				snippet := p.connect(t, config, "trino")
				query := regexp.MustCompile(`(?m)^# Then: trino --execute '(.*)'$`).FindStringSubmatch(snippet)
				if query == nil {
					t.Fatalf("the snippet has no query:\n%s", snippet)
				}
				// The file's name is the catalog's.
				trino.Catalog(t, p.name, snippet)
				showsAll(t, fmt.Sprint(trino.QueryAs(t, strings.Replace(query[1], "FROM lake.", "FROM "+p.name+".", 1))))
			})
		})
	}
}

// load loads a table and returns the path of the configuration.
func (p place) load(t *testing.T) string {
	t.Helper()
	for _, v := range p.env {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "calve.yaml")
	write := func(path, content string) {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "events.csv"), "at,id,what\n2026-05-04T10:00:00Z,71001,first\n2026-05-04T11:00:00Z,71002,\n2026-05-05T11:00:00Z,71003,ünï\n")
	write(config, p.catalog+"\nloads:\n  events: {table: demo.events, time_column: at, source: {path: events.csv}}\n")
	for _, window := range []string{"2026-05-04", "2026-05-05", "2026-05-04"} {
		calve(t, "load", "events", "--window", window, "--config", config, "--create-namespace")
	}
	return config
}

// connect returns the snippet for an engine, after a look for secrets in it.
func (p place) connect(t *testing.T, config, engine string) string {
	t.Helper()
	snippet := calve(t, "connect", "events", "--engine", engine, "--config", config)
	line := calve(t, "connect", "events", "--engine", engine, "--config", config, "--json")
	for _, v := range p.env {
		name, value, _ := strings.Cut(v, "=")
		if !strings.HasSuffix(name, "_KEY_ID") && name != "LAKE_KEY" && strings.Contains(snippet+line, value) {
			t.Errorf("%s is in the snippet:\n%s", name, snippet)
		}
	}
	var answer connectLine
	if err := json.Unmarshal([]byte(line), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Snippet != snippet {
		t.Errorf("--json has %q; the snippet is\n%s", answer.Snippet, snippet)
	}
	for _, v := range answer.Environment {
		if strings.Count(snippet, v.Name) < 2 { // in a comment, and where it is read
			t.Errorf("--json names %s, which the snippet does not read:\n%s", v.Name, snippet)
		}
	}
	return snippet
}

// calve runs a command and returns what it prints.
func calve(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), args, nil, &stdout, &stderr); code != 0 {
		t.Fatalf("calve %s: exit %d\n%s", strings.Join(args, " "), code, stderr.String())
	}
	return stdout.String()
}

// showsAll demands that the rows of the table are in what an engine printed.
func showsAll(t *testing.T, output string) {
	t.Helper()
	for _, want := range []string{"71001", "71002", "71003", "first"} {
		if strings.Count(output, want) != 1 {
			t.Errorf("the engine printed %d times %q, want once:\n%s", strings.Count(output, want), want, output)
		}
	}
}
