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
// named, and its folder goes, however the binary ends, killed or not.
const keeper = `trap : INT TERM HUP
signal=$1; dir=$2; shift 2
"$@" >"$dir/log" 2>&1 &
cat >/dev/null
kill -"$signal" $!
wait $! 2>/dev/null
rm -rf "$dir"`

// process is a server that ends with the test binary.
type process struct {
	// dir is the server's folder, log the file in it that it prints to.
	dir, log string

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
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &process{dir: dir, log: filepath.Join(dir, "log"), cmd: cmd, hold: hold}, nil
}

// await asks until the server answers. One that does not is stopped; the error
// has what it printed.
func (p *process) await(patience time.Duration, ask func() error) error {
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		err := ask()
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			log, _ := os.ReadFile(p.log)
			p.stop()
			return fmt.Errorf("not ready after %s: %w\n%s", patience, err, bytes.TrimSpace(log))
		}
	}
}

func (p *process) stop() {
	_ = p.hold.Close()
	_ = p.cmd.Wait()
}
