package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	icebergcat "github.com/apache/iceberg-go/catalog"
	icebergio "github.com/apache/iceberg-go/io"
	icebergs3 "github.com/apache/iceberg-go/io/gocloud/s3"
	"github.com/apache/iceberg-go/table"
	"github.com/apache/iceberg-go/utils"
	"github.com/aws/aws-sdk-go-v2/aws"
)

// A REST server may give the keys to a table's files with the table. iceberg-go
// makes one file system of them, which lives as long as the context it was first
// asked with and which later callers share: their uploads then end with a
// stranger's context, or do not end with their own. So the keys are taken out of
// the answer here, and every file system gets them from a provider that asks the
// server for new ones when they come to their end.

const (
	keyExpires  = "s3.session-token-expires-at-ms"
	renewBefore = 5 * time.Minute
)

// vended are the keys that came with a table; the zero value is none, or such
// as do not expire, which stay in the table's settings.
type vended struct {
	aws.Credentials
	renewAt time.Time
}

type vendedKey struct{}

// receive passes a table's answer on, its keys taken out.
func (v *vended) receive(resp *http.Response) error {
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return err
	}
	var answer map[string]json.RawMessage
	if json.Unmarshal(body, &answer) == nil {
		if config, ok := v.settle(answer); ok {
			delete(answer, "storage-credentials")
			if answer["config"], err = json.Marshal(config); err != nil {
				return err
			}
			if body, err = json.Marshal(answer); err != nil {
				return err
			}
		}
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return nil
}

// settle makes one set of settings of those of an answer and of its storage
// credentials, and takes keys that expire out of it. An answer without keys
// stays as it is.
func (v *vended) settle(answer map[string]json.RawMessage) (config iceberg.Properties, ok bool) {
	var (
		offers   []struct{ Prefix, Config json.RawMessage }
		location struct{ Location string }
		length   = -1
		keys     iceberg.Properties
	)
	_ = json.Unmarshal(answer["config"], &config)
	_ = json.Unmarshal(answer["metadata"], &location)
	_ = json.Unmarshal(answer["storage-credentials"], &offers)
	for _, offer := range offers {
		var prefix string
		if json.Unmarshal(offer.Prefix, &prefix) == nil && strings.HasPrefix(location.Location+"/", prefix) && len(prefix) > length {
			keys, length = nil, len(prefix)
			_ = json.Unmarshal(offer.Config, &keys)
		}
	}
	if keys == nil {
		keys = config
	}
	if keys[icebergio.S3AccessKeyID] == "" {
		return config, len(offers) > 0
	}
	if config == nil {
		config = iceberg.Properties{}
	}
	// The keys belong together: none of them goes with the catalog's own.
	config[icebergio.S3SessionToken] = keys[icebergio.S3SessionToken]
	maps.Copy(config, keys)
	v.take(config)
	return config, true
}

func (v *vended) take(config iceberg.Properties) {
	ms, err := strconv.ParseInt(config[keyExpires], 10, 64)
	if err != nil || ms <= 0 {
		return
	}
	v.Credentials = aws.Credentials{
		AccessKeyID: config[icebergio.S3AccessKeyID], SecretAccessKey: config[icebergio.S3SecretAccessKey], SessionToken: config[icebergio.S3SessionToken],
		Source: "the REST catalog", CanExpire: true, Expires: time.UnixMilli(ms),
	}
	v.renewAt = v.Expires.Add(-min(renewBefore, time.Until(v.Expires)/2))
	// Empty, they hide the catalog's own ones.
	config[icebergio.S3AccessKeyID], config[icebergio.S3SecretAccessKey], config[icebergio.S3SessionToken] = "", "", ""
}

// keyring gives a table's keys to the AWS client, which keeps them until they
// are to be renewed.
type keyring struct {
	now   *vended
	renew func(context.Context) (*vended, error)
}

// Retrieve makes the keyring an [aws.CredentialsProvider].
func (k *keyring) Retrieve(ctx context.Context) (aws.Credentials, error) {
	if !time.Now().Before(k.now.renewAt) {
		next, err := k.renew(ctx)
		if err != nil {
			return aws.Credentials{}, fmt.Errorf("asking the catalog for new keys to the table's files: %w", translate(err))
		}
		k.now = next
	}
	keys := k.now.Credentials
	keys.Expires = k.now.renewAt
	return keys, nil
}

// loadVended loads a table with the keys that come with it.
func (c *Catalog) loadVended(ctx context.Context, id table.Identifier) (*table.Table, error) {
	load := func(ctx context.Context) (*table.Table, *vended, error) {
		v := &vended{}
		t, err := c.cat.LoadTable(context.WithValue(ctx, vendedKey{}, v), id)
		return t, v, err
	}
	t, v, err := load(ctx)
	if err != nil || v.renewAt.IsZero() {
		return t, err
	}
	return c.opened(t, v, func(ctx context.Context) (*vended, error) {
		_, v, err := load(ctx)
		return v, err
	}), nil
}

// stageVended drafts a table with the keys that come with it. When they are to
// be renewed, the table may be there.
func (c *Catalog) stageVended(ctx context.Context, id table.Identifier, stage func(context.Context) (*table.Table, error)) (*table.Table, error) {
	v := &vended{}
	t, err := stage(context.WithValue(ctx, vendedKey{}, v))
	if err != nil || v.renewAt.IsZero() {
		return t, err
	}
	return c.opened(t, v, func(ctx context.Context) (*vended, error) {
		v := &vended{}
		ctx = context.WithValue(ctx, vendedKey{}, v)
		_, err := c.cat.LoadTable(ctx, id)
		if errors.Is(err, icebergcat.ErrNoSuchTable) {
			_, err = stage(ctx)
		}
		return v, err
	}), nil
}

// opened lets the table's file systems be opened with keys that are renewed.
func (c *Catalog) opened(t *table.Table, v *vended, renew func(context.Context) (*vended, error)) *table.Table {
	keys := aws.NewCredentialsCache(&keyring{now: v, renew: renew})
	open := func(ctx context.Context) (icebergio.IO, error) {
		var config aws.Config
		if given := utils.GetAwsConfig(ctx); given != nil {
			config = *given
		} else if made, err := icebergs3.ParseAWSConfig(ctx, c.props); err == nil {
			config = *made
		} else {
			return nil, err
		}
		config.Credentials = keys
		return t.FS(utils.WithAwsConfig(ctx, &config))
	}
	return table.New(t.Identifier(), t.Metadata(), t.MetadataLocation(), open, c, table.WithMetricsReporter(t.MetricsReporter()))
}
