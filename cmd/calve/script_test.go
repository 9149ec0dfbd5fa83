package main

import (
	"errors"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"calve": main})
}

// TestScripts plays the scenes of testdata/script, which are the user's manual
// as well: each runs calve as a user types it, in a folder of its own.
//
// The command "exits N calve …" demands the exit code N.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 {
					ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
				}
				want, err := strconv.Atoi(args[0])
				ts.Check(err)
				var failed *exec.ExitError
				code := 0
				if err := ts.Exec(args[1], args[2:]...); errors.As(err, &failed) {
					code = failed.ExitCode()
				} else {
					ts.Check(err)
				}
				if code != want {
					ts.Fatalf("exit code %d, want %d", code, want)
				}
			},
		},
	})
}
