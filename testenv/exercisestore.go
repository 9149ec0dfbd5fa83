package testenv

import (
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/calve-data/calve/arrowio"
	"github.com/calve-data/calve/catalog"
	"github.com/calve-data/calve/lake"
)

// ExerciseStore is the conformance suite of object stores: what a load asks of
// a store that holds its table and its source, each promise a sub-test with a
// bucket of its own, which open makes. [NewS3] is one of a store of one's own.
// The catalog is SQLite, for the store alone is on trial.
func ExerciseStore(t *testing.T, open func(testing.TB) *S3) {
	for name, exercise := range map[string]func(*testing.T, *S3){
		"Case113PathStyle":        exercisePathStyle,
		"Case113VirtualHost":      exerciseVirtualHost,
		"Case113Schemes":          exerciseSchemes,
		"Case113BucketWithDot":    exerciseDottedBucket,
		"Case48SourceKeys":        exerciseSourceKeys,
		"Case48TableLocations":    exerciseLocations,
		"Case111RefusedChecksums": exerciseChecksums,
		"LargeFile":               exerciseLargeFile,
		"CancelledUpload":         exerciseCancel,
		"SlowDown":                exerciseSlowDown,
		"SlowDownForEver":         exerciseSlowDownForEver,
		"SettingIsNamed":          exerciseMistakes,
		"SettingOfSourceIsNamed":  exerciseSourceMistakes,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exercise(t, open(t))
		})
	}
}

// trip is a table and a source in a store, and how they are reached.
type trip struct {
	cat   *LocalCatalog
	model *Model
	check *Checker
	load  lake.Load
	// source is the URL of the file that is loaded; put writes it.
	source string
	put    func(content string)
	n      int64
}

const tripDay = "2026-05-04"

// newTrip makes a catalog with the settings, which the test ends with a check of.
func newTrip(t *testing.T, s *S3, config catalog.Config, source string) *trip {
	t.Helper()
	if config.Warehouse == "" {
		config.Warehouse = s.URL("warehouse")
	}
	if source == "" {
		source = s.URL("source/events.csv")
	}
	_, place, _ := strings.Cut(source, "://")
	_, key, _ := strings.Cut(place, "/")
	x := &trip{
		cat: CatalogWith(t, config), model: &Model{}, source: source,
		load: lake.Load{Table: Ident("events"), TimeColumn: "event_time"},
		put:  func(content string) { s.Put(key, []byte(content)) },
	}
	x.check = Check(t, x.cat, x.load.Table, x.model.Strings)
	return x
}

