package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/calve-data/calve/catalog"
)

// config is calve.yaml. This is the only place that reads it, or the environment.
type config struct {
	Catalog *catalogConfig        `yaml:"catalog"`
	Loads   map[string]loadConfig `yaml:"loads"`

	// path is the file's path, "" where there is none; dir is the folder that
	// relative paths in it start from.
	path, dir string
	// written are the texts of the file by their keys, before ${…} is replaced.
	written map[string]string
}

type catalogConfig struct {
	Type       string            `yaml:"type"`
	URI        string            `yaml:"uri"`
	Warehouse  string            `yaml:"warehouse"`
	Name       string            `yaml:"name"`
	Credential string            `yaml:"credential,secret"`
	OAuth2URI  string            `yaml:"oauth2_server_uri"`
	Scope      string            `yaml:"scope"`
	Token      string            `yaml:"token,secret"`
	Headers    map[string]string `yaml:"headers,secret"`
	S3         s3Config          `yaml:"s3"`
	Properties map[string]string `yaml:"properties,secret"`
}

type s3Config struct {
	Endpoint        string `yaml:"endpoint"`
	Region          string `yaml:"region"`
	AccessKeyID     string `yaml:"access_key_id"`
	SecretAccessKey string `yaml:"secret_access_key,secret"`
	SessionToken    string `yaml:"session_token,secret"`
	PathStyle       *bool  `yaml:"path_style"`
	CompatMode      bool   `yaml:"compat_mode"`
	CAFile          string `yaml:"ca_file"`
}

type loadConfig struct {
	Table string `yaml:"table"`
	// PartitionBy is nil where left out: the day of the time column. Empty: none.
	PartitionBy []string                `yaml:"partition_by"`
	TimeColumn  string                  `yaml:"time_column"`
	Source      sourceConfig            `yaml:"source"`
	Columns     map[string]columnConfig `yaml:"columns"`
	// OnlyListed leaves out what Columns does not name.
	OnlyListed bool              `yaml:"only_listed"`
	Scope      map[string]string `yaml:"scope"`
	Schema     string            `yaml:"schema"`
	OnEmpty    string            `yaml:"on_empty"`
	Outside    string            `yaml:"outside"`
	Branch     string            `yaml:"branch"`
	// Mode and what belongs to it: see [modeFlags].
	Mode       string   `yaml:"mode"`
	Key        []string `yaml:"key"`
	Version    []string `yaml:"version"`
	DeleteWhen string   `yaml:"delete_when"`
	Deletes    string   `yaml:"deletes"`
	OnEqual    string   `yaml:"on_equal"`
	NullKeys   string   `yaml:"null_keys"`
	Write      string   `yaml:"write"`
	Search     string   `yaml:"search"`
	EventID    eventID  `yaml:"event_id"`
	LookBack   string   `yaml:"look_back"`
	OnConflict string   `yaml:"on_conflict"`
	// Cursor is what windows are on in place of TimeColumn, Overlap how far before
	// the watermark --from watermark begins.
	Cursor  string `yaml:"cursor"`
	Overlap string `yaml:"overlap"`
}

// eventID is event_id: [COLUMN], or event_id: {hash_of: [COLUMN, COLUMN]}.
type eventID struct {
	Columns []string `yaml:",plain"`
	HashOf  []string `yaml:"hash_of"`
}

type sourceConfig struct {
	Type      string   `yaml:"type"`
	Path      string   `yaml:"path"`
	Null      []string `yaml:"null"`
	Delimiter string   `yaml:"delimiter"`
	// Header is true, false (columns c1, c2 and so on), or the columns of files
	// without a header line.
	Header []string `yaml:"header"`
	// Numbers is how 1234.56 is written.
	Numbers string `yaml:"numbers"`
	// MaxLine is the size of the longest record.
	MaxLine string `yaml:"max_line"`
	// PathTimezone is the zone of the days and hours of a template in Path.
	PathTimezone string        `yaml:"path_timezone"`
	Arrival      arrivalConfig `yaml:"arrival"`
}

// arrivalConfig says how much earlier or later than their own time rows arrive.
type arrivalConfig struct {
	Before string `yaml:"before"`
	After  string `yaml:"after"`
}

// configName is the file that is read where --config names none.
const configName = "calve.yaml"

