package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/catalog"
)

func decodeText(t *testing.T, text string) (*config, secrets, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "calve.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return readConfig(path)
}

func TestConfigMistakes(t *testing.T) {
	t.Setenv("CALVE_TEST_SECRET", "hunter2hunter2")
	for _, tc := range []struct{ name, text, want string }{
		{"unknown key", "loads:\n  a:\n    sorce: {}\n", `calve.yaml:3:5: unknown key "sorce" in loads.a; did you mean "source"?`},
		{"unknown key at the top", "laods: {}\n", `calve.yaml:1:1: unknown key "laods" in the file; did you mean "loads"?`},
		{"unknown key without a near one", "catalog: {zzzzzzzz: 1}\n", `unknown key "zzzzzzzz" in catalog; it knows type, uri`},
		{"key twice", "loads:\n  a:\n    table: x\n    table: y\n", `calve.yaml:4:5: mapping key "table" already defined`},
		{"list for a value", "loads:\n  a:\n    table: [x]\n", "calve.yaml:3:12: loads.a.table is a single value"},
		{"value for a mapping", "loads:\n  a: x\n", "calve.yaml:2:6: loads.a holds keys and values"},
		{"no boolean", "catalog: {s3: {path_style: maybe}}\n", "catalog.s3.path_style is true or false"},
		{"null in a list", "loads:\n  a:\n    source: {null: [null]}\n", "loads.a.source.null holds a YAML null"},
		{"two documents", "loads: {}\n---\nloads: {}\n", "a second YAML document"},
		{"no YAML", "loads: [x\n", "calve.yaml:1:8: "},
		{"unset variable", "catalog: {s3: {secret_access_key: '${CALVE_TEST_UNSET}'}}\n", "catalog.s3.secret_access_key: the environment variable CALVE_TEST_UNSET is not set"},
		{"missing secret file", "catalog: {uri: '${file:/does/not/exist}'}\n", "catalog.uri: open /does/not/exist"},
		{"no anchor", "loads: {a: *x}\n", "no anchor &x above"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := decodeText(t, tc.text)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("readConfig(%q) = %v, want %q", tc.text, err, tc.want)
			}
			if !isConfig(err) {
				t.Errorf("readConfig(%q): %v is no configError", tc.text, err)
			}
		})
	}
}

func TestConfigScalarsAreTheirText(t *testing.T) {
	c, _, err := decodeText(t, `
loads:
  a: &a
    table: x.y
    source: {null: [NA, "", 010, no, 1.50], delimiter: "\t"}
    scope: {year: 2013, code: 010, day: 2013-01-01, yes: true}
    partition_by: [bucket(16, id), "day(t)"]
  b:
    <<: *a
    table: x.z
    partition_by: []
  c:
    source: {null: NA}
    partition_by:
`)
	if err != nil {
		t.Fatal(err)
	}
	a, b := c.Loads["a"], c.Loads["b"]
	if diff := cmp.Diff([]string{"NA", "", "010", "no", "1.50"}, a.Source.Null); diff != "" {
		t.Errorf("null: %s", diff)
	}
	if diff := cmp.Diff(map[string]string{"year": "2013", "code": "010", "day": "2013-01-01", "yes": "true"}, a.Scope); diff != "" {
		t.Errorf("scope: %s", diff)
	}
	if b.Table != "x.z" || b.Source.Delimiter != "\t" {
		t.Errorf("merged load = %+v", b)
	}
	if b.PartitionBy == nil || len(b.PartitionBy) != 0 {
		t.Errorf("partition_by: [] = %#v, want an empty list", b.PartitionBy)
	}
	if c.Loads["c"].PartitionBy != nil {
		t.Errorf("partition_by left out = %#v, want nil", c.Loads["c"].PartitionBy)
	}
	if diff := cmp.Diff([]string{"NA"}, c.Loads["c"].Source.Null); diff != "" {
		t.Errorf("null as one value: %s", diff)
	}
	l, err := c.load("a")
	if diff := cmp.Diff([]string{"bucket(16, id)", "day(t)"}, l.PartitionBy); diff != "" || err != nil {
		t.Errorf("partition_by: %v %s", err, diff)
	}
}

