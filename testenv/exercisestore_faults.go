package testenv

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/catalog"
	"github.com/calve-data/calve/lake"
)

// large is a source of incompressible rows, mib of them.
func large(t *testing.T, mib int) (*Source, []Event) {
	t.Helper()
	src := &Source{Schema: EventArrow()}
	var events []Event
	for i := range mib * 16 {
		noise := make([]byte, 48<<10)
		_, _ = rand.Read(noise) // it never fails
		e := NewEvent(int64(i), tripDay+"T10:00:00Z", base64.StdEncoding.EncodeToString(noise), 1)
		events = append(events, e)
		src.Batches = append(src.Batches, Batch(t, nil, src.Schema, e.Row()))
	}
	src.Batches = slices.Clip(src.Batches)
	src.Files = 1
	return src, events
}

// exerciseChecksums puts a store in front that takes no checksums in trailers,
// as older ones do: with compat_mode no request has one, small or in parts.
func exerciseChecksums(t *testing.T, s *S3) {
	proxy := NewProxy(t, s.Endpoint)
	var refused atomic.Int64
	proxy.Answer(func(w http.ResponseWriter, r *http.Request) bool {
		for name, values := range r.Header {
			value := strings.Join(values, ",")
			if name == "X-Amz-Trailer" || strings.HasPrefix(name, "X-Amz-Checksum-") || name == "X-Amz-Sdk-Checksum-Algorithm" ||
				strings.Contains(value, "aws-chunked") || strings.HasPrefix(value, "STREAMING-") {
				refused.Add(1)
				answerError(w, http.StatusBadRequest, "InvalidArgument", "aws-chunked encoding is not supported with the specified x-amz-content-sha256 value")
				return true
			}
		}
		return false
	})
	settings := s.Config()
	settings.Endpoint = proxy.Endpoint
	t.Run("Off", func(t *testing.T) {
		x := newTrip(t, s, catalog.Config{S3: settings, Warehouse: s.URL("off")}, s.URL("off/in.csv"))
		src, events := large(t, 1)
		_, err := x.from(t.Context(), t, lake.Loader{}, src, events...)
		if !errors.Is(err, lake.ErrUsage) || !strings.Contains(err.Error(), "catalog.s3.compat_mode") {
			t.Errorf("Load = %.300v, want ErrUsage with catalog.s3.compat_mode", err)
		}
		if refused.Load() == 0 {
			t.Error("no checksum was refused: the proxy does not do what it should")
		}
	})
	settings.CompatMode = true
	refused.Store(0)
	for _, mib := range []int{1, 20} {
		t.Run(fmt.Sprint(mib), func(t *testing.T) {
			at := s.URL(fmt.Sprint("on", mib))
			x := newTrip(t, s, catalog.Config{S3: settings, Warehouse: at}, at+"/in.csv")
			src, events := large(t, mib)
			if _, err := x.from(t.Context(), t, lake.Loader{}, src, events...); err != nil {
				t.Fatalf("Load: %.300v", err)
			}
			x.twice(t) // and reads: source, survivors, metadata
		})
	}
	if n := refused.Load(); n > 0 {
		t.Errorf("%d requests had checksums", n)
	}
}

