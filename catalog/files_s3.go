package catalog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/calve-data/calve/lake"
)

// listS3 lists bucket/key. Keys are raw: a key may have any character, and
// nothing in it is decoded.
func (f *Files) listS3(ctx context.Context, pattern string) ([]lake.File, error) {
	bucket, key, _ := strings.Cut(pattern, "/")
	if bucket == "" || hasMeta(bucket) {
		return nil, fmt.Errorf("the bucket's name must be spelt out, as in s3://bucket/folder/*.csv: %w", lake.ErrUsage)
	}
	client, err := f.s3(ctx)
	if err != nil {
		return nil, err
	}
	l := s3List{client: client, bucket: bucket, pattern: key}
	if !hasMeta(key) {
		return l.one(ctx)
	}
	globs, err := parseGlobs(key)
	if err != nil {
		return nil, err
	}
	for _, g := range globs {
		if err := l.add(ctx, g); err != nil {
			return nil, err
		}
	}
	return l.files, nil
}

func (f *Files) s3(ctx context.Context) (*s3.Client, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.client == nil {
		client, err := newS3(ctx, f.props)
		if err != nil {
			return nil, err
		}
		f.client = client
	}
	return f.client, nil
}

type s3List struct {
	client          *s3.Client
	bucket, pattern string
	files           []lake.File
}

// one looks for the object that a pattern without wildcards names.
func (l *s3List) one(ctx context.Context) ([]lake.File, error) {
	key := unescape(l.pattern)
	if key != "" && !strings.HasSuffix(key, "/") {
		head, err := l.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &l.bucket, Key: &key})
		if err == nil {
			return []lake.File{l.file(key, head.ContentLength, head.ETag)}, nil
		}
		if status(err) != http.StatusNotFound {
			return nil, s3Error(err)
		}
		key += "/"
	}
	// The answer to a head request has no text: that the bucket is missing is
	// only seen here.
	below, err := l.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &l.bucket, Prefix: &key, MaxKeys: aws.Int32(1)})
	if err != nil {
		return nil, s3Error(err)
	}
	if len(below.Contents) > 0 {
		return nil, fmt.Errorf("it is a folder: say which of its files, as in s3://%s/%s*.csv: %w", l.bucket, key, lake.ErrUsage)
	}
	return nil, nil
}

// add lists what begins like the pattern, and only one folder where that is
// enough, for listing costs a request per thousand keys.
func (l *s3List) add(ctx context.Context, g glob) error {
	in := &s3.ListObjectsV2Input{Bucket: &l.bucket, Prefix: aws.String(g.literal())}
	if g.oneFolder() {
		in.Delimiter = aws.String("/")
	}
	for pages := s3.NewListObjectsV2Paginator(l.client, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return s3Error(err)
		}
		for _, object := range page.Contents {
			key := aws.ToString(object.Key)
			// A key that ends in a slash is how some programs mark a folder.
			if !strings.HasSuffix(key, "/") && (g.match(strings.Split(key, "/")) || key == l.pattern) {
				l.files = append(l.files, l.file(key, object.Size, object.ETag))
			}
		}
	}
	return nil
}

func (l *s3List) file(key string, size *int64, etag *string) lake.File {
	return lake.File{Path: "s3://" + l.bucket + "/" + key, Size: aws.ToInt64(size), ETag: aws.ToString(etag)}
}

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
	return nil, fmt.Errorf("reading %s: %w", r.file.Path, s3Error(err))
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

// status is the HTTP status of a failed request; 0 where no answer came.
func status(err error) int {
	var response interface{ HTTPStatusCode() int }
	if errors.As(err, &response) {
		return response.HTTPStatusCode()
	}
	return 0
}

// s3Error says who acts: no answer and an overloaded store are for another try.
func s3Error(err error) error {
	var bucket *types.NoSuchBucket
	code := status(err)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &bucket):
		return fmt.Errorf("the bucket does not exist: %w: %w", err, lake.ErrUsage)
	case code == 0 || code == http.StatusTooManyRequests || code >= 500:
		return fmt.Errorf("%w: %w", err, lake.ErrTemporary)
	}
	return err
}
