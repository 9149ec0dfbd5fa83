package main

import (
	"net"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

// composeFile is as much of compose.yaml as calve.yaml must agree with.
type composeFile struct {
	Services map[string]struct {
		Image       string
		Command     string
		Entrypoint  []string
		Environment map[string]string
		Ports       []string
		Configs     []struct{ Source, Target string }
		DependsOn   any `yaml:"depends_on"`
	}
	Configs map[string]struct{ Content string }
	Name    string
}

// compose.yaml, the calve.yaml beside it and what calve connect prints say the
// same of hosts, ports, bucket and keys.
func TestComposeAgrees(t *testing.T) {
	t.Setenv("LAKE_KEY", "a key")
	t.Setenv("LAKE_SECRET", "a secret")
	text, err := os.ReadFile("demo/compose/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c composeFile
	if err := yaml.UnmarshalWithOptions(text, &c, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	config, _, err := readConfig("demo/compose/calve.yaml")
	if err != nil {
		t.Fatal(err)
	}

	pinned := regexp.MustCompile(`^[a-z/-]+:(RELEASE\.)?\d[\dTZ.-]*$`)
	variable := regexp.MustCompile(`\$\{(\w+)`)
	for name, s := range c.Services {
		if !pinned.MatchString(s.Image) {
			t.Errorf("%s: the image %s has no fixed version", name, s.Image)
		}
		for key, value := range s.Environment {
			for _, v := range variable.FindAllStringSubmatch(value, -1) {
				if want := config.written["catalog.s3.access_key_id"] + config.written["catalog.s3.secret_access_key"]; !strings.Contains(want, "${"+v[1]+"}") {
					t.Errorf("%s: %s reads %s, which calve.yaml does not", name, key, v[1])
				}
			}
		}
	}

	// What the host reaches at localhost, services reach by their names.
	hosts := map[string]string{config.Catalog.URI: "catalog", config.Catalog.S3.Endpoint: "object-store"}
	inside := func(uri string) string {
		u, err := url.Parse(uri)
		if err != nil {
			t.Fatal(err)
		}
		return "http://" + net.JoinHostPort(hosts[uri], u.Port())
	}
	for uri, name := range hosts {
		u, _ := url.Parse(uri)
		if want := "127.0.0.1:" + u.Port() + ":" + u.Port(); len(c.Services[name].Ports) != 1 || c.Services[name].Ports[0] != want {
			t.Errorf("%s: ports %v, calve.yaml expects %s", name, c.Services[name].Ports, want)
		}
	}
	catalog := c.Services["catalog"].Environment
	if catalog["CATALOG_WAREHOUSE"] != config.Catalog.Warehouse || catalog["CATALOG_S3_ENDPOINT"] != inside(config.Catalog.S3.Endpoint) || catalog["AWS_REGION"] != config.Catalog.S3.Region {
		t.Errorf("the catalog has %v, calve.yaml %+v", catalog, config.Catalog)
	}
	bucket, err := url.Parse(config.Catalog.Warehouse)
	if err != nil {
		t.Fatal(err)
	}
	if made := strings.Join(c.Services["bucket"].Entrypoint, " "); !strings.Contains(made, " lake/"+bucket.Host+";") {
		t.Errorf("the bucket %s is not made: %s", bucket.Host, made)
	}

	snippet := trinoSnippet(t, config)
	snippet = strings.NewReplacer(config.Catalog.URI, inside(config.Catalog.URI), config.Catalog.S3.Endpoint, inside(config.Catalog.S3.Endpoint)).Replace(snippet)
	mounted := c.Services["trino"].Configs[0]
	if diff := cmp.Diff(snippet, strings.ReplaceAll(c.Configs[mounted.Source].Content, "$$", "$")); diff != "" {
		t.Errorf("Trino's catalog; -calve connect +compose.yaml:\n%s", diff)
	}
	if mounted.Target != "/etc/trino/catalog/lake.properties" {
		t.Errorf("Trino's catalog is at %s", mounted.Target)
	}
}

// trinoSnippet is what calve connect prints for the table of the file's load,
// without its comments.
func trinoSnippet(t *testing.T, config *config) string {
	t.Helper()
	id, err := config.tableOf("flights")
	if err != nil {
		t.Fatal(err)
	}
	location := config.Catalog.Warehouse + "/" + strings.Join(id, "/")
	meta, err := table.NewMetadata(iceberg.NewSchema(0), iceberg.UnpartitionedSpec, table.UnsortedSortOrder, location, nil)
	if err != nil {
		t.Fatal(err)
	}
	to, err := newConnection(config, "", table.New(id, meta, location+"/metadata/0.metadata.json", nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	snippet, _, err := to.snippet("trino")
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(snippet, "")
}
