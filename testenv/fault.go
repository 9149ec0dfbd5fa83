package testenv

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
)

// Fault is what happens to the effect that an [Injector] picks.
type Fault int

const (
	// Fail is a call that has no effect and returns an error.
	Fail Fault = iota
	// Hang is a call that blocks until its context, or that of [Injector.Until], is
	// done; then it returns an error and has had no effect.
	Hang
	// LostAnswer is a call that takes effect and then returns an error.
	LostAnswer
	// Pause is a call that goes well after [Injector.OnFire] was called: the
	// place for another writer to come in between.
	Pause
)

func (f Fault) String() string { return [...]string{"fail", "hang", "lost answer", "pause"}[f] }

// ErrInjected is what an injected error wraps.
var ErrInjected = errors.New("injected fault")

// Injector stands between a load and its object store and catalog. It numbers
// the effects of the load from 0, in the order in which they begin, writes them
// down, and lets one of them go wrong. A test loops over at = 0, 1, 2 … until a
// load meets no fault.
//
// Effects are, of the store: opening or reading an object, creating one,
// closing one that was created (which makes it visible), writing a whole one,
// removing, listing; of the catalog: loading a table, drafting one, committing.
// What a catalog reads and writes inside a call, such as metadata.json in a
// commit, is part of that one effect. Reads and writes in an open object are
// none.
//
// It is safe for concurrent use.
type Injector struct {
	// StopAfter ends the load at the fault: every call after it fails too and
	// has no effect, as if the process were gone.
	StopAfter bool
	// OnFire is called when the fault fires, before the call hangs or returns.
	OnFire func()

	at    int
	fault Fault

	mu      sync.Mutex
	effects []string
	paths   []string
	kinds   map[string]string
	fired   bool
	dead    bool
	until   context.Context // the load's; io.IO's calls carry none
}

// NewInjector lets the effect number at go wrong; -1: none, only write down.
func NewInjector(at int, f Fault) *Injector {
	return &Injector{at: at, fault: f, kinds: map[string]string{}, until: context.Background()} //nolint:forbidigo // until the test names the load's context
}

// Until names the load's context: a call without a context of its own that
// hangs, hangs until then.
func (in *Injector) Until(ctx context.Context) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.until = ctx
}

// Effects returns what happened so far, in order: "read manifest", "close data
// file", "commit". Paths are reduced to the kind of object, so that the list is
// the same for every run and fits a golden file.
func (in *Injector) Effects() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.effects)
}

// Count returns how often an effect such as "read manifest" happened.
func (in *Injector) Count(effect string) int {
	n := 0
	for _, e := range in.Effects() {
		if e == effect {
			n++
		}
	}
	return n
}

// Paths returns the objects of an effect such as "read data file", in order.
func (in *Injector) Paths(effect string) []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	var paths []string
	for i, e := range in.effects {
		if e == effect {
			paths = append(paths, in.paths[i])
		}
	}
	return paths
}

// Fired reports whether the fault has happened.
func (in *Injector) Fired() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.fired
}

// Dead reports whether the load was stopped at the fault.
func (in *Injector) Dead() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.dead
}

// effect runs one effect. do has the effect. It is not called where the fault
// or an earlier one forbids.
func (in *Injector) effect(ctx context.Context, verb, object string, do func() error) error {
	fire, until, err := in.begin(verb, object)
	if err != nil {
		return err
	}
	if !fire {
		return do()
	}
	if in.fault == LostAnswer {
		err = do()
	}
	if in.OnFire != nil {
		in.OnFire()
	}
	if in.fault == Pause {
		return do()
	}
	if in.fault == Hang {
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-until.Done():
			err = context.Cause(until)
		}
	}
	what := fmt.Errorf("%s at effect %d, %s: %w", in.fault, in.at, strings.TrimSpace(verb+" "+object), ErrInjected)
	return errors.Join(what, err)
}

func (in *Injector) begin(verb, object string) (fire bool, until context.Context, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.dead {
		return false, nil, fmt.Errorf("%s after the load was stopped: %w", verb, ErrInjected)
	}
	n := len(in.effects)
	in.effects = append(in.effects, strings.TrimSpace(verb+" "+in.kind(object)))
	in.paths = append(in.paths, object)
	if n != in.at {
		return false, nil, nil
	}
	in.fired, in.dead = true, in.StopAfter
	return true, in.until, nil
}

// kind reduces a location to the kind of its object. Whether an Avro file is a
// manifest or a list of them is known from its name or from when it was written.
func (in *Injector) kind(location string) string {
	if kind, ok := in.kinds[location]; ok {
		return kind
	}
	name := path.Base(location)
	switch {
	case location == "":
		return ""
	case strings.HasSuffix(name, ".metadata.json"):
		return "metadata.json"
	case strings.HasSuffix(name, ".avro") && strings.HasPrefix(name, "snap-"):
		return "manifest list"
	case strings.HasSuffix(name, ".avro"):
		return "manifest"
	case strings.HasSuffix(name, ".parquet"):
		return "data file"
	}
	return "object"
}

// learn remembers what kind of Avro file is about to be written.
func (in *Injector) learn(location string, content []byte) {
	if !strings.HasSuffix(location, ".avro") {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.kinds[location] = "manifest"
	if header := content[:min(len(content), 4096)]; strings.Contains(string(header), "manifest_path") {
		in.kinds[location] = "manifest list"
	}
}
