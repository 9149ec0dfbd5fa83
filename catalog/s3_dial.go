package catalog

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"github.com/calve-data/calve/lake"
)

// stallTimeout is how long a connection may be silent where nothing else is said.
const stallTimeout = time.Minute

// dialing is how connections to a store are made.
type dialing struct {
	roots *x509.CertPool // nil: the system's
	stall time.Duration
}

func (s S3) dialing() (dialing, error) {
	d := dialing{stall: s.Timeout}
	if d.stall <= 0 {
		d.stall = stallTimeout
	}
	if s.CAFile == "" {
		return d, nil
	}
	pem, err := os.ReadFile(s.CAFile)
	if err != nil {
		return d, fmt.Errorf("catalog.s3.ca_file: %w: %w", err, lake.ErrUsage)
	}
	// Over the system's: the same process may ask AWS for credentials.
	if d.roots, err = x509.SystemCertPool(); err != nil {
		d.roots = x509.NewCertPool()
	}
	if !d.roots.AppendCertsFromPEM(pem) {
		return d, fmt.Errorf("catalog.s3.ca_file %s holds no certificate in PEM form: %w", s.CAFile, lake.ErrUsage)
	}
	return d, nil
}

// client is given, the client that the properties ask for, if any, with these
// connections. The pool is as large as the one that iceberg-go would make for
// each file system: what it would make is not to be had.
func (d dialing) client(given aws.HTTPClient) aws.HTTPClient {
	client, ok := given.(*awshttp.BuildableClient)
	if !ok {
		client = awshttp.NewBuildableClient()
	}
	return client.WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConns, t.MaxIdleConnsPerHost = 256, 256
		dial := t.DialContext
		t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &stalling{c, d.stall}, nil
		}
		if d.roots != nil {
			if t.TLSClientConfig == nil {
				t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
			}
			t.TLSClientConfig.RootCAs = d.roots
		}
	})
}

// stalling is a connection that ends where for a time no byte goes either way.
// The SDK has a deadline for connecting only: a store that stops in the middle
// of an answer would be waited for without end.
type stalling struct {
	net.Conn
	stall time.Duration
}

// Read waits for bytes for the time, from the last byte that went either way.
func (c *stalling) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.stall)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write also gives a reader that waits already, for the answer to this, the
// time anew.
func (c *stalling) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.stall)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
