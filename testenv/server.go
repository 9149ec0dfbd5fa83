package testenv

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// server is a server that ends with the test binary.
type server struct {
	once                  sync.Once
	err                   error
	endpoint, key, secret string
	process               *process
}

// starting says how a server is started, in a folder of its own, at an address.
type starting struct {
	name    string
	command func(dir, address string) []string
	// env is what it has besides the environment of the tests. Optional.
	env func(s *server) []string
	// scheme is that of its endpoint; ready is the path that answers 200 once it
	// can serve, or serves asks it in another way.
	scheme, ready string
	serves        func(s *server) error
	// patience is how long it may take to begin. Default: half a minute.
	patience time.Duration
	// prepare fills the folder. Optional.
	prepare func(dir, address string) error
}

// start starts the server once for all who ask.
func (s *server) start(how starting) (*server, error) {
	s.once.Do(func() {
		s.key, s.secret = "calve", fmt.Sprintf("%016x", rand.Uint64())
		for range 3 { // the free port may be taken between asking and starting
			if s.err = s.try(how); s.err == nil {
				return
			}
		}
	})
	return s, s.err
}

func (s *server) try(how starting) error {
	dir, err := os.MkdirTemp("", "calve-"+how.name+"-")
	if err != nil {
		return err
	}
	address, err := freeAddress()
	if err != nil {
		return err
	}
	if how.prepare != nil {
		if err := how.prepare(dir, address); err != nil {
			return err
		}
	}
	var env []string
	if how.env != nil {
		env = how.env(s)
	}
	if s.process, err = startProcess("KILL", dir, env, how.command(dir, address)...); err != nil {
		return err
	}
	s.endpoint = how.scheme + "://" + address
	return s.process.await(cmp.Or(how.patience, 30*time.Second), func() error {
		if how.serves != nil {
			return how.serves(s)
		}
		return answers("http://" + address + how.ready)
	})
}

// portOf is the port of an address.
func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// answers asks url once; anything but 200 is an error. That a server of TLS
// refuses to answer in the clear is an answer too.
func answers(url string) error {
	client := http.Client{Timeout: 2 * time.Second}
	resp, err := client.Get(url)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusBadRequest {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return nil
}
