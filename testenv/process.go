package testenv

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// keeper starts a server and waits for the end of its own input, a pipe that
// the test binary holds and never writes to: so the server ends, by the signal
// named, and its folder goes, however the binary ends, killed or not. Its third
// file is a pipe that it leaves to the server alone: that breaks when the
// server ends.
const keeper = `trap : INT TERM HUP
signal=$1; dir=$2; shift 2
"$@" >"$dir/log" 2>&1 &
exec 3>&-
cat >/dev/null
kill -"$signal" $!
wait $! 2>/dev/null
rm -rf "$dir"`

// process is a server that ends with the test binary.
type process struct {
	// dir is the server's folder, log the file in it that it prints to.
	dir, log string
	// ended is closed when the server has ended, by itself or not.
	ended <-chan struct{}

	cmd  *exec.Cmd
	hold io.Closer // collected, it would close and end the server
}

// startProcess runs a server that ends by the signal, such as KILL.
func startProcess(signal, dir string, env []string, command ...string) (*process, error) {
	cmd := exec.Command("sh", append([]string{"-c", keeper, "keeper", signal, dir}, command...)...)
	cmd.Env = append(os.Environ(), env...)
	hold, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	alive, held, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.ExtraFiles = []*os.File{held}
	err = cmd.Start()
	_ = held.Close()
	if err != nil {
		_ = alive.Close()
		return nil, err
	}
	return &process{dir: dir, log: filepath.Join(dir, "log"), ended: broken(alive), cmd: cmd, hold: hold}, nil
}

// broken is closed when a pipe has no writer any more.
func broken(pipe io.ReadCloser) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(io.Discard, pipe)
		_ = pipe.Close()
	}()
	return done
}

// await asks until the server answers. One that does not, or that has ended, is
// stopped; the error has what it printed.
func (p *process) await(patience time.Duration, ask func() error) error {
	end := time.After(patience)
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return p.failed(fmt.Errorf("it ended before it was ready: %w", err))
		case <-end:
			return p.failed(fmt.Errorf("not ready after %s: %w", patience, err))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// failed stops the server and adds what it printed.
func (p *process) failed(why error) error {
	log, _ := os.ReadFile(p.log)
	p.stop()
	return fmt.Errorf("%w\n%s", why, bytes.TrimSpace(log))
}

func (p *process) stop() {
	_ = p.hold.Close()
	_ = p.cmd.Wait()
}
