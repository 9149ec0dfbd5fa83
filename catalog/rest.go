package catalog

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/lake"
)

// openREST opens an Iceberg REST catalog.
func openREST(ctx context.Context, c Config, props iceberg.Properties) (*Catalog, error) {
	u, err := url.Parse(c.URI)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("catalog.uri of a rest catalog must be a URL such as http://localhost:8181: %w", lake.ErrUsage)
	}
	access := takeAccess(c, props)
	opts := []rest.Option{
		rest.WithAdditionalProps(props),
		rest.WithHeaders(access.Headers),
		rest.WithTransportFactory(func(config *tls.Config) (http.RoundTripper, func()) {
			t := newTransport(config)
			return restTransport{t, cmp.Or(c.S3.Timeout, callTimeout)}, t.CloseIdleConnections
		}),
	}
	login, err := newLogin(ctx, u, access, cmp.Or(c.S3.Timeout, tokenTimeout))
	if err != nil {
		return nil, err
	}
	if login != nil {
		opts = append(opts, rest.WithAuthManager(login))
	}
	if sign, _ := strconv.ParseBool(props["rest.sigv4-enabled"]); sign {
		// As a property it would not be known to the first request.
		opts = append(opts, rest.WithSigV4RegionSvc(props["rest.signing-region"], props["rest.signing-name"]))
	}
	if c.Warehouse != "" {
		opts = append(opts, rest.WithWarehouseLocation(c.Warehouse))
	}
	cat, err := rest.NewCatalog(ctx, c.name(), strings.TrimRight(c.URI, "/"), opts...)
	if err != nil {
		return nil, fmt.Errorf("opening the REST catalog at %s: %w", u.Redacted(), openError(err))
	}
	return &Catalog{cat: cat, props: props, place: restPlace(c.Warehouse), stage: stageREST(cat), close: cat.Close}, nil
}

// restPlace is where a table goes whose namespace has no location and of which
// the server does not say: under the warehouse, if that is a location and not
// just the server's name for one.
func restPlace(warehouse string) func(table.Identifier, string) (string, error) {
	return func(namespace table.Identifier, name string) (string, error) {
		if !strings.Contains(warehouse, "://") {
			return "", fmt.Errorf("the REST catalog does not say where tables of the namespace %s go: set the namespace's property location, or catalog.warehouse to a location such as s3://bucket/warehouse: %w",
				strings.Join(namespace, "."), lake.ErrUsage)
		}
		return joinLocation(warehouse, append(slices.Clone(namespace), name)...), nil
	}
}
