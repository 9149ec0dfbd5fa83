package testenv

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/calve-data/calve/lake"
)

// Calve is the path of the program, built once for all tests of the binary and
// gone with it.
func Calve(tb testing.TB) string {
	tb.Helper()
	theProgram.once.Do(theProgram.build)
	if theProgram.err != nil {
		tb.Fatalf("build calve: %v", theProgram.err)
	}
	return theProgram.path
}

type program struct {
	once sync.Once
	path string
	err  error
	hold io.Closer // collected, it would close and remove the program
}

//nolint:gochecknoglobals // one program for all tests of a binary: linking it takes seconds
var theProgram program

// sweeper removes a folder at the end of its own input, a pipe that the test
// binary holds: however the binary ends.
const sweeper = `trap : INT TERM HUP
cat >/dev/null
rm -rf "$1"`

func (p *program) build() {
	dir, err := os.MkdirTemp("", "calve-program-")
	if err != nil {
		p.err = err
		return
	}
	sweep := exec.Command("sh", "-c", sweeper, "sweeper", dir)
	if p.hold, p.err = sweep.StdinPipe(); p.err != nil {
		return
	}
	if p.err = sweep.Start(); p.err != nil {
		return
	}
	p.path = filepath.Join(dir, "calve")
	build := exec.Command("go", "build", "-o", p.path, "github.com/calve-data/calve/cmd/calve")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		p.err = fmt.Errorf("%w\n%s", err, out)
	}
}

// Process is one run of calve as a process of its own.
type Process struct {
	cmd            *exec.Cmd
	stdout, stderr printed
	done           chan struct{}
}

// printed keeps what a process prints, and tells when it begins.
type printed struct {
	bytes.Buffer
	once  sync.Once
	begun chan struct{}
}

func (o *printed) Write(p []byte) (int, error) {
	defer o.once.Do(func() { close(o.begun) })
	return o.Buffer.Write(p)
}

// Start runs calve in a folder. Nothing of the environment reaches it but a
// place for temporary files. It is killed at the end of the test, if it still
// runs then.
func (g *Gate) Start(tb testing.TB, dir string, args ...string) *Process {
	tb.Helper()
	return g.start(tb, dir, nil, args...)
}

// start starts calve; out takes the place of what [Process.Wait] returns.
func (g *Gate) start(tb testing.TB, dir string, out *os.File, args ...string) *Process {
	tb.Helper()
	p := &Process{cmd: exec.Command(Calve(tb), args...), done: make(chan struct{})}
	p.stdout.begun, p.stderr.begun = make(chan struct{}), make(chan struct{})
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, &p.stdout, &p.stderr
	if out != nil {
		p.cmd.Stdout, p.cmd.Stderr = out, out
	}
	p.cmd.Env = []string{"TMPDIR=" + os.TempDir(), "HOME=" + dir}
	if err := p.cmd.Start(); err != nil {
		tb.Fatalf("start calve: %v", err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // how it ended is in the process's state
	}()
	tb.Cleanup(p.Kill)
	g.process = p
	close(g.started)
	return p
}

// Process is the gate's process; it waits until there is one.
func (g *Gate) Process() *Process {
	<-g.started
	return g.process
}

// Signal sends a signal. A process that has ended hears nothing.
func (p *Process) Signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// Kill kills the process with SIGKILL and returns when it is gone.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.done
}

// Told is closed once the process has printed something to stdout, or ended.
func (p *Process) Told() <-chan struct{} {
	told := make(chan struct{})
	go func() {
		defer close(told)
		select {
		case <-p.stdout.begun:
		case <-p.done:
		}
	}()
	return told
}

// Done is closed once the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended is how a process ended.
type Ended struct {
	// Code is the exit code; -1 where a signal ended it.
	Code           int
	Stdout, Stderr string
}

// Wait returns how the process ended, once it has.
func (p *Process) Wait() Ended {
	<-p.done
	return Ended{p.cmd.ProcessState.ExitCode(), p.stdout.String(), p.stderr.String()}
}

// Receipt is the last line of stdout, as --json prints it.
func (e Ended) Receipt() (r lake.Receipt, err error) {
	lines := strings.Split(strings.TrimSuffix(e.Stdout, "\n"), "\n")
	last := lines[len(lines)-1]
	if last == "" {
		return r, errors.New("stdout has no last line")
	}
	if err := json.Unmarshal([]byte(last), &r); err != nil {
		return r, fmt.Errorf("the last line of stdout, %q: %w", last, err)
	}
	return r, nil
}

func (e Ended) String() string {
	return fmt.Sprintf("exit code %d, stdout %q, stderr %q", e.Code, e.Stdout, e.Stderr)
}
