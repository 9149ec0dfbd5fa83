package catalog

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/io"
	icebergs3 "github.com/apache/iceberg-go/io/gocloud/s3"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

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

// newS3 makes a client that reaches the store exactly as a table's file system
// does with the same properties.
func newS3(ctx context.Context, props iceberg.Properties) (*s3.Client, error) {
	cfg, err := icebergs3.ParseAWSConfig(ctx, props)
	if err != nil {
		return nil, fmt.Errorf("reading the S3 settings: %w", err)
	}
	if cfg.Region == "" {
		return nil, fmt.Errorf("catalog.s3.region is not set, and neither is AWS_REGION: %w", lake.ErrUsage)
	}
	return s3.NewFromConfig(*cfg, func(o *s3.Options) {
		if endpoint := props[io.S3EndpointURL]; endpoint != "" {
			o.BaseEndpoint = aws.String(endpoint)
		}
		virtual, err := strconv.ParseBool(props[io.S3ForceVirtualAddressing])
		o.UsePathStyle = err == nil && !virtual
		if compat, _ := strconv.ParseBool(props[io.S3CompatMode]); compat {
			o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
			o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		}
		// The SDK verifies what checksums a store sends and would print a line
		// for each object that has none.
		o.DisableLogOutputChecksumValidationSkipped = true
	}), nil
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
