package catalog

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/calve-data/calve/lake"
)

// callTimeout bounds a whole call of a REST catalog, its answer included, where
// nothing else is said, and what any catalog is asked of a namespace. iceberg-go's client waits without
// end (pitfall L21).
const callTimeout = time.Minute

// errStranger: something answered that is no Iceberg catalog. Its "not found"
// does not mean that a table is missing, and must not create one.
var errStranger = errors.New("what answers does not speak as an Iceberg REST catalog: is catalog.uri right?")

// newTransport is as Go's default one, which has time-outs for connecting.
func newTransport(config *tls.Config) *http.Transport {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok { // the program has put another kind in its place
		t = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	t = t.Clone()
	if config != nil {
		t.TLSClientConfig = config
	}
	return t
}

// restTransport carries the calls of a REST catalog: each under a deadline, and
// with those answers turned to errors that iceberg-go would take for others.
type restTransport struct {
	next    http.RoundTripper
	timeout time.Duration // of one call
}

func (t restTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if s, ok := r.Context().Value(stagingKey{}).(*staging); ok {
		return s.roundTrip(r, t.call)
	}
	return t.call(r)
}

func (t restTransport) call(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), t.timeout)
	resp, err := t.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &cancelling{resp.Body, cancel}
	err = wrongAnswer(r, resp)
	if keys, ok := r.Context().Value(vendedKey{}).(*vended); ok && err == nil && resp.StatusCode == http.StatusOK {
		err = keys.receive(resp)
	}
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// cancelling is a body whose call is over once it is closed.
type cancelling struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (c *cancelling) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}

func wrongAnswer(r *http.Request, resp *http.Response) error {
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		return fmt.Errorf("the catalog answers %s: %w", resp.Status, lake.ErrTemporary)
	case (resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusBadRequest) && r.Method != http.MethodHead:
		raw := resp.Body
		body, err := io.ReadAll(io.LimitReader(raw, 1<<20))
		if err != nil {
			return err
		}
		var answer struct {
			Error *struct {
				Type string `json:"type"`
			} `json:"error"`
		}
		err = json.Unmarshal(body, &answer)
		if err != nil || resp.StatusCode == http.StatusNotFound && (answer.Error == nil || answer.Error.Type == "") {
			return errStranger
		}
		resp.Body = &cancelling{io.NopCloser(bytes.NewReader(body)), func() { _ = raw.Close() }}
	}
	return nil
}
