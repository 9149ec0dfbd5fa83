package testenv

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// trinoVersion names the folder that `make engines` installs Trino into.
const trinoVersion = "trino-476"

// TrinoServer is a Trino. All tests of the binary share one process, which ends
// with it.
type TrinoServer struct {
	server
	mu       sync.Mutex
	catalogs map[string]bool // by name, that were added
}

//nolint:gochecknoglobals // one process for all tests of a binary: starting one takes half a minute
var theTrino TrinoServer

// Trino returns the server. Where it begins, its environment gets the keys of
// the store as LAKE_KEY and LAKE_SECRET, for catalogs that name them.
func Trino(tb testing.TB, s3 *S3) *TrinoServer {
	tb.Helper()
	heavy(tb)
	home := filepath.Join(cacheDir(), trinoVersion)
	need(tb, "Trino", home)
	jdk := java(tb, 24, 99)
	_, err := theTrino.start(starting{
		name: "trino", scheme: "http", patience: 10 * time.Minute,
		serves: func(*server) error {
			_, err := theTrino.ask("SELECT count(*) FROM system.runtime.nodes")
			return err
		},
		prepare: func(dir, address string) error { return writeTrinoConfig(dir, home, address) },
		env: func(*server) []string {
			return []string{"LAKE_KEY=" + s3.AccessKey, "LAKE_SECRET=" + s3.SecretKey}
		},
		command: func(dir, _ string) []string {
			return []string{
				filepath.Join(jdk, "bin", "java"), "-Xmx1500M", "-XX:+UseSerialGC", "-Djdk.attach.allowAttachSelf=true",
				"--add-modules=jdk.incubator.vector", "--sun-misc-unsafe-memory-access=allow", "-Duser.timezone=UTC",
				"-Dconfig=" + filepath.Join(dir, "config.properties"), "-cp", filepath.Join(home, "lib", "*"), "io.trino.server.TrinoServer",
			}
		},
	})
	if err != nil {
		tb.Fatalf("start Trino: %v", err)
	}
	return &theTrino
}

func writeTrinoConfig(dir, home, address string) error {
	config := "coordinator=true\nnode-scheduler.include-coordinator=true\n" +
		"http-server.log.enabled=false\nhttp-server.http.port=" + portOf(address) + "\ndiscovery.uri=http://" + address + "\n" +
		"query.max-memory=300MB\nquery.max-memory-per-node=300MB\nmemory.heap-headroom-per-node=300MB\n" +
		"plugin.dir=" + filepath.Join(home, "plugin") + "\ncatalog.management=dynamic\ncatalog.store=memory\n" +
		"node.environment=test\nnode.id=calve\nnode.internal-address=127.0.0.1\nnode.bind-ip=127.0.0.1\n"
	return os.WriteFile(filepath.Join(dir, "config.properties"), []byte(config), 0o600)
}

// Query answers a statement. Cells are in the text form of the package.
// {catalog} stands for the catalog, which is one of a REST server.
func (t *TrinoServer) Query(tb testing.TB, cat *AnyCatalog, statement string) [][]string {
	tb.Helper()
	alias := strings.ReplaceAll(cat.S3.Bucket, "-", "_")
	t.Catalog(tb, alias, fmt.Sprintf(`connector.name=iceberg
iceberg.catalog.type=rest
iceberg.rest-catalog.uri=%s
fs.native-s3.enabled=true
s3.endpoint=%s
s3.path-style-access=true
s3.region=%s
s3.aws-access-key=${ENV:LAKE_KEY}
s3.aws-secret-key=${ENV:LAKE_SECRET}
`, cat.Config.URI, cat.S3.Endpoint, cat.S3.Region))
	return t.QueryAs(tb, strings.ReplaceAll(statement, "{catalog}", alias))
}

// QueryAs answers a statement as it is.
func (t *TrinoServer) QueryAs(tb testing.TB, statement string) [][]string {
	tb.Helper()
	rows, err := t.ask(statement)
	if err != nil {
		tb.Fatalf("Trino: %s: %v", statement, err)
	}
	return rows
}

// Catalog adds a catalog, described as in a file of etc/catalog, where there is
// none of the name.
func (t *TrinoServer) Catalog(tb testing.TB, name, properties string) {
	tb.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.catalogs[name] {
		return
	}
	connector := ""
	var with []string
	for line := range strings.Lines(properties) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		switch {
		case !ok || strings.HasPrefix(key, "#"):
		case key == "connector.name":
			connector = value
		default:
			with = append(with, fmt.Sprintf("%q = '%s'", key, strings.ReplaceAll(value, "'", "''")))
		}
	}
	if _, err := t.ask(fmt.Sprintf("CREATE CATALOG %s USING %s WITH (%s)", name, connector, strings.Join(with, ", "))); err != nil {
		tb.Fatalf("Trino: catalog %s: %v", name, err)
	}
	if t.catalogs == nil {
		t.catalogs = map[string]bool{}
	}
	t.catalogs[name] = true
}

// trinoPage is one answer of Trino's protocol.
type trinoPage struct {
	NextURI string
	Columns []struct{ TypeSignature trinoType }
	Data    [][]any
	Error   *struct{ Message string }
}

// ask sends a statement and follows its pages to the end.
func (t *TrinoServer) ask(statement string) (rows [][]string, err error) {
	page, err := t.page(http.MethodPost, t.endpoint+"/v1/statement", statement)
	for ; err == nil; page, err = t.page(http.MethodGet, page.NextURI, "") {
		if page.Error != nil {
			return nil, errors.New(page.Error.Message)
		}
		for _, row := range page.Data {
			cells := make([]string, len(row))
			for i, v := range row {
				if cells[i], err = page.Columns[i].TypeSignature.text(v); err != nil {
					return nil, err
				}
			}
			rows = append(rows, cells)
		}
		if page.NextURI == "" {
			return rows, nil
		}
	}
	return nil, err
}

func (t *TrinoServer) page(method, uri, body string) (page trinoPage, err error) {
	req, err := http.NewRequest(method, uri, bytes.NewBufferString(body)) //nolint:noctx // for the binary, not for a test
	if err != nil {
		return page, err
	}
	req.Header.Set("X-Trino-User", "calve")
	req.Header.Set("X-Trino-Time-Zone", "UTC")
	req.Header.Set("X-Trino-Client-Capabilities", "PARAMETRIC_DATETIME") // without it times are rounded to milliseconds
	resp, err := (&http.Client{Timeout: time.Minute}).Do(req)
	if err != nil {
		return page, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return page, fmt.Errorf("status %s", resp.Status)
	}
	d := json.NewDecoder(resp.Body)
	d.UseNumber()
	return page, d.Decode(&page)
}
