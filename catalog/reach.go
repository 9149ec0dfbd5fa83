package catalog

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/io"

	"github.com/calve-data/calve/lake"
)

// Reached is a configuration with every default in its place: what another
// engine must be told to reach the same catalog and store.
type Reached struct {
	// Type is sqlite, postgres, rest or glue. URI is the path of an SQLite file, else
	// that of the configuration.
	Type, URI string
	// Name and Warehouse are never empty, but for the warehouse of a REST catalog.
	Name, Warehouse string
	// Access is that of a REST catalog.
	Access Access
	// S3 has the endpoint, the region and the addressing that are used. What is
	// empty is left to the AWS SDK.
	S3 S3
	// Properties are those of the configuration that the fields above do not say.
	Properties map[string]string
}

// Reach fills in what [Open] would. It opens nothing.
func (c Config) Reach() (Reached, error) {
	props, err := c.properties()
	if err != nil {
		return Reached{}, err
	}
	r := Reached{Type: c.Type, URI: c.URI, Name: c.name(), Warehouse: c.Warehouse, S3: s3Of(props), Properties: map[string]string{}}
	if c.Type == "rest" {
		r.Access = takeAccess(c, props)
	}
	for key, value := range c.Properties {
		if _, left := props[key]; left && !strings.HasPrefix(key, "s3.") {
			r.Properties[key] = value
		}
	}
	switch c.Type {
	case "", "sqlite":
		dir, err := localFolder(firstOf(c.Warehouse, "lakehouse"))
		r.Type, r.URI, r.Warehouse = "sqlite", filepath.Join(dir, "catalog.db"), fileURL(dir)
		return r, err
	case "sql":
		if r.Type, r.URI, err = databaseOf(c.URI); err != nil {
			return Reached{}, err
		}
		if !strings.Contains(c.Warehouse, "://") {
			dir, err := localFolder(c.Warehouse)
			r.Warehouse = fileURL(dir)
			return r, err
		}
	}
	return r, nil
}

// databaseOf tells which database a URI names.
func databaseOf(uri string) (kind, where string, err error) {
	scheme, rest, _ := strings.Cut(uri, ":")
	scheme, _, _ = strings.Cut(scheme, "+")
	switch scheme {
	case "postgres", "postgresql":
		return "postgres", uri, nil
	case "sqlite":
		rest = strings.TrimPrefix(rest, "///")
	}
	path, _, _ := strings.Cut(strings.TrimPrefix(rest, "//"), "?")
	if path, err = url.PathUnescape(path); err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", "", fmt.Errorf("catalog.uri %q names no SQLite file: %w: %w", uri, err, lake.ErrUsage)
	}
	return "sqlite", path, nil
}

func s3Of(props iceberg.Properties) S3 {
	s := S3{
		Endpoint: props[io.S3EndpointURL], Region: firstOf(props[io.S3Region], props[io.S3ClientRegion]),
		AccessKeyID: props[io.S3AccessKeyID], SecretAccessKey: props[io.S3SecretAccessKey], SessionToken: props[io.S3SessionToken],
		CompatMode: props[io.S3CompatMode] == "true",
	}
	if virtual, err := strconv.ParseBool(props[io.S3ForceVirtualAddressing]); err == nil {
		pathStyle := !virtual
		s.PathStyle = &pathStyle
	}
	return s
}
