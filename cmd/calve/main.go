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
	a := newApp(os.Args[1:], os.Stdout, os.Stderr)
	if a.resultFile != "" {
		// A reader of stdout or stderr that has gone must not end the process
		// before the file is written.
		signal.Ignore(syscall.SIGPIPE)
	}
	ctx, stop := withSignals(context.Background(), a.heard, func(by interrupted) { os.Exit(a.quit(by)) })
	defer stop()
	return a.run(ctx, os.Args[1:])
}

// run is the whole program: it reads no other input and ends no process.
func run(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) int {
	return newApp(args, stdout, stderr).run(ctx, args)
}

// interrupted is the cause of a context that a signal ended.
type interrupted struct{ signal syscall.Signal }

func (i interrupted) Error() string {
	switch i.signal {
	case syscall.SIGHUP:
		return "interrupted by SIGHUP"
	case syscall.SIGINT:
		return "interrupted by SIGINT"
	}
	return "interrupted by SIGTERM"
}

// withSignals ends the context at the first SIGINT, SIGTERM or SIGHUP, with the
// signal as its cause, and calls heard; at a second one it calls again. Under
// nohup a SIGHUP stays unheard.
func withSignals(parent context.Context, heard, again func(interrupted)) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	over := make(chan struct{})
	go func() {
		for _, call := range []func(interrupted){
			func(by interrupted) { cancel(by); heard(by) },
			again,
		} {
			select {
			case s := <-signals:
				call(interrupted{s.(syscall.Signal)})
			case <-over:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(over)
		cancel(nil)
	}
}
