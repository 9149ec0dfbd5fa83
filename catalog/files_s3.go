package catalog

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/calve-data/calve/lake"
)

// listS3 lists bucket/key, and names what it finds with the scheme that was
// asked for. Keys are raw: a key may have any character, and nothing in it is
// decoded.
func (f *Files) listS3(ctx context.Context, scheme, pattern string) ([]lake.File, error) {
	bucket, key, _ := strings.Cut(pattern, "/")
	if bucket == "" || hasMeta(bucket) {
		return nil, fmt.Errorf("the bucket's name must be spelt out, as in s3://bucket/folder/*.csv: %w", lake.ErrUsage)
	}
	client, err := f.s3(ctx)
	if err != nil {
		return nil, err
	}
	l := s3List{client: client, scheme: scheme, bucket: bucket, pattern: key}
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
		client, err := f.store.client(ctx)
		if err != nil {
			return nil, err
		}
		f.client = client
	}
	return f.client, nil
}

type s3List struct {
	client                  *s3.Client
	scheme, bucket, pattern string
	files                   []lake.File
}

// one looks for the object that a pattern without wildcards names.
func (l *s3List) one(ctx context.Context) ([]lake.File, error) {
	var refused error
	key := unescape(l.pattern)
	if key != "" && !strings.HasSuffix(key, "/") {
		head, err := l.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &l.bucket, Key: &key})
		if err == nil {
			return []lake.File{l.file(key, head.ContentLength, head.ETag)}, nil
		}
		if code := status(err); code < 400 || code >= 500 {
			return nil, err
		}
		refused = err
		key += "/"
	}
	// The answer to a head request has no text: that the bucket is missing, or
	// the secret wrong, is only seen here.
	below, err := l.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &l.bucket, Prefix: &key, MaxKeys: aws.Int32(1)})
	if err != nil {
		return nil, err
	}
	if refused != nil && status(refused) != http.StatusNotFound {
		return nil, refused
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
			return err
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
	return lake.File{Path: l.scheme + "://" + l.bucket + "/" + key, Size: aws.ToInt64(size), ETag: aws.ToString(etag)}
}
