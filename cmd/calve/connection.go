package main

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/apache/iceberg-go/table"

	"github.com/calve-data/calve/catalog"
)

// connection is how another engine reaches a table. Fields that stand for a
// secret hold the name of an environment variable, never the secret.
type connection struct {
	Namespace []string
	Name      string
	// Metadata is the table's metadata file as it is now.
	Metadata string
	// Catalog is the name that an SQL catalog keeps in its rows.
	Catalog   string
	Warehouse string

	// REST, SQLite or Glue; none of them: PostgreSQL. URI is the server's URL, the
	// file, or host, port and database.
	REST, SQLite, Glue bool
	URI                string
	// User and Password are PostgreSQL's.
	User, Password string
	// Bearer, or Credential with TokenURI and Scope, open a REST catalog.
	Bearer, Credential, TokenURI, Scope string

	// Store is nil where the tables are local files.
	Store *store

	// Environment are the variables that hold what is secret.
	Environment []variable
	// left are the keys of calve.yaml that stand for nothing here.
	left []string
}

// store is an S3 store.
type store struct {
	Endpoint, Region   string
	PathStyle          bool
	Key, Secret, Token string
}

// Host is the endpoint without its scheme.
func (s *store) Host() string {
	_, host, _ := strings.Cut(s.Endpoint, "://")
	return host
}

// TLS reports whether the endpoint is https.
func (s *store) TLS() bool { return strings.HasPrefix(s.Endpoint, "https:") }

// variable is an environment variable and what it holds.
type variable struct {
	Name  string `json:"name"`
	Holds string `json:"holds"`
}

func newConnection(c *config, warehouse string, t *table.Table) (*connection, error) {
	cfg, _ := c.catalog(warehouse)
	reached, err := cfg.Reach()
	if err != nil {
		return nil, err
	}
	id := t.Identifier()
	to := &connection{
		Namespace: id[:len(id)-1], Name: id[len(id)-1], Metadata: t.MetadataLocation(),
		Catalog: reached.Name, Warehouse: reached.Warehouse, Environment: []variable{},
	}
	if scheme, _, _ := strings.Cut(t.Location(), "://"); scheme != "file" {
		to.Store = to.storeOf(c, reached.S3)
	}
	switch reached.Type {
	case "rest":
		to.rest(c, reached)
	case "sqlite":
		to.SQLite, to.URI = true, reached.URI
	case "postgres":
		err = to.postgres(c, reached)
	case "glue":
		to.Glue = true
	}
	for _, name := range slices.Sorted(maps.Keys(reached.Access.Headers)) {
		to.left = append(to.left, "catalog.headers."+name)
	}
	for _, name := range slices.Sorted(maps.Keys(reached.Properties)) {
		to.left = append(to.left, "catalog.properties."+name)
	}
	return to, err
}

func (to *connection) rest(c *config, r catalog.Reached) {
	to.REST, to.URI = true, strings.TrimRight(r.URI, "/")
	if r.Access.Token != "" {
		to.Bearer = to.secret(c, "LAKE_TOKEN", "catalog.token", "catalog.properties.token")
	} else if r.Access.Credential != "" {
		to.Credential = to.secret(c, "LAKE_CREDENTIAL", "catalog.credential", "catalog.properties.credential")
		to.TokenURI, to.Scope = r.Access.OAuth2ServerURI, r.Access.Scope
		if to.TokenURI == "" {
			to.TokenURI = to.URI + "/v1/oauth/tokens"
		}
		if to.Scope == "" {
			to.Scope = "catalog"
		}
	}
}

func (to *connection) postgres(c *config, r catalog.Reached) error {
	u, err := url.Parse(r.URI)
	if err != nil {
		return fmt.Errorf("catalog.uri is not a URL: %w", errNoSnippet)
	}
	to.URI = u.Host + u.EscapedPath()
	if mode := u.Query().Get("sslmode"); mode != "" {
		to.URI += "?sslmode=" + url.QueryEscape(mode)
	}
	to.User = u.User.Username()
	if _, ok := u.User.Password(); ok {
		to.Password = to.secret(c, "PGPASSWORD", "catalog.uri")
	}
	return nil
}

func (to *connection) storeOf(c *config, s3 catalog.S3) *store {
	s := &store{Endpoint: s3.Endpoint, Region: s3.Region, PathStyle: s3.PathStyle != nil && *s3.PathStyle}
	if s3.AccessKeyID != "" {
		s.Key = to.secret(c, "AWS_ACCESS_KEY_ID", "catalog.s3.access_key_id", "catalog.properties.s3.access-key-id")
		s.Secret = to.secret(c, "AWS_SECRET_ACCESS_KEY", "catalog.s3.secret_access_key", "catalog.properties.s3.secret-access-key")
	}
	if s3.SessionToken != "" {
		s.Token = to.secret(c, "AWS_SESSION_TOKEN", "catalog.s3.session_token", "catalog.properties.s3.session-token")
	}
	return s
}

// whole is a value that is one variable; inURL is a password that is one.
var (
	whole = regexp.MustCompile(`^\$\{([A-Za-z_]\w*)\}$`)
	inURL = regexp.MustCompile(`:\$\{([A-Za-z_]\w*)\}@`)
)

// secret notes the variable that holds the value of the first of keys that
// calve.yaml has, and returns its name: the one that is written there, else the
// usual one.
func (to *connection) secret(c *config, usual string, keys ...string) string {
	v := variable{usual, keys[0]}
	for _, key := range keys {
		text, ok := c.written[key]
		if !ok {
			continue
		}
		v.Holds = key
		if found := whole.FindStringSubmatch(text); found != nil {
			v.Name = found[1]
		} else if found := inURL.FindStringSubmatch(text); found != nil {
			v.Name = found[1]
		}
		break
	}
	if v.Holds == "catalog.uri" {
		v.Holds = "the password in catalog.uri"
	}
	to.Environment = append(to.Environment, v)
	return v.Name
}