// window is the day that is loaded.
func (x *trip) window(t *testing.T) lake.Window {
	t.Helper()
	w, err := lake.ParseWindow(tripDay, nil)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// run writes other rows than before into the source and loads them.
func (x *trip) run(ctx context.Context, t *testing.T, loader lake.Loader) (lake.Receipt, error) {
	t.Helper()
	x.n += 10
	events := []Event{
		NewEvent(x.n, tripDay+"T00:00:00Z", "eu", x.n), NewEvent(x.n+1, tripDay+"T23:59:59Z", "us", x.n),
		NewEvent(x.n+2, "2026-05-05T00:00:00Z", "eu", x.n), // outside
	}
	var csv strings.Builder
	csv.WriteString("id,event_time,region,value\n")
	for _, e := range events {
		fields := strings.Fields(e.String())
		fmt.Fprintf(&csv, "%s,%s,%s,%s\n", fields[0], fields[1], strings.Trim(fields[2], `"`), fields[3])
	}
	x.put(csv.String())
	source, err := arrowio.New(arrowio.Config{Path: x.source}, x.cat.Files())
	if err != nil {
		t.Fatal(err)
	}
	return x.from(ctx, t, loader, source, events...)
}

// from loads a source that holds the events.
func (x *trip) from(ctx context.Context, t *testing.T, loader lake.Loader, source lake.Source, events ...Event) (lake.Receipt, error) {
	t.Helper()
	w := x.window(t)
	loader.Catalog = x.cat
	r, err := loader.Load(ctx, x.load, source, w)
	if err == nil {
		x.model.Replace(w, "", events...)
		x.check.Loaded(r)
	}
	return r, err
}

// twice loads two versions of the day, of which the second stays.
func (x *trip) twice(t *testing.T) {
	t.Helper()
	for range 2 {
		if _, err := x.run(t.Context(), t, lake.Loader{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := ReadAll(t, Load(t, x.cat, x.load.Table)); !slices.Equal(got, x.model.Strings()) {
		t.Errorf("the table holds %q, want %q", got, x.model.Strings())
	}
}

func exercisePathStyle(t *testing.T, s *S3) {
	yes := true
	for name, change := range map[string]func(*catalog.S3){
		"AsItIs":                 func(*catalog.S3) {},
		"Said":                   func(c *catalog.S3) { c.PathStyle = &yes },
		"NoRegion":               func(c *catalog.S3) { c.Region = "" },
		"EndpointWithSlash":      func(c *catalog.S3) { c.Endpoint += "/" },
		"EndpointWithTwoSlashes": func(c *catalog.S3) { c.Endpoint += "//" },
	} {
		t.Run(name, func(t *testing.T) {
			settings := s.Config()
			change(&settings)
			newTrip(t, s, catalog.Config{S3: settings, Warehouse: s.URL(name)}, s.URL(name+"/in.csv")).twice(t)
		})
	}
}

// exerciseVirtualHost asks for host names of buckets. They are in no DNS, so the
// requests go through a proxy.
func exerciseVirtualHost(t *testing.T, s *S3) {
	if s.Domain == "" {
		t.Skip("the store takes no host names of buckets")
	}
	no := false
	proxy := NewProxy(t, s.Endpoint)
	settings := s.Config()
	settings.Endpoint, settings.PathStyle = "http://"+s.Domain, &no
	newTrip(t, s, catalog.Config{S3: settings, Properties: map[string]string{"s3.proxy-uri": proxy.Endpoint}}, "").twice(t)
	for _, r := range proxy.Requests() {
		if strings.Contains(r, s.Bucket) {
			t.Errorf("%s has the bucket in its path", r)
		}
	}
	if len(proxy.Requests()) == 0 {
		t.Error("no request went by host name")
	}
}

func exerciseSchemes(t *testing.T, s *S3) {
	for _, scheme := range []string{"s3a", "s3n"} {
		t.Run(scheme, func(t *testing.T) {
			at := scheme + "://" + s.Bucket + "/" + scheme
			x := newTrip(t, s, catalog.Config{S3: s.Config(), Warehouse: at}, at+"/in/events.csv")
			// A table that another writer made and filled, all under its name for S3.
			CreateTable(t, x.cat, x.load.Table, EventSchema(), EventsByDay(), nil)
			other := []Event{NewEvent(1, tripDay+"T10:00:00Z", "xx", 1), NewEvent(2, "2026-05-03T10:00:00Z", "xx", 1)}
			AppendRows(t, x.cat, x.load.Table, EventRows(other...)...)
			x.model.Append(other...)
			x.twice(t)
			for _, path := range DataFiles(t, Load(t, x.cat, x.load.Table)) {
				if !strings.HasPrefix(path, at+"/") {
					t.Errorf("data file %s is not under %s", path, at)
				}
			}
			if list, err := x.cat.Files().List(t.Context(), at+"/in/*"); err != nil || len(list) != 1 || list[0].Path != x.source {
				t.Errorf("List = %v, %v, want %s", list, err, x.source)
			}
		})
	}
}

func exerciseDottedBucket(t *testing.T, s *S3) {
	dotted := s.Another(fmt.Sprintf("calve.dot.%08x", mathrand.Uint32()))
	newTrip(t, dotted, catalog.Config{S3: dotted.Config()}, "").twice(t)
}

// hardNames are keys that are not what they are as a URL, or as a pattern.
func hardNames() []string {
	return []string{"a b#c%20d+é?.csv", "100%.csv", "[x]{y}*.csv", "日本/ø+ü #1.csv", "q?a=b&c.csv", "%2F%zz.csv"}
}

func exerciseSourceKeys(t *testing.T, s *S3) {
	for i, name := range hardNames() {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			at := s.URL(fmt.Sprintf("%d/in/", i))
			x := newTrip(t, s, catalog.Config{S3: s.Config(), Warehouse: s.URL(fmt.Sprintf("%d/wh", i))}, at+name)
			x.twice(t)
			list, err := x.cat.Files().List(t.Context(), at+"**/*.csv")
			if err != nil || len(list) != 1 || list[0].Path != x.source {
				t.Errorf("List = %v, %v, want %q", list, err, x.source)
			}
		})
	}
}

// exerciseLocations: a table's files lie below its location, as it is written.
func exerciseLocations(t *testing.T, s *S3) {
	for i, folder := range []string{"my data", "a+b", "été/日本", "a%20b", "100%25"} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			x := newTrip(t, s, catalog.Config{S3: s.Config(), Warehouse: s.URL(folder)}, s.URL(fmt.Sprintf("in/%d.csv", i)))
			x.twice(t)
			var kinds []string
			for _, key := range s.Objects(folder + "/") {
				kinds = append(kinds, path.Ext(key))
			}
			if !slices.Contains(kinds, ".parquet") || !slices.Contains(kinds, ".avro") {
				t.Errorf("below %s/ there are %v, want data files and manifests", folder, kinds)
			}
		})
	}
	for _, folder := range []string{"a#b", "a?b", "100%"} {
		cat := CatalogWith(t, catalog.Config{S3: s.Config(), Warehouse: s.URL(folder)})
		_, err := cat.Draft(t.Context(), Ident("x"), EventSchema(), EventsByDay(), nil)
		if !errors.Is(err, lake.ErrUsage) || !strings.Contains(err.Error(), s.URL(folder)) {
			t.Errorf("Draft in %s = %v, want ErrUsage with the location", folder, err)
		}
	}
}
