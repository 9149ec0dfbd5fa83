package catalog_test

import (
	"errors"
	"os"
	"testing"

	"github.com/calve-data/calve/catalog"
	"github.com/calve-data/calve/lake"
	"github.com/calve-data/calve/testenv"
)

// There is no Glue to be had for a test run. CALVE_GLUE_URI names one, or a mock
// such as moto_server, which serves for plain reads and commits: it takes every
// version of a table for the present one, so nothing is said here of races.
func TestGlue(t *testing.T) {
	t.Parallel()
	uri := os.Getenv("CALVE_GLUE_URI")
	if uri == "" {
		t.Skip("CALVE_GLUE_URI is not set: name a Glue endpoint, or a mock of one such as moto_server")
	}
	s3 := testenv.MinIO(t)
	id := restID(t)
	config := catalog.Config{Type: "glue", URI: uri, Warehouse: s3.URL("warehouse"), S3: s3.Config()}
	cat, err := catalog.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cat.Close() })
	if _, err := cat.LoadTable(t.Context(), id); !errors.Is(err, lake.ErrNoTable) || !errors.Is(err, lake.ErrNoNamespace) {
		t.Errorf("LoadTable without a database: %v, want ErrNoTable and ErrNoNamespace", err)
	}
	if _, err := cat.Draft(t.Context(), id, testenv.EventSchema(), nil, nil); !errors.Is(err, lake.ErrNoNamespace) {
		t.Errorf("Draft without a database: %v, want ErrNoNamespace", err)
	}
	loadTwice(t, config, id)
}

func TestGlueWithoutRegion(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_S3_ENDPOINT", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	if _, err := catalog.Open(t.Context(), catalog.Config{Type: "glue"}); !errors.Is(err, lake.ErrUsage) {
		t.Errorf("Open without a region: %v, want ErrUsage", err)
	}
}