// readConfig reads the file at path, or calve.yaml in the working directory if
// there is one. Without any the config is empty.
func readConfig(path string) (*config, secrets, error) {
	c, hidden := &config{dir: ".", written: map[string]string{}}, secrets{}
	asked := path != ""
	if !asked {
		path = configName
	}
	content, err := os.ReadFile(path)
	switch {
	case !asked && errors.Is(err, fs.ErrNotExist):
		return c, nil, nil
	case err != nil:
		return nil, nil, configError{file: path, text: errors.Unwrap(err).Error()}
	}
	c.path, c.dir = path, filepath.Dir(path)
	d := decoder{file: path, expand: func(key, text string, secret bool) (string, error) {
		c.written[key] = text
		return hidden.expand(key, text, secret)
	}}
	err = d.decode(content, c)
	return c, hidden, err
}

// load returns the load of the given name.
func (c *config) load(name string) (loadConfig, error) {
	if l, ok := c.Loads[name]; ok {
		l.Source.Path = c.relative(l.Source.Path)
		if l.PartitionBy != nil {
			// In [bucket(16, id)] the comma is YAML's before it is the bucket's.
			l.PartitionBy = splitExpressions([]string{strings.Join(l.PartitionBy, ", ")})
		}
		return l, nil
	}
	if c.path == "" {
		return loadConfig{}, usage("load %q: there is no %s here that could describe it; give --config, or --source, --table and --time-column instead of a name", name, configName)
	}
	names := slices.Sorted(maps.Keys(c.Loads))
	text := fmt.Sprintf("no load %q", name)
	if near := nearest(name, names); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	} else {
		text += "; it has: " + strings.Join(names, ", ")
	}
	return loadConfig{}, configError{file: c.path, text: text}
}

// catalog returns what to open, and whether it is the embedded default: SQLite
// and files under one folder.
func (c *config) catalog(warehouse string) (cfg catalog.Config, embedded bool) {
	if y := c.Catalog; y != nil {
		cfg = catalog.Config{
			Type: y.Type, URI: y.URI, Warehouse: y.Warehouse, Name: y.Name,
			S3: catalog.S3{
				Endpoint: y.S3.Endpoint, Region: y.S3.Region,
				AccessKeyID: y.S3.AccessKeyID, SecretAccessKey: y.S3.SecretAccessKey, SessionToken: y.S3.SessionToken,
				PathStyle: y.S3.PathStyle, CompatMode: y.S3.CompatMode, CAFile: c.relative(y.S3.CAFile),
			},
			Access: catalog.Access{
				Credential: y.Credential, OAuth2ServerURI: y.OAuth2URI, Scope: y.Scope, Token: y.Token, Headers: y.Headers,
			},
			Properties: y.Properties,
		}
	}
	embedded = cfg.Type == "" && cfg.URI == ""
	switch {
	case warehouse != "":
		cfg.Warehouse = warehouse
	case embedded && cfg.Warehouse == "":
		cfg.Warehouse = c.relative("lakehouse")
	case embedded, cfg.Type == "sql":
		cfg.Warehouse = c.relative(cfg.Warehouse)
	}
	if cfg.Type == "sql" {
		cfg.URI = c.relativeFile(cfg.URI)
	}
	return cfg, embedded
}

// relativeFile is relative for the URI of an SQLite file, file:path or
// sqlite:///path: another file would be another catalog, and a new one.
func (c *config) relativeFile(uri string) string {
	scheme, path, _ := strings.Cut(uri, ":")
	start := scheme + ":"
	switch kind, _, _ := strings.Cut(scheme, "+"); kind {
	case "file":
	case "sqlite":
		start, path = start+"///", strings.TrimPrefix(path, "///")
	default:
		return uri
	}
	if c.dir == "." || path == "" || path[0] == '/' || path[0] == ':' { // :memory:
		return uri
	}
	return start + (&url.URL{Path: c.dir}).EscapedPath() + "/" + path
}

// relative is a path of the config file as seen from the working directory.
func (c *config) relative(path string) string {
	if c.dir == "." || path == "" || filepath.IsAbs(path) || strings.HasPrefix(path, "file:") || strings.Contains(path, "://") {
		return path
	}
	return filepath.Join(c.dir, path)
}
