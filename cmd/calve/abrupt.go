package main

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/calve-data/calve/lake"
)

// This file is about ends that no command chose: a second signal, and bugs.
// They are answered in the asked form too, for an orchestrator reads the result
// file, not the stack.

// heard tells people that their signal arrived: letting go of uploads and
// staged files takes a moment, and a commit that was sent is waited for.
func (a *app) heard(by interrupted) {
	fmt.Fprintf(a.stderr, "calve: %v: cleaning up; a second signal quits at once\n", by)
}

// quit answers a second signal, which must not wait for the clean-up, and
// returns the exit code. Where the command is saying just now how it ended, its
// result file is waited for, but not its stdout, which may be blocked.
func (a *app) quit(by interrupted) int {
	f := a.interruption(by, fmt.Errorf("%w, and again: quit without cleaning up", by))
	if a.ending.CompareAndSwap(nil, &f) {
		a.end(f)
		return f.code
	}
	select {
	case <-a.written:
	case <-time.After(time.Second):
	}
	return a.ending.Load().code
}

// bug is the error that a panic becomes. Once a commit was sent nobody can say
// any more how the table is.
func (a *app) bug(p any) error {
	err := fmt.Errorf("%w: %v\n%s", lake.ErrBug, p, debug.Stack())
	if a.sent.Load() {
		return fmt.Errorf("%w: %w", lake.ErrUnknown, err)
	}
	return err
}
