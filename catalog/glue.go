package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog/glue"
	icebergio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/aws/aws-sdk-go-v2/config"
	awscredentials "github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go/logging"

	"github.com/calve-data/calve/lake"
)

// openGlue opens the AWS Glue Data Catalog of the account that the credentials
// belong to. Glue is asked with the settings that the properties name, glue.*,
// else with those of the store, else as the AWS environment says.
func openGlue(ctx context.Context, c Config, props iceberg.Properties) (*Catalog, error) {
	if c.URI != "" && props[icebergio.S3EndpointURL] == "" {
		// iceberg-go would read metadata files at Glue's endpoint.
		return nil, fmt.Errorf("catalog.uri of a glue catalog needs catalog.s3.endpoint too; the environment's AWS_ENDPOINT_URL_GLUE does not: %w", lake.ErrUsage)
	}
	setting := func(key, s3 string) string { return firstOf(props[key], props[s3]) }
	options := []func(*config.LoadOptions) error{config.WithLogger(logging.Nop{})} // it would write to stderr by itself
	if region := setting(glue.Region, icebergio.S3Region); region != "" {
		options = append(options, config.WithRegion(region))
	}
	if endpoint := firstOf(c.URI, props[glue.Endpoint]); endpoint != "" {
		options = append(options, config.WithBaseEndpoint(endpoint))
	}
	if key := setting(glue.AccessKeyID, icebergio.S3AccessKeyID); key != "" {
		options = append(options, config.WithCredentialsProvider(awscredentials.NewStaticCredentialsProvider(
			key, setting(glue.SecretAccessKey, icebergio.S3SecretAccessKey), setting(glue.SessionToken, icebergio.S3SessionToken))))
	}
	settings, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("reading the AWS settings: %w", err)
	}
	if settings.Region == "" {
		return nil, fmt.Errorf("catalog.s3.region of a glue catalog is not set, and neither is AWS_REGION: %w", lake.ErrUsage)
	}
	cat, err := glue.NewCatalog(glue.WithAwsConfig(settings), glue.WithAwsProperties(glue.AwsProperties(props)))
	if err != nil {
		return nil, fmt.Errorf("opening the Glue catalog: %w", err)
	}
	return &Catalog{
		cat:            cat,
		props:          props,
		place:          gluePlace(c.Warehouse),
		create:         func(updates []table.Update) []table.Update { return []table.Update{fromNothing(updates)} },
		writesMetadata: true,
		close:          cat.Close,
	}, nil
}

// gluePlace is where a table goes whose database has no location.
func gluePlace(warehouse string) func(table.Identifier, string) (string, error) {
	return func(namespace table.Identifier, name string) (string, error) {
		if !strings.Contains(warehouse, "://") {
			return "", fmt.Errorf("the Glue database %s has no location: give it one, or set catalog.warehouse to one such as s3://bucket/warehouse: %w",
				strings.Join(namespace, "."), lake.ErrUsage)
		}
		return joinLocation(warehouse, strings.Join(namespace, ".")+".db", name), nil
	}
}

// glueDenied reports whether Glue does not know who asks, or does not let them.
func glueDenied(err error) bool {
	return slices.Contains([]string{"AccessDeniedException", "UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException"}, awsCode(err))
}

// glueBusy reports whether Glue could not do what it was asked just now.
func glueBusy(err error) bool {
	return slices.Contains([]string{"ThrottlingException", "InternalServiceException", "OperationTimeoutException", "ResourceNotReadyException"}, awsCode(err))
}

// awsCode is AWS's code for an error; "" where it is not AWS's.
func awsCode(err error) string {
	var coded interface{ ErrorCode() string }
	if errors.As(err, &coded) {
		return coded.ErrorCode()
	}
	return ""
}
