package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/apache/iceberg-go"
	icebergcat "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"
)

// A REST server can say what a table will be without making it: the staged
// create of the protocol, whose answer holds the location, the store's settings
// and credentials for it. iceberg-go knows the staged create as the first half
// of CreateTable, which goes on to commit it. So the second half is answered
// here, in the server's place, and what CreateTable returns is the draft, its
// file system made as for a table that exists.

// stageREST drafts a table by a staged create. A location that is "" is the
// server's to choose.
func stageREST(cat *rest.Catalog) func(context.Context, table.Identifier, *iceberg.Schema, *iceberg.PartitionSpec, string, iceberg.Properties) (*table.Table, error) {
	return func(ctx context.Context, id table.Identifier, schema *iceberg.Schema, spec *iceberg.PartitionSpec, location string, props iceberg.Properties) (*table.Table, error) {
		ctx = context.WithValue(ctx, stagingKey{}, &staging{})
		return cat.CreateTable(ctx, id, schema,
			icebergcat.WithLocation(location), icebergcat.WithPartitionSpec(spec), icebergcat.WithProperties(props),
			icebergcat.WithStagedUpdates(table.NewSetPropertiesUpdate(props))) // never sent: it makes the create a staged one
	}
}

type stagingKey struct{}

// staging is one staged create under way: nothing before its answer is known.
type staging struct {
	metadata json.RawMessage
}

func (s *staging) roundTrip(r *http.Request, send func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	if s.metadata != nil {
		return s.committed(r)
	}
	resp, err := send(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, err
	}
	var answer struct {
		Metadata json.RawMessage `json:"metadata"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Metadata == nil {
		return nil, errStranger
	}
	s.metadata = answer.Metadata
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

// committed answers the commit of the staged table. The place of its metadata
// is only for the choice of the credentials that go with it.
func (s *staging) committed(r *http.Request) (*http.Response, error) {
	var meta struct {
		Location string `json:"location"`
	}
	if err := json.Unmarshal(s.metadata, &meta); err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{
		"metadata":          s.metadata,
		"metadata-location": strings.TrimRight(meta.Location, "/") + "/metadata/00000-draft.metadata.json",
	})
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:  http.Header{"Content-Type": {"application/json"}},
		Body:    io.NopCloser(bytes.NewReader(body)),
		Request: r, ContentLength: int64(len(body)),
	}, nil
}

// cannotStage reports whether the server does not know the staged create; then
// a table goes where the configuration says, with the configuration's settings.
func cannotStage(err error) bool {
	return errors.Is(err, rest.ErrEndpointNotSupported) || errors.Is(err, iceberg.ErrNotImplemented) ||
		errors.Is(err, rest.ErrBadRequest) || strings.Contains(err.Error(), "UnsupportedOperation")
}
