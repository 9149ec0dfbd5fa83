package catalog

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
)

const (
	// abortTimeout bounds the giving up of one upload.
	abortTimeout = 10 * time.Second
	// answerTimeout bounds the beginning and the completing of one: a store may
	// take minutes to put a large object together.
	answerTimeout = 5 * time.Minute
	// abortPause is what a store is given to end the parts that were under way,
	// the first time; then twice as much.
	abortPause = 200 * time.Millisecond
	aborts     = 4
)

// withAborts lets uploads in parts be given up although their context is over.
// The SDK's transfer manager sends the request under that same context, so that
// it never leaves: every upload that was cancelled would stay in the store, out
// of sight and paid for. And S3 may complete a part that was under way after the
// abort, which brings the upload back, and asks to abort until nothing is left.
//
// Beginning and completing an upload are not cut short either, once they were
// sent: without the answer nobody knows whether there is an upload to abort, or
// an object to remove.
func withAborts(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("calve/aborts",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			abort, timeout := false, answerTimeout
			switch in.Parameters.(type) {
			case *s3.AbortMultipartUploadInput:
				abort, timeout = true, abortTimeout
			case *s3.CreateMultipartUploadInput, *s3.CompleteMultipartUploadInput:
				if ctx.Err() != nil {
					return middleware.InitializeOutput{}, middleware.Metadata{}, context.Cause(ctx)
				}
			default:
				return next.HandleInitialize(ctx, in)
			}
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
			defer cancel()
			out, meta, err := next.HandleInitialize(ctx, in)
			if !abort {
				return out, meta, err
			}
			for n := range aborts - 1 {
				if err != nil || !waited(ctx, abortPause<<n) {
					break
				}
				if _, _, again := next.HandleInitialize(ctx, in); again != nil {
					if api, ok := errors.AsType[smithy.APIError](again); !ok || api.ErrorCode() != "NoSuchUpload" {
						err = again
					}
					break
				}
			}
			return out, meta, err
		}), middleware.Before)
}

// waited reports whether d has passed before the context's end.
func waited(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
