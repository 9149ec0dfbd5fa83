package testenv

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/google/go-cmp/cmp"

	"github.com/calve-data/calve/lake"
)

// write appends the events by iceberg-go through cat: a small load that is not
// calve's, to try the injector on.
func write(ctx context.Context, t *testing.T, cat lake.Catalog) error {
	t.Helper()
	tbl, err := cat.LoadTable(ctx, Ident("events"))
	if err != nil {
		return err
	}
	src := Rows(t, EventArrow(), EventRows(events()[:2]...)...)
	var files int
	tx := tbl.NewTransaction()
	for f, err := range table.WriteRecords(ctx, tbl, EventArrow(), sequence(src.Batches[0])) {
		if err != nil {
			return err
		}
		files++
		delta := tx.NewRowDelta(nil)
		delta.AddRows(f)
		if err := delta.Commit(ctx); err != nil {
			return err
		}
	}
	if files != 1 {
		t.Errorf("%d data files, want 1", files)
	}
	_, err = tx.Commit(ctx)
	return err
}

func eventCatalog(t *testing.T) *LocalCatalog {
	t.Helper()
	cat := Catalog(t)
	CreateTable(t, cat, Ident("events"), EventSchema(), nil, nil)
	return cat
}

func TestEffectsOfAnAppend(t *testing.T) {
	t.Parallel()
	cat := eventCatalog(t)
	in := NewInjector(-1, Fail)
	if err := write(t.Context(), t, in.Catalog(cat)); err != nil {
		t.Fatal(err)
	}
	if in.Fired() || in.Dead() {
		t.Error("an injector that only writes down has fired")
	}
	Golden(t, "append.trace", strings.Join(in.Effects(), "\n")+"\n")
	if got := in.Count("commit"); got != 1 {
		t.Errorf("Count(commit) = %d, want 1", got)
	}
	if got, want := in.Paths("close data file"), DataFiles(t, Load(t, cat, Ident("events"))); !slices.Equal(got, want) {
		t.Errorf("Paths(close data file) = %v, want %v", got, want)
	}
}

// Whichever effect goes wrong, and however, the table is old or new, and it is
// new only where the effect was the commit and its answer was lost.
func TestEachEffectGoesWrong(t *testing.T) {
	t.Parallel()
	for _, fault := range []Fault{Fail, Hang, LostAnswer} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			for at := 0; ; at++ {
				cat := eventCatalog(t)
				ctx, cancel := context.WithCancel(t.Context())
				in := NewInjector(at, fault)
				in.StopAfter = at%2 == 0
				in.Until(ctx)
				if fault == Hang {
					in.OnFire = cancel
				}
				err := write(ctx, t, in.Catalog(cat))
				cancel()
				tbl := Load(t, cat, Ident("events"))
				for _, finding := range Audit(t.Context(), tbl) {
					t.Errorf("at %d: %v", at, finding)
				}
				if !in.Fired() {
					if at < 6 {
						t.Errorf("a load met only %d effects", at)
					}
					if err != nil {
						t.Errorf("a load without a fault: %v", err)
					}
					return
				}
				hit := in.Effects()[at]
				if !errors.Is(err, ErrInjected) {
					t.Errorf("at %d, %s: %v, want an injected error", at, hit, err)
				}
				landed := len(ReadAll(t, tbl)) > 0
				if want := hit == "commit" && fault == LostAnswer; landed != want {
					t.Errorf("at %d, %s: landed is %v, want %v", at, hit, landed, want)
				}
				if in.StopAfter && len(in.Effects()) != at+1 {
					t.Errorf("at %d: %d effects happened after the end", at, len(in.Effects())-at-1)
				}
				if fault == Hang && !errors.Is(err, context.Canceled) {
					t.Errorf("at %d, %s: %v, want context canceled too", at, hit, err)
				}
			}
		})
	}
}

// store runs every call of the wrapped file system once, and returns the first
// error of each.
func store(fsys iceio.IO, dir string) map[string]error {
	errs := map[string]error{}
	w := fsys.(iceio.WriteFileIO)
	errs["write"] = w.WriteFile(dir+"/a.avro", []byte("x"))
	_, errs["read whole"] = fsys.(iceio.ReadFileIO).ReadFile(dir + "/seed")
	f, err := fsys.Open(dir + "/seed")
	if errs["read"] = err; err == nil {
		_, errs["read"] = io.ReadAll(f)
		_ = f.Close()
	}
	c, err := w.Create(dir + "/b.parquet")
	if errs["create"] = err; err == nil {
		_, _ = c.Write([]byte("y"))
		errs["close"] = c.Close()
	}
	errs["list"] = fsys.(iceio.ListableIO).WalkDir(dir, func(string, fs.DirEntry, error) error { return nil })
	errs["remove"] = fsys.Remove(dir + "/a.avro")
	return errs
}

