package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// connectionTo is that of a table at a location, with a calve.yaml.
func connectionTo(t *testing.T, yaml, location string, id ...string) *connection {
	t.Helper()
	path := filepath.Join(t.TempDir(), "calve.yaml")
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	config, _, err := readConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	meta, err := table.NewMetadata(iceberg.NewSchema(0), iceberg.UnpartitionedSpec, table.UnsortedSortOrder, location, nil)
	if err != nil {
		t.Fatal(err)
	}
	to, err := newConnection(config, "", table.New(id, meta, location+"/metadata/0.metadata.json", nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// What snippets say of catalogs that no test can start: every line is one that
// must be there.
func TestSnippetsOfOtherCatalogs(t *testing.T) {
	const (
		lent    = "catalog: {type: rest, uri: 'https://catalog.example.com/', warehouse: prod}\n"
		bearer  = "catalog: {type: rest, uri: 'https://catalog.example.com', token: a-secret-token, headers: {X-Team: blue}, properties: {rest.sigv4-enabled: 'false'}}\n"
		oauth   = "catalog: {type: rest, uri: 'https://catalog.example.com', properties: {credential: 'id:${CALVE_TEST_SECRET}', scope: PRINCIPAL_ROLE:ALL}}\n"
		literal = "catalog: {type: rest, uri: 'https://catalog.example.com', s3: {endpoint: 'https://s3.example.com', access_key_id: an-id, secret_access_key: a-secret-key, path_style: false}}\n"
	)
	t.Setenv("CALVE_TEST_SECRET", "a-secret-word")
	for _, tc := range []struct {
		name, yaml, engine string
		want               []string
	}{
		{"lent keys", lent, "duckdb", []string{"ATTACH 'prod' AS lake (TYPE iceberg, ENDPOINT 'https://catalog.example.com', AUTHORIZATION_TYPE 'none');"}},
		{"lent keys", lent, "spark", []string{`.header.X-Iceberg-Access-Delegation", "vended-credentials"`}},
		{"lent keys", lent, "trino", []string{"iceberg.rest-catalog.vended-credentials-enabled=true\n"}},
		{"bearer", bearer, "duckdb", []string{"(TYPE iceberg, TOKEN getenv('LAKE_TOKEN'));", "SECRET lake_catalog", "-- Not carried over from calve.yaml: catalog.headers.X-Team\n", "-- Not carried over from calve.yaml: catalog.properties.rest.sigv4-enabled\n"}},
		{"bearer", bearer, "pyiceberg", []string{`"token": os.environ["LAKE_TOKEN"],`, "# Reads LAKE_TOKEN from the environment: catalog.token in calve.yaml\n"}},
		{"bearer", bearer, "trino", []string{"iceberg.rest-catalog.oauth2.token=${ENV:LAKE_TOKEN}\n"}},
		{"credential", oauth, "duckdb", []string{"CLIENT_SECRET substr(getenv('LAKE_CREDENTIAL'), instr(getenv('LAKE_CREDENTIAL'), ':') + 1), OAUTH2_SERVER_URI 'https://catalog.example.com/v1/oauth/tokens', OAUTH2_SCOPE 'PRINCIPAL_ROLE:ALL');"}},
		{"credential", oauth, "spark", []string{`.credential", os.environ["LAKE_CREDENTIAL"])`, `.scope", "PRINCIPAL_ROLE:ALL")`}},
		{"credential", oauth, "trino", []string{"iceberg.rest-catalog.oauth2.credential=${ENV:LAKE_CREDENTIAL}\n"}},
		{"keys as text", literal, "duckdb", []string{"KEY_ID getenv('AWS_ACCESS_KEY_ID')", "ENDPOINT 's3.example.com', USE_SSL true);"}},
		{"keys as text", literal, "pyiceberg", []string{`"s3.force-virtual-addressing": "true",`}},
	} {
		snippet, _, err := connectionTo(t, tc.yaml, "s3://lake/demo/events", "demo", "events").snippet(tc.engine)
		if err != nil {
			t.Errorf("%s, %s: %v", tc.name, tc.engine, err)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(snippet, want) {
				t.Errorf("%s, %s: no %q in\n%s", tc.name, tc.engine, want, snippet)
			}
		}
		if strings.Contains(snippet, "a-secret") {
			t.Errorf("%s, %s: a secret is in\n%s", tc.name, tc.engine, snippet)
		}
	}
}

// Names reach every engine as they are; where they cannot, the reason is said.
func TestSnippetsOfOddNames(t *testing.T) {
	const sql = "catalog: {type: sql, uri: 'postgres://db.example.com/ice', warehouse: 's3://lake/wh'}\n"
	const rest = "catalog: {type: rest, uri: 'https://catalog.example.com'}\n"
	odd := []string{"a", `it's "b" ` + "`c`"}
	for _, tc := range []struct {
		engine, yaml, want string
		id                 []string
	}{
		{"duckdb", rest, `FROM lake."a"."it's ""b"" ` + "`c`" + `" LIMIT 10;`, odd},
		{"pyiceberg", rest, `load_table(("a", "it's \"b\" ` + "`c`" + `"))`, odd},
		{"spark", rest, "spark.table(\"lake.`a`.`it's \\\"b\\\" ``c```\")", odd},
		{"trino", rest, "iceberg.rest-catalog.case-insensitive-name-matching=true\n", []string{"Demo", "events"}},
		{"trino", rest, "iceberg.rest-catalog.nested-namespace-enabled=true\n", []string{"a", "b", "events"}},
	} {
		snippet, _, err := connectionTo(t, tc.yaml, "s3://lake/t", tc.id...).snippet(tc.engine)
		if err != nil || !strings.Contains(snippet, tc.want) {
			t.Errorf("%s of %q: no %q in\n%s%v", tc.engine, tc.id, tc.want, snippet, err)
		}
	}
	for _, tc := range []struct {
		engine, yaml, want string
		id                 []string
	}{
		{"trino", sql, "lower case", []string{"Demo", "events"}},
		{"trino", sql, "one level", []string{"a", "b", "events"}},
		{"trino", "catalog: {type: sql, uri: 'file:/catalog.db', warehouse: 's3://lake/wh'}\n", "no driver for an SQLite catalog", []string{"demo", "events"}},
		{"trino", "catalog: {type: rest, uri: 'https://catalog.example.com', s3: {access_key_id: x, secret_access_key: y, session_token: z}}\n", "session token", []string{"demo", "events"}},
		{"spark", "catalog: {type: glue}\n", "only duckdb", []string{"demo", "events"}},
		{"spark", "catalog: {type: sql, name: 'my catalog', uri: 'postgres://db/ice', warehouse: 's3://lake/wh'}\n", "set catalog.name", []string{"demo", "events"}},
	} {
		_, _, err := connectionTo(t, tc.yaml, "s3://lake/t", tc.id...).snippet(tc.engine)
		if !errors.Is(err, errNoSnippet) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s of %q: %v, want a refusal with %q", tc.engine, tc.id, err, tc.want)
		}
	}
}
