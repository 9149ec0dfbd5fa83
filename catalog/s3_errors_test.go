package catalog

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
)

// A store's answer must not be taken for a missing object, whatever digits are
// in it: gocloud.dev looks for 301 anywhere in the text of an error.
func TestErrorsOfStoresAreNotMissingObjects(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Amz-Request-Id", "17D301A4")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `<Error><Code>InvalidAccessKeyId</Code><Message>no such key 4301</Message></Error>`)
	}))
	t.Cleanup(server.Close)
	cat := openTest(t, Config{Type: "sql", URI: "file:" + t.TempDir() + "/c.db", Warehouse: "s3://b/wh", S3: S3{Endpoint: server.URL, AccessKeyID: "k", SecretAccessKey: "s"}})
	if err := cat.CreateNamespace(t.Context(), table.Identifier{"n"}); err != nil {
		t.Fatal(err)
	}
	draft, err := cat.Draft(t.Context(), table.Identifier{"n", "t"}, paymentsSchema, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	fs, err := draft.FS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for what, do := range map[string]func() error{
		"Open":      func() error { _, err := fs.Open("s3://b/wh/x"); return err },
		"Remove":    func() error { return fs.Remove("s3://b/wh/x") },
		"WriteFile": func() error { return fs.(icebergio.WriteFileIO).WriteFile("s3://b/wh/x", []byte("x")) },
	} {
		if err := do(); !errors.Is(err, lake.ErrDenied) || !strings.Contains(err.Error(), "catalog.s3.access_key_id") {
			t.Errorf("%s = %v, want ErrDenied with catalog.s3.access_key_id", what, err)
		}
	}
}

func TestCancelledRequestsStayCancelled(t *testing.T) {
	t.Parallel()
	if err := s3Error(fmt.Errorf("x: %w", context.Canceled)); errors.Is(err, lake.ErrTemporary) || errors.Is(err, lake.ErrUsage) {
		t.Errorf("s3Error = %v, want no more than that it was cancelled", err)
	}
}

// The SDK warns on stderr of a metadata service that turns it away, where
// nobody but the program may write.
func TestCredentialsAreLookedForInSilence(t *testing.T) {
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_EC2_METADATA_DISABLED", "AWS_ROLE_ARN",
		"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	t.Cleanup(server.Close)
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.URL)
	said, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer func(stderr *os.File) { os.Stderr = stderr }(os.Stderr)
	os.Stderr = said

	s, err := newStore(iceberg.Properties{icebergio.S3Region: "us-east-1"}, S3{})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := s.config(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cfg.Credentials.Retrieve(t.Context()); !errors.Is(err, lake.ErrUsage) {
		t.Errorf("Retrieve: %v, want ErrUsage", err)
	}
	if text, err := os.ReadFile(said.Name()); err != nil || len(text) > 0 {
		t.Errorf("on stderr: %s, %v", text, err)
	}
}