func answerError(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>%s</Message></Error>`, code, message)
}

// exerciseLargeFile: a file that is uploaded in parts arrives whole.
func exerciseLargeFile(t *testing.T, s *S3) {
	proxy := NewProxy(t, s.Endpoint)
	var parts atomic.Int64
	proxy.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Has("partNumber") {
			parts.Add(1)
		}
		return false
	})
	settings := s.Config()
	settings.Endpoint = proxy.Endpoint
	x := newTrip(t, s, catalog.Config{S3: settings}, "")
	src, events := large(t, 20)
	if _, err := x.from(t.Context(), t, lake.Loader{}, src, events...); err != nil {
		t.Fatalf("Load: %.300v", err)
	}
	if parts.Load() < 2 {
		t.Errorf("%d parts were uploaded, want several", parts.Load())
	}
	if left := s.Uploads(); len(left) > 0 {
		t.Errorf("uploads are left: %v", left)
	}
}

// exerciseCancel: a load that is cancelled in the midst of an upload aborts it
// and leaves nothing.
func exerciseCancel(t *testing.T, s *S3) {
	ctx, cancel := context.WithCancel(t.Context())
	proxy := NewProxy(t, s.Endpoint)
	proxy.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("partNumber") == "2" {
			cancel()
		}
		return false
	})
	settings := s.Config()
	settings.Endpoint = proxy.Endpoint
	x := newTrip(t, s, catalog.Config{S3: settings}, "")
	src, events := large(t, 20)
	if _, err := x.from(ctx, t, lake.Loader{}, src, events...); !errors.Is(err, context.Canceled) {
		t.Errorf("Load = %.300v, want that it was cancelled", err)
	}
	if left := s.Uploads(); len(left) > 0 {
		t.Errorf("uploads are left: %v", left)
	}
	if left := s.Objects(""); len(left) > 0 {
		t.Errorf("objects are left: %v", left)
	}
}

// slowDown answers as an overloaded store does, n times for each kind of
// request that matters to a load; n below 0: for ever.
func slowDown(n int64, matters func(*http.Request) bool) func(http.ResponseWriter, *http.Request) bool {
	var seen atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !matters(r) || (n >= 0 && seen.Add(1) > n) {
			return false
		}
		answerError(w, http.StatusServiceUnavailable, "SlowDown", "Please reduce your request rate.")
		return true
	}
}

func isDataFile(r *http.Request) bool {
	return r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, ".parquet")
}

func isSource(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, ".csv")
}

// exerciseSlowDown: a store that is overloaded for a moment is asked again.
func exerciseSlowDown(t *testing.T, s *S3) {
	proxy := NewProxy(t, s.Endpoint)
	put, get := slowDown(2, isDataFile), slowDown(2, isSource)
	proxy.Answer(func(w http.ResponseWriter, r *http.Request) bool { return put(w, r) || get(w, r) })
	settings := s.Config()
	settings.Endpoint = proxy.Endpoint
	x := newTrip(t, s, catalog.Config{S3: settings}, "")
	if r, err := x.run(t.Context(), t, lake.Loader{}); err != nil || r.Attempts != 1 {
		t.Errorf("Load = %d attempts, %v, want one", r.Attempts, err)
	}
}

// exerciseSlowDownForEver: a store that stays overloaded is for another day.
func exerciseSlowDownForEver(t *testing.T, s *S3) {
	proxy := NewProxy(t, s.Endpoint)
	settings := s.Config()
	settings.Endpoint = proxy.Endpoint
	x := newTrip(t, s, catalog.Config{S3: settings}, "")
	x.twice(t)
	before := s.Objects("warehouse")
	for name, matters := range map[string]func(*http.Request) bool{"source": isSource, "data file": isDataFile} {
		proxy.Answer(slowDown(-1, matters))
		_, err := x.run(t.Context(), t, lake.Loader{})
		if !errors.Is(err, lake.ErrTemporary) || !lake.Untouched(err) || !strings.Contains(err.Error(), "overloaded") || !strings.Contains(err.Error(), "SlowDown") {
			t.Errorf("Load while the %s meets SlowDown = %v, want ErrTemporary that says so", name, err)
		}
	}
	if diff := cmp.Diff(before, s.Objects("warehouse")); diff != "" {
		t.Errorf("the store has changed; -before +after:\n%s", diff)
	}
	proxy.Answer(nil)
	x.twice(t)
}

// mistake is a wrong setting, and what the error must name.
type mistake struct {
	change func(*catalog.Config)
	what   error
	names  []string
}

func mistakes(s *S3) map[string]mistake {
	other := "https://"
	if strings.HasPrefix(s.Endpoint, "https://") {
		other = "http://"
	}
	u, _ := url.Parse(s.Endpoint)
	return map[string]mistake{
		"WrongKey":    {func(c *catalog.Config) { c.S3.AccessKeyID = "nobody" }, lake.ErrDenied, []string{"catalog.s3.access_key_id"}},
		"WrongSecret": {func(c *catalog.Config) { c.S3.SecretAccessKey = "wrong-secret" }, lake.ErrDenied, []string{"catalog.s3.secret_access_key"}},
		"NoBucket":    {func(c *catalog.Config) { c.Warehouse = "s3://calve-no-such-bucket/wh" }, lake.ErrUsage, []string{"bucket does not exist", "calve-no-such-bucket"}},
		"WrongScheme": {func(c *catalog.Config) { c.S3.Endpoint = other + u.Host }, lake.ErrUsage, []string{"catalog.s3.endpoint", strings.TrimSuffix(s.Endpoint, u.Host)}},
	}
}

// exerciseMistakes: a table that cannot be written names itself, its file, the
// setting, and what to do.
func exerciseMistakes(t *testing.T, s *S3) {
	for name, m := range mistakes(s) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := catalog.Config{S3: s.Config(), Warehouse: s.URL("wh")}
			m.change(&config)
			cat := CatalogWith(t, config)
			e := NewEvent(1, tripDay+"T10:00:00Z", "eu", 1)
			x := &trip{cat: cat, model: &Model{}, check: &Checker{}, load: lake.Load{Table: Ident("events"), TimeColumn: "event_time"}}
			_, err := x.from(t.Context(), t, lake.Loader{}, Rows(t, EventArrow(), e.Row()))
			for _, want := range append(m.names, "test.events", ".parquet") {
				if !errors.Is(err, m.what) || !strings.Contains(err.Error(), want) {
					t.Errorf("Load = %v, want %v with %q", err, m.what, want)
				}
			}
		})
	}
}

// exerciseSourceMistakes: the same of a source, with the pattern.
func exerciseSourceMistakes(t *testing.T, s *S3) {
	for name, m := range mistakes(s) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := catalog.Config{S3: s.Config(), Warehouse: s.URL("wh")}
			m.change(&config)
			files, err := catalog.NewFiles(config.S3)
			if err != nil {
				t.Fatal(err)
			}
			for _, pattern := range []string{"/a.csv", "/*.csv"} {
				pattern = config.Warehouse + pattern
				_, err := files.List(t.Context(), pattern)
				for _, want := range append(m.names, pattern) {
					if !errors.Is(err, m.what) || !strings.Contains(err.Error(), want) {
						t.Errorf("List(%s) = %v, want %v with %q", pattern, err, m.what, want)
					}
				}
			}
		})
	}
}
