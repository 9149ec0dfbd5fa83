package catalog

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
