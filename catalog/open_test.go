package catalog

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/lake"
)

func TestOpenRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		config Config
		want   string
	}{
		{Config{Type: "sqlit"}, "there are sqlite, sql, rest and glue"},
		{Config{Type: "hadoop"}, "object stores do not have"},
		{Config{Type: "hive"}, "locks"},
		{Config{Type: "nessie"}, "type rest"},
		{Config{Type: "glue", URI: "http://127.0.0.1:1"}, "catalog.s3.endpoint"},
		{Config{Access: Access{Token: "hunter2secret@"}}, "catalog.type rest"},
		{Config{Type: "rest", URI: "http://h", Access: Access{Token: "hunter2secret@", Credential: "c"}}, "exclude each other"},
		{Config{Type: "rest", URI: "http://h", Access: Access{Credential: "hunter2secret@", OAuth2ServerURI: "x"}}, "catalog.oauth2_server_uri"},
		{Config{Type: "sqlite", URI: "http://x"}, "catalog.type sql"},
		{Config{Warehouse: "s3://b/p"}, "must be a local folder"},
		{Config{Type: "sql", URI: "postgres://u:secret@h/db"}, "catalog.warehouse is required"},
		{Config{Type: "postgres", URI: "postgres://u:secret@h/db", Warehouse: "w"}, "write type sql"},
		{Config{Type: "sql", URI: "mysql://h/db", Warehouse: "w"}, "must be postgres://"},
		{Config{Type: "sql", URI: "file:/x.db"}, "catalog.warehouse is required"},
		{Config{Type: "rest"}, "catalog.uri"},
		{Config{Type: "rest", URI: "localhost:8181"}, "catalog.uri"},
		{Config{S3: S3{Endpoint: "localhost:9000"}}, "catalog.s3.endpoint"},
		{Config{S3: S3{Endpoint: "minio"}}, "catalog.s3.endpoint"},
		{Config{S3: S3{AccessKeyID: "only"}}, "catalog.s3.secret_access_key"},
	} {
		_, err := Open(t.Context(), tt.config)
		if !errors.Is(err, lake.ErrUsage) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Open(%+v) = %v, want ErrUsage with %q", tt.config, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret@") {
			t.Errorf("Open printed a password: %v", err)
		}
	}
}

func TestOpenSQLByURI(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, uri := range []string{"file:" + dir + "/a.db", "sqlite:///" + dir + "/b.db"} {
		cat := openTest(t, Config{Type: "sql", URI: uri, Warehouse: "s3://lake/wh/", Name: "prod"})
		if err := cat.CreateNamespace(t.Context(), table.Identifier{"n"}); err != nil {
			t.Fatal(err)
		}
		draft, err := cat.Draft(t.Context(), table.Identifier{"n", "t"}, paymentsSchema, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := "s3://lake/wh/n.db/t"; draft.Location() != want {
			t.Errorf("Draft is at %s, want %s", draft.Location(), want)
		}
	}
	for _, name := range []string{"a.db", "b.db"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenSQLiteNeedsItsFolder(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), Config{Type: "sql", URI: "file:" + t.TempDir() + "/missing/catalog.db", Warehouse: "s3://lake/wh"})
	if !errors.Is(err, lake.ErrNoCatalog) || !strings.Contains(err.Error(), "catalog.uri") {
		t.Errorf("Open: %v, want ErrNoCatalog with catalog.uri", err)
	}
}

func TestS3PropertiesAreExplicit(t *testing.T) {
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_S3_ENDPOINT", "AWS_REGION", "AWS_DEFAULT_REGION"} {
		t.Setenv(name, "")
	}
	no, yes := false, true
	for name, tt := range map[string]struct {
		config Config
		env    map[string]string
		want   iceberg.Properties
	}{
		"nothing": {want: iceberg.Properties{}},
		"endpoint": {
			config: Config{S3: S3{Endpoint: "http://h:9000/"}},
			want:   iceberg.Properties{io.S3EndpointURL: "http://h:9000", io.S3Region: "us-east-1", io.S3ForceVirtualAddressing: "false"},
		},
		"environment": {
			env:  map[string]string{"AWS_ENDPOINT_URL": "https://h", "AWS_REGION": "eu-west-1"},
			want: iceberg.Properties{io.S3EndpointURL: "https://h", io.S3Region: "eu-west-1", io.S3ForceVirtualAddressing: "false"},
		},
		"environment for S3 wins": {
			env:  map[string]string{"AWS_ENDPOINT_URL": "https://h", "AWS_ENDPOINT_URL_S3": "https://s3"},
			want: iceberg.Properties{io.S3EndpointURL: "https://s3", io.S3Region: "us-east-1", io.S3ForceVirtualAddressing: "false"},
		},
		"all, over the environment and the properties": {
			config: Config{
				S3:         S3{Endpoint: "https://h", Region: "r", AccessKeyID: "a", SecretAccessKey: "s", SessionToken: "t", PathStyle: &no, CompatMode: true},
				Properties: map[string]string{io.S3EndpointURL: "https://other", "x": "y"},
			},
			env: map[string]string{"AWS_ENDPOINT_URL": "https://env", "AWS_REGION": "eu-west-1"},
			want: iceberg.Properties{
				io.S3EndpointURL: "https://h", io.S3Region: "r", io.S3AccessKeyID: "a", io.S3SecretAccessKey: "s", io.S3SessionToken: "t",
				io.S3ForceVirtualAddressing: "true", io.S3CompatMode: "true", "x": "y",
			},
		},
		"path style on AWS": {
			config: Config{S3: S3{PathStyle: &yes}},
			want:   iceberg.Properties{io.S3ForceVirtualAddressing: "false"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range tt.env {
				t.Setenv(key, value)
			}
			got, err := tt.config.properties()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("properties (-want +got):\n%s", diff)
			}
		})
	}
}

const hostileHome = `default-catalog: lake
catalog:
  lake: {type: rest, uri: "http://127.0.0.1:1", warehouse: "s3://evil/wh", credential: "evil:evil"}
  default: {type: rest, uri: "http://127.0.0.1:1", warehouse: "s3://evil/wh"}
  sqlite: {type: sql, uri: "file:/evil.db", warehouse: "s3://evil/wh", sql-driver: evil, sql-dialect: evil}
`

// The library reads its home file when a program starts, so a new program is
// started with a hostile one.
func TestHomeFileOfIcebergGoIsIgnored(t *testing.T) {
	if dir := os.Getenv("CALVE_TEST_HOSTILE"); dir != "" {
		testUnderHostileHome(t, dir)
		return
	}
	t.Parallel()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".iceberg-go.yaml"), []byte(hostileHome), 0o600); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestHomeFileOfIcebergGoIsIgnored$")
	child.Env = append(os.Environ(), "HOME="+home, "GOICEBERG_HOME="+home, "CALVE_TEST_HOSTILE="+t.TempDir())
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("under a hostile home: %v\n%s", err, out)
	}
}

func testUnderHostileHome(t *testing.T, dir string) {
	cat := openTest(t, Config{Warehouse: dir})
	if err := cat.CreateNamespace(t.Context(), table.Identifier{"n"}); err != nil {
		t.Fatal(err)
	}
	draft, err := cat.Draft(t.Context(), table.Identifier{"n", "t"}, paymentsSchema, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := fileURL(dir) + "/n.db/t"; draft.Location() != want {
		t.Errorf("Draft is at %s, want %s", draft.Location(), want)
	}
	for key, value := range cat.props {
		if strings.Contains(value, "evil") || key == "credential" {
			t.Errorf("property %s = %s comes from the home file", key, value)
		}
	}
}