func TestConfigSecretsAreHidden(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CALVE_TEST_SECRET", "from: the [environment]")
	c, hidden, err := decodeText(t, `
catalog:
  type: sql
  uri: postgres://me:p%40ssword@db/x
  credential: client:s3cret
  token: bearer-token
  scope: some-scope
  oauth2_server_uri: http://login
  headers: {X-Realm: some-realm, Authorization: Basic abcd, X-Api-Key: api-key-value}
  s3: {region: "eu-${CALVE_TEST_SECRET}", secret_access_key: "${CALVE_TEST_SECRET}", path_style: false}
  properties: {token: "${file:`+file+`}", oauth2-server-uri: http://auth}
`)
	if err != nil {
		t.Fatal(err)
	}
	cfg, embedded := c.catalog("")
	no := false
	want := catalog.Config{
		Type: "sql", URI: "postgres://me:p%40ssword@db/x",
		S3: catalog.S3{Region: "eu-from: the [environment]", SecretAccessKey: "from: the [environment]", PathStyle: &no},
		Access: catalog.Access{
			Credential: "client:s3cret", Token: "bearer-token", Scope: "some-scope", OAuth2ServerURI: "http://login",
			Headers: map[string]string{"X-Realm": "some-realm", "Authorization": "Basic abcd", "X-Api-Key": "api-key-value"},
		},
		Properties: map[string]string{"token": "from-a-file", "oauth2-server-uri": "http://auth"},
	}
	if diff := cmp.Diff(want, cfg); diff != "" || embedded {
		t.Errorf("catalog() embedded %v: %s", embedded, diff)
	}
	a := app{secrets: hidden}
	got := a.hide("dial postgres://me:p%40ssword@db/x (p@ssword) with from: the [environment] and from-a-file at http://auth; client:s3cret, s3cret, bearer-token, Basic abcd, api-key-value for some-realm")
	if want := "dial postgres://me:***@db/x (***) with *** and *** at http://auth; ***, ***, ***, ***, *** for some-realm"; got != want {
		t.Errorf("hide() = %q, want %q", got, want)
	}
}

func TestConfigWarehouse(t *testing.T) {
	for _, tc := range []struct {
		name, flag, want string
		config           config
		embedded         bool
	}{
		{"nothing said", "", "lakehouse", config{dir: "."}, true},
		{"beside the file", "", "etc/lakehouse", config{dir: "etc"}, true},
		{"the flag", "here", "here", config{dir: "etc"}, true},
		{"a folder of the file's", "", "etc/wh", config{dir: "etc", Catalog: &catalogConfig{Warehouse: "wh"}}, true},
		{"a catalog", "", "s3://lake", config{dir: "etc", Catalog: &catalogConfig{Type: "rest", URI: "http://x", Warehouse: "s3://lake"}}, false},
		{"the flag over a catalog", "s3://b", "s3://b", config{dir: ".", Catalog: &catalogConfig{Type: "rest", Warehouse: "s3://lake"}}, false},
	} {
		cfg, embedded := tc.config.catalog(tc.flag)
		if cfg.Warehouse != tc.want || embedded != tc.embedded {
			t.Errorf("%s: catalog(%q) = %q, embedded %v; want %q, %v", tc.name, tc.flag, cfg.Warehouse, embedded, tc.want, tc.embedded)
		}
	}
}

func TestInitWritesAFileThatIsRead(t *testing.T) {
	c, _, err := decodeText(t, exampleConfig)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.load("payments"); err != nil {
		t.Fatal(err)
	}
	// What is commented out must be right as well.
	t.Setenv("LAKE_KEY", "k")
	t.Setenv("LAKE_SECRET", "s")
	t.Setenv("LAKE_TOKEN", "t")
	t.Setenv("LAKE_CREDENTIAL", "id:secret")
	t.Setenv("LAKE_SESSION", "t")
	var all []string
	for _, line := range strings.Split(exampleConfig, "\n") {
		bare := strings.TrimPrefix(strings.TrimPrefix(line, "# "), "    # ")
		key, _, found := strings.Cut(strings.TrimSpace(bare), ":")
		if bare != line && found && !strings.Contains(key, " ") && key != "calve.yaml" && key != "yaml-language-server" {
			line = strings.Replace(line, "# ", "", 1)
		}
		all = append(all, line)
	}
	c, _, err = decodeText(t, strings.Join(all, "\n"))
	if err != nil {
		t.Fatalf("%v in\n%s", err, strings.Join(all, "\n"))
	}
	if c.Catalog == nil || c.Catalog.S3.SecretAccessKey != "s" || c.Loads["payments"].Columns["event_time"].Timezone == "" {
		t.Errorf("not everything was uncommented: %+v in\n%s", c, strings.Join(all, "\n"))
	}
	if err := validate(t, compiledSchema(t), strings.Join(all, "\n")); err != nil {
		t.Error(err)
	}
	l := c.Loads["payments"]
	l.Scope = nil // its column is not among those that are listed
	source, err := l.arrowio()
	if err == nil {
		err = source.Validate()
	}
	if err != nil {
		t.Errorf("columns: %v", err)
	}
}

// Whatever is in the file, the answer is a config or an error with exit code 2.
func TestOddConfigs(t *testing.T) {
	for _, text := range []string{
		"? [a]\n: b\n", "? {a: b}\n: c\n", "--- \n...\n", "%YAML 1.2\n---\nloads: {}\n", "!!str loads: {}\n", "loads: !x {}\n",
		"loads: {a: &x {table: b.c}, d: {<<: *x, source: {null: [~]}}}", "loads: {a: {<<: 1}}", "loads: {a: {<<: [1]}}", "<<: {}", "a", "[", "{", "|",
		"loads:\n  a:\n    table: |\n      x.y\n    source:\n", "loads: {1: {table: x.y}, true: {}, null: {}}", "\x00", "\xff", "- a\n", "&a", "*a", "catalog: {s3: ~, properties: {a: [b]}}",
	} {
		if _, _, err := decodeText(t, text); err != nil && !isConfig(err) {
			t.Errorf("readConfig(%q): %v is no configError", text, err)
		}
	}
}
