package catalog

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
)

// abortTimeout bounds the request that gives an upload up.
const abortTimeout = 10 * time.Second

// withAborts lets uploads in parts be given up although their context is over.
// The SDK's transfer manager sends the request under that same context, so that
// it never leaves: every upload that was cancelled would stay in the store, out
// of sight and paid for.
func withAborts(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("calve/aborts",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			if _, ok := in.Parameters.(*s3.AbortMultipartUploadInput); ok {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
				defer cancel()
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.Before)
}
