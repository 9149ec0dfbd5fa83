// Command calve loads a window of source data into an Apache Iceberg table,
// safely and repeatably.
//
// This package is the words for people and machines around [lake]: flags and
// calve.yaml come in, exit codes, receipts and hints go out. It decides nothing
// about tables. stdout carries the result, stderr everything else.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // --timezone must work where no zone files are installed
)

func main() { os.Exit(start()) }

func start() int {
	if os.Getenv("GOGC") == "" {
		// What a load holds are large buffers without pointers, cheap to collect:
		// twice as often costs little and keeps the process near its budget.
		debug.SetGCPercent(50)
	}
	// Libraries below print what calve returns as errors, or says in a receipt.
	log.SetOutput(io.Discard)
	ctx, stop := withSignals(context.Background())
	defer stop()
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// run is the whole program: it reads no other input and ends no process.
func run(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	a := newApp(args, stdout, stderr)
	err := a.dispatch(ctx, args)
	return a.finish(ctx, err)
}

// interrupted is the cause of a context that a signal ended.
type interrupted struct{ signal syscall.Signal }

func (i interrupted) Error() string {
	if i.signal == syscall.SIGINT {
		return "interrupted by SIGINT"
	}
	return "interrupted by SIGTERM"
}

// withSignals ends the context at the first SIGINT or SIGTERM, with the signal
// as its cause, and leaves a second one to kill the process.
func withSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(interrupted{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}
