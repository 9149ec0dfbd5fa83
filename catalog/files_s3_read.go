package catalog

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/calve-data/calve/lake"
)

// s3Reader reads one version of an object: every request says which.
type s3Reader struct {
	ctx    context.Context
	client *s3.Client
	file   lake.File
	bucket string
	key    string

	body io.ReadCloser
	at   int64
	// broken counts the streams that broke without a byte in between.
	broken int
}

func (f *Files) openS3(ctx context.Context, file lake.File, rest string) (lake.ObjectReader, error) {
	client, err := f.s3(ctx)
	if err != nil {
		return nil, err
	}
	bucket, key, _ := strings.Cut(rest, "/")
	return &s3Reader{ctx: ctx, client: client, file: file, bucket: bucket, key: key}, nil
}

func (r *s3Reader) Size() int64 { return r.file.Size }

// Read reads one stream. Where it breaks it goes on at the same byte of the
// same version.
func (r *s3Reader) Read(p []byte) (int, error) {
	for r.at < r.file.Size {
		if r.body == nil {
			body, err := r.get(r.at, r.file.Size-1)
			if err != nil {
				return 0, err
			}
			r.body = body
		}
		n, err := r.body.Read(p)
		r.at += int64(n)
		if n > 0 {
			r.broken = 0
			return n, nil
		}
		if err == nil {
			continue
		}
		_ = r.body.Close()
		r.body = nil
		if r.broken++; r.broken > 3 || r.ctx.Err() != nil {
			return 0, fmt.Errorf("reading %s at byte %d: %w", r.file.Path, r.at, s3Error(err))
		}
	}
	return 0, io.EOF
}

func (r *s3Reader) ReadAt(p []byte, off int64) (int, error) {
	end := min(off+int64(len(p)), r.file.Size)
	if off < 0 || off >= end {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	n := 0
	for tries := 0; int64(n) < end-off; tries++ {
		body, err := r.get(off+int64(n), end-1)
		if err != nil {
			return n, err
		}
		m, err := io.ReadFull(body, p[n:end-off])
		_ = body.Close()
		n += m
		if err != nil && (tries == 3 || r.ctx.Err() != nil) {
			return n, fmt.Errorf("reading %s at byte %d: %w", r.file.Path, off+int64(n), s3Error(err))
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (r *s3Reader) get(from, last int64) (io.ReadCloser, error) {
	out, err := r.client.GetObject(r.ctx, &s3.GetObjectInput{
		Bucket: &r.bucket, Key: &r.key, IfMatch: &r.file.ETag,
		Range: aws.String("bytes=" + strconv.FormatInt(from, 10) + "-" + strconv.FormatInt(last, 10)),
	})
	switch status(err) {
	case 0:
		if err == nil {
			return out.Body, nil
		}
	case http.StatusPreconditionFailed, http.StatusRequestedRangeNotSatisfiable:
		return nil, changed(r.file, "was replaced")
	case http.StatusNotFound:
		return nil, changed(r.file, "was removed")
	}
	return nil, fmt.Errorf("reading %s: %w", r.file.Path, err)
}

// Close ends the stream, if one is open.
func (r *s3Reader) Close() error {
	if r.body == nil {
		return nil
	}
	err := r.body.Close()
	r.body, r.at = nil, r.file.Size
	return err
}
