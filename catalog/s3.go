package catalog

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/io"
	icebergs3 "github.com/apache/iceberg-go/io/gocloud/s3"
	"github.com/apache/iceberg-go/table"
	"github.com/apache/iceberg-go/utils"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"

	"github.com/calve-data/calve/lake"
)

// into writes the settings into props, where they win over what is there.
//
// The endpoint, the region and the addressing style are always explicit once
// there is an endpoint. iceberg-go takes path style only from an endpoint that
// is a property; one that the AWS SDK finds in AWS_ENDPOINT_URL by itself would
// be asked for a host name bucket.host.
func (s S3) into(props iceberg.Properties) error {
	set := func(key, value string) {
		if value != "" {
			props[key] = value
		}
	}
	set(io.S3EndpointURL, s.Endpoint)
	set(io.S3Region, s.Region)
	set(io.S3AccessKeyID, s.AccessKeyID)
	set(io.S3SecretAccessKey, s.SecretAccessKey)
	set(io.S3SessionToken, s.SessionToken)
	if s.PathStyle != nil {
		props[io.S3ForceVirtualAddressing] = strconv.FormatBool(!*s.PathStyle)
	}
	if s.CompatMode {
		props[io.S3CompatMode] = "true"
	}
	if (props[io.S3AccessKeyID] == "") != (props[io.S3SecretAccessKey] == "") {
		return fmt.Errorf("catalog.s3.access_key_id and catalog.s3.secret_access_key are given both or not at all: %w", lake.ErrUsage)
	}
	if props[io.S3SessionToken] != "" && props[io.S3AccessKeyID] == "" {
		return fmt.Errorf("catalog.s3.session_token belongs to a catalog.s3.access_key_id, and there is none: %w", lake.ErrUsage)
	}
	return completeEndpoint(props)
}

//nolint:forbidigo // these variables are how AWS tools are pointed at a store; iceberg-go would read a part of them itself
func completeEndpoint(props iceberg.Properties) error {
	endpoint := firstOf(props[io.S3EndpointURL],
		os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), os.Getenv("AWS_S3_ENDPOINT"))
	if endpoint == "" {
		return nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fmt.Errorf("catalog.s3.endpoint %q is not a URL such as http://localhost:9000 or https://s3.example.com: %w", endpoint, lake.ErrUsage)
	}
	props[io.S3EndpointURL] = strings.TrimRight(endpoint, "/")
	if _, ok := props[io.S3ForceVirtualAddressing]; !ok {
		props[io.S3ForceVirtualAddressing] = "false"
	}
	if props[io.S3Region] == "" {
		props[io.S3Region] = firstOf(props[io.S3ClientRegion], os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), "us-east-1")
	}
	return nil
}

// store is how S3 is reached, by tables and sources alike: one AWS
// configuration, with one pool of connections, one cache of credentials, and one
// place that says in the words of calve.yaml what went wrong.
//
// Tables get it through the context that their file systems are opened with:
// iceberg-go takes a configuration that it finds there, and lays the s3.*
// properties of the table over it, such as credentials that a catalog vends.
type store struct {
	props iceberg.Properties
	dial  dialing

	mu  sync.Mutex
	cfg *aws.Config
}

// newStore checks what can be checked without asking anybody.
func newStore(props iceberg.Properties, s S3) (*store, error) {
	d, err := s.dialing()
	if err != nil {
		return nil, err
	}
	return &store{props: props, dial: d}, nil
}

func (s *store) config(ctx context.Context) (*aws.Config, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cfg != nil {
		return s.cfg, nil
	}
	cfg, err := icebergs3.ParseAWSConfig(ctx, s.props)
	if err != nil {
		return nil, fmt.Errorf("reading the S3 settings: %w", err)
	}
	cfg.Logger = logging.Nop{} // it would write to stderr by itself
	if s.props[io.S3AccessKeyID] == "" {
		// So would the chain that looks for credentials, which has its logger by now.
		quiet, err := config.LoadDefaultConfig(ctx, config.WithLogger(cfg.Logger), config.WithRegion(cfg.Region), config.WithHTTPClient(cfg.HTTPClient))
		if err != nil {
			return nil, fmt.Errorf("reading the S3 settings: %w", err)
		}
		cfg.Credentials = quiet.Credentials
	}
	cfg.Retryer = retries
	cfg.HTTPClient = s.dial.client(cfg.HTTPClient)
	cfg.Credentials = credentialChain{cfg.Credentials}
	cfg.APIOptions = append(cfg.APIOptions, withWords, withAborts)
	if compat, _ := strconv.ParseBool(s.props[io.S3CompatMode]); compat {
		// iceberg-go does the same for what it writes, and no more than this for
		// what it reads.
		cfg.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		cfg.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	}
	s.cfg = cfg
	return cfg, nil
}

// within returns ctx with the configuration. Where there is none, for the
// machine's AWS files cannot be read, ctx is returned as it is: who needs S3
// meets the same error again, and a local table does not care.
func (s *store) within(ctx context.Context) context.Context {
	cfg, err := s.config(ctx)
	if err != nil {
		return ctx
	}
	return utils.WithAwsConfig(ctx, cfg)
}

// reach lets the table's file system, and those of tables made from it, be
// opened with the configuration.
func (s *store) reach(t *table.Table, cat table.CatalogIO) *table.Table {
	open := func(ctx context.Context) (io.IO, error) { return t.FS(s.within(ctx)) }
	return table.New(t.Identifier(), t.Metadata(), t.MetadataLocation(), open, cat, table.WithMetricsReporter(t.MetricsReporter()))
}

// client makes a client that reaches the store exactly as a table's file system
// does with the same properties.
func (s *store) client(ctx context.Context) (*s3.Client, error) {
	cfg, err := s.config(ctx)
	if err != nil {
		return nil, err
	}
	if cfg.Region == "" {
		return nil, fmt.Errorf("catalog.s3.region is not set, and neither is AWS_REGION: %w", lake.ErrUsage)
	}
	return s3.NewFromConfig(*cfg, func(o *s3.Options) {
		if endpoint := s.props[io.S3EndpointURL]; endpoint != "" {
			o.BaseEndpoint = aws.String(endpoint)
		}
		virtual, err := strconv.ParseBool(s.props[io.S3ForceVirtualAddressing])
		o.UsePathStyle = err == nil && !virtual
		// The SDK verifies what checksums a store sends and would print a line
		// for each object that has none.
		o.DisableLogOutputChecksumValidationSkipped = true
	}), nil
}

// isS3 reports whether a location's scheme is S3's. Hadoop's file systems gave it
// two more names.
func isS3(scheme string) bool { return scheme == "s3" || scheme == "s3a" || scheme == "s3n" }

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
