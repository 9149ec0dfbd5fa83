package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/calve-data/calve/testenv"
)

const storeConfig = `catalog:
  type: sql
  uri: file:catalog.db
  warehouse: s3a://%[1]s/warehouse
  s3: {endpoint: '%[2]s', %[3]s}
loads:
  events:
    table: demo.events
    time_column: at
    source: {path: 's3://%[1]s/in/*.csv'}
`

// What is wrong with a store ends a load with the right exit code and a message
// that names the setting, the table, and what was being read or written.
func TestStoreMistakes(t *testing.T) {
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION",
		"AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	s3 := testenv.MinIO(t)
	s3.Put("in/a.csv", []byte("at,id\n2026-05-04T10:00:00Z,1\n"))
	overloaded := testenv.NewProxy(t, s3.Endpoint)
	overloaded.Answer(func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	keys := fmt.Sprintf("access_key_id: %s, secret_access_key: %s", s3.AccessKey, s3.SecretKey)
	for _, tc := range []struct {
		name, endpoint, settings string
		code                     int
		says                     []string
	}{
		{"good", s3.Endpoint + "/", keys + ", compat_mode: true, path_style: true", 0, nil},
		{"no credentials", s3.Endpoint, "region: us-east-1", 2, []string{"catalog.s3.access_key_id", "catalog.s3.secret_access_key", "demo.events"}},
		{"wrong secret", s3.Endpoint, "access_key_id: " + s3.AccessKey + ", secret_access_key: nonsense", 1, []string{"catalog.s3.secret_access_key", "demo.events", "/in/*.csv"}},
		{"half a key", s3.Endpoint, "access_key_id: " + s3.AccessKey, 2, []string{"catalog.s3.secret_access_key"}},
		{"https", strings.Replace(s3.Endpoint, "http:", "https:", 1), keys, 2, []string{"catalog.s3.endpoint", "http://", "demo.events"}},
		{"no such CA file", s3.Endpoint, keys + ", ca_file: missing.pem", 2, []string{"catalog.s3.ca_file", "missing.pem"}},
		{"nobody there", "http://127.0.0.1:1", keys, 75, []string{"catalog.s3.endpoint", "demo.events", "run the same command again"}},
		{"overloaded", overloaded.Endpoint, keys, 75, []string{"overloaded", "demo.events", "run the same command again"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			config := fmt.Sprintf(storeConfig, s3.Bucket, tc.endpoint, tc.settings)
			if err := os.WriteFile(filepath.Join(dir, "calve.yaml"), []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), []string{"load", "events", "--window", "2026-05-04", "--create-namespace", "--timeout", "20s"}, nil, &stdout, &stderr)
			if code != tc.code {
				t.Errorf("exit code %d, want %d\n%s", code, tc.code, stderr.String())
			}
			for _, want := range tc.says {
				if !strings.Contains(stderr.String(), want) {
					t.Errorf("stderr has no %q:\n%s", want, stderr.String())
				}
			}
			if strings.Contains(stderr.String(), s3.SecretKey) {
				t.Errorf("stderr shows the secret:\n%s", stderr.String())
			}
		})
	}
}
