package catalog_test

import (
	"testing"

	"github.com/calve-data/calve/catalog"
	"github.com/calve-data/calve/testenv"
)

// The laboratory imports this package, so only its outside can import the
// laboratory: the tests inside get their store from here.
var _ = func() bool {
	catalog.StoreForTest = func(t *testing.T) catalog.S3 {
		t.Helper()
		s3 := testenv.MinIO(t)
		return catalog.S3{Endpoint: s3.Endpoint, Region: s3.Region, AccessKeyID: s3.AccessKey, SecretAccessKey: s3.SecretKey}
	}
	return true
}()
