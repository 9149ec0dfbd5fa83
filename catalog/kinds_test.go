package catalog_test

import (
	"testing"

	"github.com/calve-data/calve/catalog"
	"github.com/calve-data/calve/testenv"
)

// As in minio_test.go: the tests inside get their catalogs from here.
var _ = func() bool {
	catalog.KindsForTest = map[string]func(*testing.T) catalog.Config{}
	for _, kind := range testenv.Kinds() {
		catalog.KindsForTest[kind.Name] = func(t *testing.T) catalog.Config {
			t.Helper()
			return kind.New(t, testenv.MinIO(t)).Config
		}
	}
	return true
}()
