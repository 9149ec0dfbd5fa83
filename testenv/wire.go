package testenv

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// Toxic is what goes wrong on a wire. With Upstream it is the client's bytes
// that it happens to, else the service's.
type Toxic struct {
	Kind       string
	Attributes map[string]any
	Upstream   bool
}

// Latency delays every byte by d, give or take jitter.
func Latency(d, jitter time.Duration) Toxic {
	return Toxic{Kind: "latency", Attributes: map[string]any{"latency": d.Milliseconds(), "jitter": jitter.Milliseconds()}}
}

// Cut ends each connection after n bytes, in the middle of whatever goes over it.
func Cut(n int64) Toxic { return Toxic{Kind: "limit_data", Attributes: map[string]any{"bytes": n}} }

// ResetPeer ends each connection by a reset, d after it has begun.
func ResetPeer(d time.Duration) Toxic {
	return Toxic{Kind: "reset_peer", Attributes: map[string]any{"timeout": d.Milliseconds()}}
}

// Silence takes connections and lets no byte through.
func Silence() Toxic { return Toxic{Kind: "timeout", Attributes: map[string]any{"timeout": 0}} }

// Bandwidth lets so many KiB through in a second.
func Bandwidth(kib int64) Toxic {
	return Toxic{Kind: "bandwidth", Attributes: map[string]any{"rate": kib}}
}

// BadWire is a TCP connection between a client and a service on which things
// go wrong.
type BadWire struct {
	// Address is the host:port that the client is given. Endpoint is the same as
	// a URL, where the upstream was one.
	Address, Endpoint string

	tb    testing.TB
	proxy *toxiproxy.Proxy
}

// Wire puts a wire before the service at upstream, a host:port or a URL of one.
// It is good until told otherwise, and ends with the test.
func Wire(tb testing.TB, upstream string) *BadWire {
	tb.Helper()
	u, err := url.Parse(upstream)
	address := upstream
	if err == nil && u.Host != "" {
		address = u.Host
	}
	zerolog.SetGlobalLevel(zerolog.Disabled) // toxics write to its default logger, whatever logger they are given
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	w := &BadWire{tb: tb, proxy: toxiproxy.NewProxy(server, tb.Name(), "127.0.0.1:0", address)}
	if err := w.proxy.Start(); err != nil {
		tb.Fatalf("wire to %s: %v", upstream, err)
	}
	tb.Cleanup(w.proxy.Stop)
	w.Address = w.proxy.Listen
	if address != upstream {
		w.Endpoint = u.Scheme + "://" + w.Address
	}
	return w
}

// Add lets things go wrong from now on, also on connections that are open.
func (w *BadWire) Add(toxics ...Toxic) {
	w.tb.Helper()
	for i, toxic := range toxics {
		stream := "downstream"
		if toxic.Upstream {
			stream = "upstream"
		}
		text, err := json.Marshal(map[string]any{
			"name": fmt.Sprintf("%s-%s-%d", toxic.Kind, stream, i), "type": toxic.Kind, "stream": stream, "toxicity": 1.0, "attributes": toxic.Attributes,
		})
		if err != nil {
			w.tb.Fatal(err)
		}
		if _, err := w.proxy.Toxics.AddToxicJson(bytes.NewReader(text)); err != nil {
			w.tb.Fatalf("toxic %s: %v", text, err)
		}
	}
}

// Mend makes the wire good again.
func (w *BadWire) Mend() {
	w.proxy.Toxics.ResetToxics(context.WithoutCancel(w.tb.Context()))
}
