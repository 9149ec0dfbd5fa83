package testenv

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// server is a store that ends with the test binary.
type server struct {
	once                  sync.Once
	err                   error
	endpoint, key, secret string
	process               *process
}

// starting says how a store is started, in a folder of its own, at an address.
type starting struct {
	name    string
	command func(dir, address string) []string
	env     func(s *server) []string
	// scheme is that of its endpoint; ready is the path that answers 200 once it
	// can serve.
	scheme, ready string
	// prepare fills the folder. Optional.
	prepare func(dir string) error
}

// start starts the store once for all who ask.
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
	if how.prepare != nil {
		if err := how.prepare(dir); err != nil {
			return err
		}
	}
	address, err := freeAddress()
	if err != nil {
		return err
	}
	if s.process, err = startProcess("KILL", dir, how.env(s), how.command(dir, address)...); err != nil {
		return err
	}
	s.endpoint = how.scheme + "://" + address
	return s.process.await(30*time.Second, func() error { return answers("http://" + address + how.ready) })
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
