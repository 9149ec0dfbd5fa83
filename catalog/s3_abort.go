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
func withAborts(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("calve/aborts",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			if _, ok := in.Parameters.(*s3.AbortMultipartUploadInput); !ok {
				return next.HandleInitialize(ctx, in)
			}
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
			defer cancel()
			out, meta, err := next.HandleInitialize(ctx, in)
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