func TestFaultyStore(t *testing.T) {
	t.Parallel()
	// The order of the effects of store.
	for at, c := range []struct{ effect, kind string }{
		{"write", "write manifest"},
		{"read whole", "read object"},
		{"read", "read object"},
		{"create", "create data file"},
		{"close", "close data file"},
		{"list", "list object"},
		{"remove", "remove manifest"},
	} {
		for _, fault := range []Fault{Fail, LostAnswer} {
			dir := t.TempDir()
			if err := (iceio.LocalFS{}).WriteFile(dir+"/seed", []byte("s")); err != nil {
				t.Fatal(err)
			}
			in := NewInjector(at, fault)
			got := store(in.WrapIO(iceio.LocalFS{}), dir)
			for effect, err := range got {
				wrong := effect == c.effect || c.effect == "write" && fault == Fail && effect == "remove"
				if (err != nil) != wrong {
					t.Errorf("%s %s: %s gives %v", fault, c.effect, effect, err)
				}
			}
			if got := in.Effects()[at]; got != c.kind {
				t.Errorf("effect %d is %q, want %q", at, got, c.kind)
			}
			left, _ := filepath.Glob(dir + "/*.*")
			var want []string
			if c.effect == "remove" && fault == Fail {
				want = append(want, dir+"/a.avro")
			}
			// A lost answer of create leaves an object, as the call took effect.
			if (c.effect != "create" && c.effect != "close") || fault == LostAnswer {
				want = append(want, dir+"/b.parquet")
			}
			if diff := cmp.Diff(want, left); diff != "" {
				t.Errorf("%s %s leaves; -want +got:\n%s", fault, c.effect, diff)
			}
		}
	}
}

func TestStoppedLoadReadsAndWritesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := (iceio.LocalFS{}).WriteFile(dir+"/seed", []byte("s")); err != nil {
		t.Fatal(err)
	}
	in := NewInjector(2, Fail)
	in.StopAfter = true
	fsys := in.WrapIO(iceio.LocalFS{})
	f, err := fsys.Open(dir + "/seed")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	w, err := fsys.(iceio.WriteFileIO).Create(dir + "/open")
	if err != nil {
		t.Fatal(err)
	}
	if err := fsys.Remove(dir + "/seed"); !errors.Is(err, ErrInjected) {
		t.Errorf("Remove: %v, want the fault", err)
	}
	if _, err := f.Read(make([]byte, 1)); !errors.Is(err, ErrInjected) {
		t.Errorf("Read after the end: %v", err)
	}
	if _, err := f.ReadAt(make([]byte, 1), 0); !errors.Is(err, ErrInjected) {
		t.Errorf("ReadAt after the end: %v", err)
	}
	if _, err := w.Write([]byte("x")); !errors.Is(err, ErrInjected) {
		t.Errorf("Write after the end: %v", err)
	}
	if err := w.Close(); !errors.Is(err, ErrInjected) {
		t.Errorf("Close after the end: %v", err)
	}
	left, _ := filepath.Glob(dir + "/*")
	if diff := cmp.Diff([]string{dir + "/seed"}, left); diff != "" {
		t.Errorf("-want +left:\n%s", diff)
	}
	if got := in.Effects(); len(got) != 3 {
		t.Errorf("effects %v, want 3", got)
	}
}

// The wrapped store has the abilities of the one inside, no more.
func TestFaultyStoreKeepsAbilities(t *testing.T) {
	t.Parallel()
	in := NewInjector(-1, Fail)
	list, bulk := func(fsys iceio.IO) bool { _, ok := fsys.(iceio.ListableIO); return ok }, func(fsys iceio.IO) bool { _, ok := fsys.(iceio.BulkRemovableIO); return ok }
	s3 := CatalogOn(t, MinIO(t))
	CreateTable(t, s3, Ident("events"), EventSchema(), nil, nil)
	bucket, err := Load(t, s3, Ident("events")).FS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, inner := range map[string]iceio.IO{
		"local": iceio.LocalFS{}, "memory": iceio.NewMemFS(), "plain": iceio.FS(nil), "bucket": bucket,
	} {
		outer := in.WrapIO(inner)
		if list(outer) != list(inner) || bulk(outer) != bulk(inner) {
			t.Errorf("%s: lists %v, removes many %v; inside %v, %v", name, list(outer), bulk(outer), list(inner), bulk(inner))
		}
	}
	if !bulk(bucket) {
		t.Error("the bucket cannot remove many objects: this test sees one case less")
	}
}
