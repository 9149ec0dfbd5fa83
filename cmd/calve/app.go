package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/alecthomas/kong"
)

// commands is the command line. What each command does is in its own file.
type commands struct {
	Load     loadCommand     `cmd:"" help:"Load a window of a source into a table."`
	Backfill backfillCommand `cmd:"" help:"Load many windows, one after another or several at a time."`
	Plan     planCommand     `cmd:"" help:"Show what a load would do, touching nothing."`
	Verify   verifyCommand   `cmd:"" help:"Compare a window of the table with its source, and say why they differ."`
	Check    checkCommand    `cmd:"" help:"Say whether a load is safe to run again, before it runs."`
	History  historyCommand  `cmd:"" help:"List the snapshots of a table, newest first."`
	Rows     rowsCommand     `cmd:"" help:"Print rows of a table, or count them."`
	Connect  connectCommand  `cmd:"" help:"Print how another engine reads a table."`
	Undo     undoCommand     `cmd:"" help:"Go back to the snapshot before a load."`
	Maintain maintainCommand `cmd:"" help:"Expire snapshots, delete orphans and old metadata files."`
	Init     initCommand     `cmd:"" help:"Write a commented calve.yaml to start from."`
	Schema   schemaCommand   `cmd:"" help:"Print the JSON schema of calve.yaml, for editors."`
	Version  versionCommand  `cmd:"" help:"Print the version."`

	ShowVersion versionFlag `name:"version" help:"Print the version."`
}

const about = `calve loads a window of source data into an Apache Iceberg table, safely and
repeatably: the window's rows become the source's rows in one snapshot, or the
table stays exactly as it was. Running a load again is always safe.`

// app is one run of the program: where its output goes, and what it will say
// at its end.
type app struct {
	stdout, stderr io.Writer
	// json and resultFile ask for the answer as one line of JSON.
	json       bool
	resultFile string
	// answer is what that line says; see answers.
	answer answer
	mu     sync.Mutex // over answer
	// table is the table the command is about, for hints; empty until known.
	table string
	// secrets are values that no message may show.
	secrets []string
	// sent is true once a commit was given to the catalog: until its outcome was
	// read the table is old or new.
	sent atomic.Bool
	// ending is set by whoever says how the command ended; written is closed
	// once the result file is there.
	ending  atomic.Pointer[failure]
	written chan struct{}
}

// newApp looks for --json and --result-file before anything is parsed, so that
// a command line with a mistake in it is still answered in the asked form.
func newApp(args []string, stdout, stderr io.Writer) *app {
	a := &app{stdout: stdout, stderr: stderr, answer: noAnswer{}, written: make(chan struct{})}
	for i, arg := range args {
		switch value, given := strings.CutPrefix(arg, "--result-file="); {
		case arg == "--":
			return a
		case i == 0 && arg == "load":
			a.answer = loadAnswer{}
		case i == 0 && arg == "maintain":
			a.answer = maintenanceAnswer{}
		case i == 0 && arg == "undo":
			a.answer = undoAnswer{}
		case arg == "--json":
			a.json = true
		case given:
			a.resultFile = value
		case arg == "--result-file" && i+1 < len(args):
			a.resultFile = args[i+1]
		}
	}
	return a
}

// shown is what kong's exit becomes: help was printed, nothing is left to do.
type shown struct{}

// run is one command, from its arguments to its exit code.
func (a *app) run(ctx context.Context, args []string) int {
	return a.finish(ctx, a.dispatch(ctx, args))
}

func (a *app) dispatch(ctx context.Context, args []string) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case shown:
			a.json, a.resultFile, err = false, "", nil
		default:
			err = a.bug(p)
		}
	}()
	if len(args) > 0 && args[0] == "help" { // calve help load
		args = append(slices.Clone(args[1:]), "--help")
	}
	var cmds commands
	parser, err := kong.New(&cmds,
		kong.Name("calve"), kong.Description(about),
		kong.Writers(a.stdout, a.stderr),
		kong.Exit(func(int) { panic(shown{}) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 100, NoAppDescFormat: true}),
		kong.ExplicitGroups([]kong.Group{
			{Key: "window", Title: "Window:"},
			{Key: "source", Title: "Source:"},
			{Key: "table", Title: "Table:"},
			{Key: "mode", Title: "Mode:"},
			{Key: "catalog", Title: "Catalog:"},
			{Key: "gaps", Title: "Gaps:"},
		}),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(a),
	)
	if err != nil {
		return err
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return usage("%v", err)
	}
	return parsed.Run()
}

// finish says how the command ended, in the form that was asked for, and
// returns the exit code.
func (a *app) finish(ctx context.Context, err error) int {
	f := a.explain(ctx, err)
	if !a.ending.CompareAndSwap(nil, &f) {
		select {} // a second signal is ending the process
	}
	a.end(f)
	return f.code
}

// end is the last that is heard of a command: the error for people, then the
// line for machines, which must be the last also where stderr goes to stdout.
func (a *app) end(f failure) {
	if f.code != 0 {
		fmt.Fprintf(a.stderr, "calve: %s\n", f.Message)
		if f.Hint != "" {
			fmt.Fprintf(a.stderr, "(%s)\n", f.Hint)
		}
	}
	if err := a.respond(f); err != nil {
		// The table is as f says; only the saying of it went wrong.
		fmt.Fprintf(a.stderr, "calve: %v\n", err)
	}
}

// hide replaces every secret in a message.
func (a *app) hide(message string) string {
	for _, s := range a.secrets {
		message = strings.ReplaceAll(message, s, "***")
	}
	return message
}

// usageError is a mistake on the command line.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

func usage(format string, args ...any) error {
	return usageError{fmt.Sprintf(format, args...)}
}

func isUsage(err error) bool {
	var u usageError
	return errors.As(err, &u)
}
