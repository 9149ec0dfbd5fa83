package testenv

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// A server that ends before it is ready is not waited for, and what it said is
// told.
func TestServerThatEndsIsNotAwaited(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]string{
		"it ends":         {"sh", "-c", "echo the port is taken >&2; exit 3"},
		"it is not there": {"./no-such-server"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp(t.TempDir(), "")
			if err != nil {
				t.Fatal(err)
			}
			p, err := startProcess("KILL", dir, nil, command...)
			if err != nil {
				t.Fatal(err)
			}
			refused := errors.New("connection refused")
			err = p.await(time.Hour, func() error { return refused })
			if !errors.Is(err, refused) {
				t.Errorf("await = %v, want the last answer in it", err)
			}
			for _, want := range []string{"it ended", map[string]string{"it ends": "the port is taken", "it is not there": "no-such-server"}[name]} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("await = %v, want %q in it", err, want)
				}
			}
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the server's folder is left: %v", err)
			}
		})
	}
}

// A server that takes its time is waited for, to the end of patience; then it
// is ended.
func TestServerThatIsSlowIsAwaited(t *testing.T) {
	t.Parallel()
	start := func() *process {
		p, err := startProcess("KILL", t.TempDir(), nil, "sh", "-c", "echo starting; exec sleep 600")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	late, asked := start(), 0
	if err := late.await(time.Hour, func() error {
		if asked++; asked < 3 {
			return errors.New("not yet")
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	select {
	case <-late.ended:
		t.Error("the server counts as ended while it runs")
	default:
	}
	late.stop()
	<-late.ended
	silent := start()
	err := silent.await(200*time.Millisecond, func() error { return errors.New("not yet") })
	if err == nil || !strings.Contains(err.Error(), "not ready after 200ms: not yet") {
		t.Errorf("await = %v, want that it was not ready", err)
	}
	<-silent.ended
}
