// Package catalog is how commits go out: it opens Iceberg catalogs and object
// stores, gives the libraries beneath every setting explicitly, and names
// their failures in the words of package lake.
//
// A catalog is opened by [Open] from a [Config] and is a [lake.Catalog].
// [Files] are the files that sources read, local ones and those in S3.
package catalog

import (
	"maps"
	"time"

	"github.com/apache/iceberg-go"
)

// Config says which catalog to open. The zero value is the embedded catalog
// in ./lakehouse. Nothing is read from a configuration file of iceberg-go.
type Config struct {
	// Type is the kind of catalog. Default: sqlite.
	//
	//	sqlite  embedded: the file catalog.db in the folder Warehouse, with the
	//	        tables beside it
	//	sql     a PostgreSQL database or a SQLite file, in the layout that
	//	        Iceberg's JDBC catalog and PyIceberg share
	//	rest    an Iceberg REST catalog
	//	glue    the AWS Glue Data Catalog
	Type string
	// URI is where the catalog is. sql: postgres://user:password@host/database,
	// with sslmode and the like as further parameters, or file:/path/catalog.db
	// or sqlite:///path. rest: http://host:port. glue: Glue's endpoint,
	// where it is not AWS's own. sqlite takes none. A password
	// in it is never shown.
	URI string
	// Warehouse is where new tables go. For sqlite: a local folder, default
	// ./lakehouse. For sql: a local folder or an s3:// location, required. For
	// rest: what the server calls its warehouse, a name or a location; it may be
	// left out where the server has only one. For glue: an s3:// location, where
	// databases have none.
	Warehouse string
	// Name is the catalog's name. An SQL catalog keeps it in every row, and
	// other engines find the tables only under the same name. Default: lake.
	Name string
	// Access is for rest: who the server is told that we are.
	Access Access
	// S3 is the object store of the tables. What a REST server says of the store,
	// as an override or for one table, wins over it, credentials included; what it
	// says as a default does not.
	S3 S3
	// Properties are further properties in iceberg-go's words, such as
	// rest.sigv4-enabled. What the fields above say wins.
	Properties map[string]string
}

// S3 says how to reach an S3 store. The zero value is AWS as the environment
// describes it.
type S3 struct {
	// Endpoint is the URL of a store that is not AWS, such as
	// http://localhost:9000. Default: the environment's AWS_ENDPOINT_URL_S3, else
	// AWS_ENDPOINT_URL, else AWS itself.
	Endpoint string
	// Region is the store's region. Default: the environment's AWS_REGION or
	// AWS_DEFAULT_REGION, else us-east-1 where there is an endpoint, else what the
	// AWS configuration says.
	Region string
	// AccessKeyID and SecretAccessKey are given both or not at all. Default: the
	// AWS credential chain (environment, shared files, roles).
	AccessKeyID, SecretAccessKey string
	// SessionToken belongs to temporary credentials.
	SessionToken string
	// PathStyle puts the bucket into the URL's path instead of its host name.
	// Default: true where there is an endpoint, else false.
	PathStyle *bool
	// CompatMode leaves out the trailing checksums that some stores refuse, in
	// every request. Default: false.
	CompatMode bool
	// CAFile is a file of certificates in PEM form, of authorities that are
	// trusted besides the system's. Default: none.
	CAFile string
	// Timeout is how long a connection may be silent, while an answer is waited
	// for or in the midst of one, before it is given up, also one to the catalog.
	// Default: 60 seconds.
	Timeout time.Duration
}

// properties are all settings as iceberg-go wants them. A file system is always
// made of them, so that nothing is left for it to look up elsewhere.
func (c Config) properties() (iceberg.Properties, error) {
	props := iceberg.Properties{}
	maps.Copy(props, c.Properties)
	if err := c.S3.into(props); err != nil {
		return nil, err
	}
	return props, nil
}

func (c Config) name() string {
	if c.Name == "" {
		return "lake"
	}
	return c.Name
}
