package testenv

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"github.com/calve-data/calve/lake"
)

var (
	faultSeed  = flag.Uint64("fault-seed", 0, "seed of the schedules of two faults; 0: a new one")
	faultPairs = flag.Int("fault-pairs", 0, "schedules of two faults for each shape of a load; 0: 20, in CI 300")
)

// misfortune is what befalls one run of a load.
type misfortune struct {
	at    int
	fault Fault
	// dies ends the run there, as if the process were gone; else it goes on, or
	// after a hanging call, cleans up.
	dies bool
}

func (m misfortune) String() string {
	if m.dies {
		return fmt.Sprintf("%s at effect %d, and gone", m.fault, m.at)
	}
	return fmt.Sprintf("%s at effect %d", m.fault, m.at)
}

// faultEverywhere lets each effect of a load fail, hang, and lose its answer,
// in runs that die of it and in runs that do not.
func (s shape) faultEverywhere(t *testing.T, at *site, total *toll, dies ...bool) {
	group := errgroup.Group{}
	group.SetLimit(4 * runtime.GOMAXPROCS(0))
	effects := s.effects(t, at)
	for n := 0; n < effects; n += stride() {
		for _, fault := range []Fault{Fail, Hang, LostAnswer} {
			for _, dies := range dies {
				group.Go(func() error { s.suffer(t, at, total, misfortune{n, fault, dies}); return nil })
			}
		}
	}
	_ = group.Wait()
}

// faultTwice lets a load go wrong, and its re-run too, at random.
func (s shape) faultTwice(t *testing.T, at *site, total *toll) {
	seed := *faultSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	pairs := *faultPairs
	if pairs == 0 {
		pairs = 20
		if os.Getenv("CI") != "" && !testing.Short() {
			pairs = 300
		}
	}
	t.Logf("%d schedules of two faults: -fault-seed %d", pairs, seed)
	random := rand.New(rand.NewPCG(seed, uint64(len(s.name))))
	effects := s.effects(t, at)
	one := func() misfortune {
		return misfortune{random.IntN(effects), Fault(random.IntN(3)), random.IntN(2) == 0}
	}
	group := errgroup.Group{}
	group.SetLimit(4 * runtime.GOMAXPROCS(0))
	for range pairs {
		first, second := one(), one()
		group.Go(func() error { s.suffer(t, at, total, first, second); return nil })
	}
	_ = group.Wait()
}

// effects is the number of effects that a clean load has.
func (s shape) effects(t *testing.T, at *site) int {
	name := s.tableName()
	s.prepare(t, at, name)
	in := NewInjector(-1, Fail)
	if err := s.load(t.Context(), t, at, name, &lake.Loader{Catalog: in.Catalog(at)}); err != nil {
		t.Fatal(err)
	}
	return len(in.Effects())
}

func (s shape) tableName() string {
	return fmt.Sprintf("%s_%016x", strings.ReplaceAll(s.name, " ", "_"), rand.Uint64())
}

func (s shape) prepare(tb testing.TB, at *site, name string) {
	if at.use(name); len(s.before) > 0 {
		at.run(tb, s.as(at.Ident(name)), "2026-05-03/2026-05-06", s.before...)
	}
}

// load is one run from within the test's process.
func (s shape) load(ctx context.Context, tb testing.TB, at *site, name string, l *lake.Loader) error {
	schema, rows := EventArrow(), EventRows(s.rows...)
	load := s.as(at.Ident(name))
	if s.extra != "" {
		schema = arrow.NewSchema(append(schema.Fields(), arrow.Field{Name: "extra", Type: arrow.BinaryTypes.String, Nullable: true}), nil)
		for _, row := range rows {
			row["extra"] = s.extra
		}
		load.Schema = lake.Evolve
	}
	_, err := l.Load(ctx, load, Rows(tb, schema, rows...), eventWindow(tb, s.window))
	return err
}

// suffer is one schedule: a run for each misfortune, and a plain one.
func (s shape) suffer(t *testing.T, at *site, total *toll, misfortunes ...misfortune) {
	name := s.tableName()
	s.prepare(t, at, name)
	for _, m := range misfortunes {
		if err := s.sufferOnce(t, at, name, m); errors.Is(err, lake.ErrBug) {
			t.Errorf("%s, %s: %v", name, m, err)
		}
	}
	total.faults.Add(1)
	if err := s.load(context.WithoutCancel(t.Context()), t, at, name, &lake.Loader{Catalog: at}); err != nil {
		total.manual.Add(1)
		t.Errorf("%s, %v: re-run: %v", name, misfortunes, err)
		return
	}
	if !s.compare(t, at, at.Ident(name), total) {
		t.Errorf("%s suffered: %v", name, misfortunes)
	}
}

func (s shape) sufferOnce(t *testing.T, at *site, name string, m misfortune) error {
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	in := NewInjector(m.at, m.fault)
	in.StopAfter = m.dies
	in.Until(ctx)
	l := &lake.Loader{Catalog: in.Catalog(at), Timeout: 10 * time.Second}
	if m.fault == Hang { // until the run is cancelled, which then may clean up or not
		in.OnFire = func() { stop(errors.New("cancelled")) }
	}
	return s.load(ctx, t, at, name, l)
}
