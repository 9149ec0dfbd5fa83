package main

import (
	"embed"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"unicode"
	"unicode/utf16"
)

//go:embed connect
var snippets embed.FS

// engine is what calve knows of a query engine.
type engine struct {
	// file is the template; comment is what a comment begins with in its language.
	file, language, comment string
	// use says what to do with a snippet.
	use string
	// obstacles are why it cannot read a table; the first that holds counts.
	obstacles []obstacle
}

type obstacle struct {
	holds func(*connection) bool
	why   string
}

// Versions that the snippets are tested with.
const (
	sparkPackages = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
	awsPackage    = "org.apache.iceberg:iceberg-aws-bundle:1.12.0"
	sqlitePackage = "org.xerial:sqlite-jdbc:3.54.1.0"
	pgPackage     = "org.postgresql:postgresql:42.7.7"
)

var engines = map[string]engine{ //nolint:gochecknoglobals // a table that nobody changes
	"duckdb": {
		file: "duckdb.sql", language: "sql", comment: "-- ",
		use: "for the duckdb shell, 1.5 or later",
	},
	"pyiceberg": {
		file: "pyiceberg.py", language: "python", comment: "# ",
		use:       "for Python with pip install 'pyiceberg[pyarrow,s3fs,sql-sqlite,sql-postgres]'",
		obstacles: []obstacle{noGlue},
	},
	"spark": {
		file: "spark.py", language: "python", comment: "# ",
		use: "for Python with pip install pyspark==4.1.4, and Java 17 or 21",
		obstacles: []obstacle{
			noGlue,
			{func(to *connection) bool { return !identifier.MatchString(to.Alias()) }, "Spark must call the catalog as its rows do, and cannot: set catalog.name to letters and digits before tables are made"},
		},
	},
	"trino": {
		file: "trino.properties", language: "properties", comment: "# ",
		use: "for Trino 476, as etc/catalog/lake.properties of its server, started with the variables named here",
		obstacles: []obstacle{
			noGlue,
			{func(to *connection) bool { return to.Store == nil }, "Trino reads no tables in plain local files: keep the warehouse in an S3 store and the catalog in PostgreSQL or behind REST; duckdb, pyiceberg and spark read this one"},
			{func(to *connection) bool { return to.SQLite }, "Trino has no driver for an SQLite catalog: use PostgreSQL or REST; duckdb, pyiceberg and spark read this one"},
			{func(to *connection) bool { return !to.REST && to.Nested() }, "Trino sees only namespaces of one level in an SQL catalog: use REST"},
			{func(to *connection) bool { return !to.REST && to.MixedCase() }, "Trino asks an SQL catalog for names in lower case only: use REST, or name the table in lower case"},
			{func(to *connection) bool { return to.Store.Token != "" }, "Trino takes a session token only from the AWS variables of its server: leave the keys out of calve.yaml and set them there"},
		},
	},
}

// noGlue is of the engines that must ask the catalog: what they would need to
// reach Glue is tested nowhere here.
var noGlue = obstacle{ //nolint:gochecknoglobals // nobody changes it
	func(to *connection) bool { return to.Glue },
	"of a Glue catalog only duckdb is told, which needs just the table's metadata file; set up the engine by its own pages on Glue",
}

var identifier = regexp.MustCompile(`^[A-Za-z]\w*$`)

// snippet is what a user pastes, and the variables that it reads.
func (to *connection) snippet(name string) (text string, reads []variable, err error) {
	e := engines[name]
	for _, o := range e.obstacles {
		if o.holds(to) {
			return "", nil, fmt.Errorf("%w: %s", errNoSnippet, o.why)
		}
	}
	t, err := template.New(e.file).Funcs(quoting).ParseFS(snippets, path.Join("connect", e.file))
	if err != nil {
		return "", nil, err
	}
	var body strings.Builder
	if err := t.Execute(&body, to); err != nil {
		return "", nil, err
	}
	reads = slices.DeleteFunc(slices.Clone(to.Environment), func(v variable) bool { return !strings.Contains(body.String(), v.Name) })
	for _, note := range to.notes(e, reads) {
		text += e.comment + printable(note) + "\n"
	}
	return text + body.String(), reads, nil
}

// notes are the comments that a snippet begins with.
func (to *connection) notes(e engine, reads []variable) []string {
	notes := []string{to.Schema() + "." + to.Name + ", " + e.use}
	if e.language == "properties" {
		notes = append(notes, fmt.Sprintf("Then: trino --execute 'SELECT * FROM lake.%s.%s LIMIT 10'", sqlName(to.Schema()), sqlName(to.Name)))
	}
	for _, v := range reads {
		notes = append(notes, fmt.Sprintf("Reads %s from the environment: %s in calve.yaml", v.Name, v.Holds))
	}
	for _, name := range to.left {
		notes = append(notes, "Not carried over from calve.yaml: "+name)
	}
	return notes
}

// Schema is the namespace as engines with one level of them call it.
func (to *connection) Schema() string { return strings.Join(to.Namespace, ".") }

// Nested reports whether the namespace has more than one level.
func (to *connection) Nested() bool { return len(to.Namespace) > 1 }

// MixedCase reports whether the table's name would be another one in lower case.
func (to *connection) MixedCase() bool {
	return strings.ContainsFunc(to.Schema()+to.Name, unicode.IsUpper)
}

// OwnKeys reports whether the engine brings the keys of the store itself,
// instead of being lent some by the catalog.
func (to *connection) OwnKeys() bool { return to.Store == nil || to.Store.Key != "" }

// UserAt is the user in front of a host.
func (to *connection) UserAt() string {
	if to.User == "" {
		return ""
	}
	return to.User + "@"
}

// Alias is what Spark calls the catalog: an SQL catalog is asked for it.
func (to *connection) Alias() string {
	if to.REST {
		return "lake"
	}
	return to.Catalog
}

// Ticked is the table's name for Spark.
func (to *connection) Ticked() string {
	var names []string
	for _, name := range append(to.Namespace[:len(to.Namespace):len(to.Namespace)], to.Name) {
		names = append(names, "`"+strings.ReplaceAll(name, "`", "``")+"`")
	}
	return strings.Join(names, ".")
}

// Packages are the jars that Spark fetches.
func (to *connection) Packages() string {
	packages := []string{sparkPackages}
	if to.Store != nil {
		packages = append(packages, awsPackage)
	}
	if to.SQLite {
		packages = append(packages, sqlitePackage)
	} else if !to.REST {
		packages = append(packages, pgPackage)
	}
	return strings.Join(packages, ",")
}

var quoting = template.FuncMap{ //nolint:gochecknoglobals // a table that nobody changes
	"sql":  func(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" },
	"name": sqlName,
	"py":   strconv.QuoteToASCII,
	"prop": propertyValue,
}

func sqlName(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }

// propertyValue escapes a value for a Java properties file.
func propertyValue(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case r < ' ' || r > '~':
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
