package testenv

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/calve-data/calve/arrowio"
	"github.com/calve-data/calve/catalog"
	"github.com/calve-data/calve/lake"
)

func TestStores(t *testing.T) {
	t.Parallel()
	for name, open := range Stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ExerciseStore(t, open)
		})
	}
}

// farMinIO is a MinIO of the test's own that speaks TLS, with a certificate
// that no machine knows, and is in a region of its own.
func farMinIO(t *testing.T) *S3 {
	t.Helper()
	const region = "eu-lab-1"
	ca := filepath.Join(t.TempDir(), "ca.pem")
	how := startMinIO(t, "MINIO_SITE_REGION="+region)
	how.scheme = "https"
	how.prepare = func(dir, _ string) error { return certify(ca, filepath.Join(dir, "certs")) }
	server := &server{}
	if _, err := server.start(how); err != nil {
		t.Fatalf("start MinIO with TLS: %v", err)
	}
	t.Cleanup(server.process.stop)
	return openS3(t, &S3{
		Endpoint: server.endpoint, AccessKey: server.key, SecretKey: server.secret, Region: region, CAFile: ca,
	}, bucketName(t.Name()))
}

// refusals checks what a source and a table of a store say with a setting that
// is wrong: both name it, and themselves.
func refusals(t *testing.T, s *S3, settings catalog.S3, kind error, names ...string) {
	t.Helper()
	cat := CatalogWith(t, catalog.Config{S3: settings, Warehouse: s.URL("refused")})
	s.Put("in.csv", []byte("id,event_time,region,value\n1,2026-05-04T10:00:00Z,eu,1\n"))
	load := lake.Load{Table: Ident("events"), TimeColumn: "event_time"}
	w, err := lake.ParseWindow(tripDay, nil)
	if err != nil {
		t.Fatal(err)
	}
	source, err := arrowio.New(arrowio.Config{Path: s.URL("in.csv")}, cat.Files())
	if err != nil {
		t.Fatal(err)
	}
	for what, source := range map[string]lake.Source{
		s.URL("in.csv"): source,
		".parquet":      Rows(t, EventArrow(), NewEvent(1, tripDay+"T10:00:00Z", "eu", 1).Row()),
	} {
		_, err := (&lake.Loader{Catalog: cat}).Load(t.Context(), load, source, w)
		for _, want := range append(names, what, "test.events") {
			if !errors.Is(err, kind) || !strings.Contains(err.Error(), want) {
				t.Errorf("Load = %v, want %v with %q", err, kind, want)
			}
		}
	}
}

func TestPrivateAuthorityAndRegion(t *testing.T) {
	t.Parallel()
	s := farMinIO(t)
	newTrip(t, s, catalog.Config{S3: s.Config()}, "").twice(t)
	for name, tt := range map[string]struct {
		change func(*catalog.S3)
		names  []string
	}{
		"NoCAFile":    {func(c *catalog.S3) { c.CAFile = "" }, []string{"catalog.s3.ca_file"}},
		"Http":        {func(c *catalog.S3) { c.Endpoint = strings.Replace(c.Endpoint, "https", "http", 1) }, []string{"catalog.s3.endpoint", "https://"}},
		"NoRegion":    {func(c *catalog.S3) { c.Region = "" }, []string{"catalog.s3.region", s.Region}},
		"WrongRegion": {func(c *catalog.S3) { c.Region = "us-west-2" }, []string{"catalog.s3.region", s.Region}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := s.Config()
			tt.change(&settings)
			refusals(t, s, settings, lake.ErrUsage, tt.names...)
		})
	}
}

// AWS answers for a bucket of another region with a redirect.
func TestRegionRedirect(t *testing.T) {
	t.Parallel()
	s := MinIO(t)
	proxy := NewProxy(t, s.Endpoint)
	proxy.Answer(func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("X-Amz-Bucket-Region", "eu-central-1")
		answerError(w, http.StatusMovedPermanently, "PermanentRedirect", "The bucket you are attempting to access must be addressed using the specified endpoint.")
		return true
	})
	settings := s.Config()
	settings.Endpoint = proxy.Endpoint
	refusals(t, s, settings, lake.ErrUsage, "catalog.s3.region")
}

// Temporary credentials, of a store that gives them out.
func TestSessionToken(t *testing.T) {
	t.Parallel()
	s := MinIO(t)
	sts, err := credentials.NewSTSAssumeRole(s.Endpoint, credentials.STSAssumeRoleOptions{
		AccessKey: s.AccessKey, SecretKey: s.SecretKey, Location: s.Region, DurationSeconds: 3600,
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := sts.GetWithContext(nil)
	if err != nil {
		t.Fatalf("assume a role: %v", err)
	}
	settings := s.Config()
	settings.AccessKeyID, settings.SecretAccessKey, settings.SessionToken = got.AccessKeyID, got.SecretAccessKey, got.SessionToken
	newTrip(t, s, catalog.Config{S3: settings}, "").twice(t)
	settings.SessionToken += "x"
	refusals(t, s, settings, lake.ErrDenied, "catalog.s3.session_token")
}

// The key may do some things and not others: its policy is named.
func TestDenied(t *testing.T) {
	t.Parallel()
	s := MinIO(t)
	policy := fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:ListBucket"],"Resource":["arn:aws:s3:::%s"]}]}`, s.Bucket)
	sts, err := credentials.NewSTSAssumeRole(s.Endpoint, credentials.STSAssumeRoleOptions{
		AccessKey: s.AccessKey, SecretKey: s.SecretKey, Location: s.Region, DurationSeconds: 3600, Policy: policy,
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := sts.GetWithContext(nil)
	if err != nil {
		t.Fatalf("assume a role: %v", err)
	}
	settings := s.Config()
	settings.AccessKeyID, settings.SecretAccessKey, settings.SessionToken = got.AccessKeyID, got.SecretAccessKey, got.SessionToken
	refusals(t, s, settings, lake.ErrDenied, "does not allow", "catalog.s3.access_key_id")
}

// Other engines find a table's files where its location, or its scheme, is not
// what it is as a URL.
func TestEnginesReadHardLocations(t *testing.T) {
	t.Parallel()
	for name, warehouse := range map[string]string{
		"escaped": "s3://%s/my data/a+b é",
		"s3a":     "s3a://%s/warehouse",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := MinIO(t)
			x := newTrip(t, s, catalog.Config{S3: s.Config(), Warehouse: fmt.Sprintf(warehouse, s.Bucket)}, "")
			x.twice(t)
			at := Load(t, x.cat, x.load.Table).MetadataLocation()
			if got := DuckDB(t, at, s, "select count(*), min(id) from {table}"); got[0][0] != "2" || got[0][1] != fmt.Sprint(x.n) {
				t.Errorf("DuckDB reads %v at %s, want 2 rows from id %d on", got, at, x.n)
			}
			if got := PyIceberg(t, at, s, PyScan{}); got.Count != 2 {
				t.Errorf("PyIceberg counts %d at %s, want 2 rows", got.Count, at)
			}
		})
	}
}
