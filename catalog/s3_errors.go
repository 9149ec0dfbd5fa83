package catalog

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/calve-data/calve/lake"
)

// withWords gives the error of every request, of tables and sources alike, the
// words of s3Error, and those of reading an object. It stands outside of the
// SDK's own retries.
func withWords(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("calve/words",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			out, meta, err := next.HandleInitialize(ctx, in)
			if got, ok := out.Result.(*s3.GetObjectOutput); ok && err == nil {
				got.Body = wordedBody{got.Body}
			}
			return out, meta, s3Error(err)
		}), middleware.Before)
}

// wordedBody is an object being read.
type wordedBody struct{ io.ReadCloser }

func (b wordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = s3Error(err)
	}
	return n, err
}

// credentialChain says which setting is missing where the AWS chain finds none.
type credentialChain struct{ aws.CredentialsProvider }

// Retrieve is that of the chain.
func (c credentialChain) Retrieve(ctx context.Context) (aws.Credentials, error) {
	got, err := c.CredentialsProvider.Retrieve(ctx)
	if err != nil && !errors.Is(err, context.Canceled) {
		err = &s3Failure{"there are no credentials for the store: set catalog.s3.access_key_id and catalog.s3.secret_access_key, or let AWS find some (environment, profile, role)", lake.ErrUsage, err}
	}
	return got, err
}

// s3Failure is a failed request: what to do about it, and who acts.
type s3Failure struct {
	says        string
	what, cause error
}

// Error leaves the ids of requests out, and the cause as a whole where it has
// the digits 301: gocloud.dev, between a table and its store, takes an error
// with these anywhere in its text, in an id or a port, for a missing object.
func (f *s3Failure) Error() string {
	text := f.cause.Error()
	if request, ok := errors.AsType[*url.Error](f.cause); ok {
		text = request.Err.Error()
	}
	if api, ok := errors.AsType[smithy.APIError](f.cause); ok {
		text = api.ErrorCode() + ": " + api.ErrorMessage()
	}
	if strings.Contains(text, "301") {
		return f.says
	}
	return f.says + ": " + text
}

func (f *s3Failure) Unwrap() []error { return []error{f.what, f.cause} }

// status is the HTTP status of a failed request; 0 where no answer came.
func status(err error) int {
	var response interface{ HTTPStatusCode() int }
	if errors.As(err, &response) {
		return response.HTTPStatusCode()
	}
	return 0
}

// requestID is the store's name for a failed request; a server that is no store
// gives none.
func requestID(err error) string {
	var response interface{ ServiceRequestID() string }
	if errors.As(err, &response) {
		return response.ServiceRequestID()
	}
	return ""
}

// retries are the SDK's own, but for a wrong setting, which stays wrong.
func retries() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		mistake := retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
			if _, what := mistaken(err); what != nil {
				return aws.FalseTernary
			}
			return aws.UnknownTernary
		})
		o.Retryables = append([]retry.IsErrorRetryable{mistake}, o.Retryables...)
	})
}

// s3Error says what to do, and who acts: no answer and an overloaded store are
// for another try, a setting is for the operator. A missing object is left as it
// is: whether that is an error is for the caller to say.
func s3Error(err error) error {
	if _, known := errors.AsType[*s3Failure](err); known || err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if says, what := mistaken(err); what != nil {
		if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() == "NoSuchBucket" {
			// Not to be found as what it is, which would make of it a missing object
			// too, and of its text "file does not exist".
			err = errors.New(api.ErrorCode() + ": " + api.ErrorMessage())
		}
		return &s3Failure{says, what, err}
	}
	switch code := status(err); {
	case code == 0:
		return &s3Failure{unanswered(err), lake.ErrTemporary, err}
	case code == http.StatusTooManyRequests || code >= 500:
		return &s3Failure{"the store is overloaded or not well", lake.ErrTemporary, err}
	}
	return err
}

// mistaken says which setting an error is about, and whether it is a wrong one
// or one that the store does not let in; nil where it is about none.
func mistaken(err error) (says string, what error) {
	code := ""
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		code = api.ErrorCode()
	}
	switch code {
	case "InvalidAccessKeyId", "XAdminUserNotFound":
		return "the store does not know the key: set catalog.s3.access_key_id", lake.ErrDenied
	case "SignatureDoesNotMatch":
		return "the secret is not that of the key: set catalog.s3.secret_access_key", lake.ErrDenied
	case "ExpiredToken", "InvalidToken", "InvalidTokenId":
		return "the temporary credentials are over or not those of the key: renew catalog.s3.session_token with its key and secret", lake.ErrDenied
	case "AccessDenied", "Forbidden", "AllAccessDisabled", "AccountProblem":
		return "the store does not allow this to the key in catalog.s3.access_key_id: its policy must allow to list the bucket, and to get, put and delete its objects", lake.ErrDenied
	}
	if says := misconfigured(err, code); says != "" {
		return says, lake.ErrUsage
	}
	return "", nil
}

// misconfigured says which setting is wrong; "" where none is.
func misconfigured(err error, code string) string {
	text := err.Error()
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case untrusted:
		return "the store's certificate is not trusted: if its authority is your own, name its file in catalog.s3.ca_file"
	case errors.Is(err, http.ErrSchemeMismatch):
		return "the store speaks http and not https: begin catalog.s3.endpoint with http://"
	case code == "" && status(err) == http.StatusBadRequest && requestID(err) == "":
		// As a server of TLS answers who speaks in the clear, before it hangs up.
		return "what answers does not speak S3 over http: begin catalog.s3.endpoint with https:// if it does over that"
	case code == "NoSuchBucket":
		return "the bucket does not exist: make it, or mend its name in the location or in catalog.warehouse; of a store that is not AWS name the catalog.s3.endpoint"
	case code == "AuthorizationHeaderMalformed", code == "IllegalLocationConstraintException", status(err) == http.StatusMovedPermanently:
		return "the bucket is in another region: set catalog.s3.region"
	case code == "RequestTimeTooSkewed":
		return "this machine's clock and the store's are more than minutes apart: set the clock"
	case code == "NotImplemented", code == "XAmzContentSHA256Mismatch",
		status(err) == http.StatusBadRequest && (strings.Contains(text, "aws-chunked") || strings.Contains(text, "x-amz-content-sha256") || strings.Contains(text, "trailer")):
		return "the store does not take trailing checksums: set catalog.s3.compat_mode: true"
	}
	return ""
}

// unanswered says what a request without an answer may be about.
func unanswered(err error) string {
	op, _ := errors.AsType[*net.OpError](err)
	_, dns := errors.AsType[*net.DNSError](err)
	switch {
	case dns:
		return "the store's host is not known: see catalog.s3.endpoint, and catalog.s3.path_style if the store gives buckets no host names"
	case op != nil && op.Op == "dial":
		return "nothing answers at catalog.s3.endpoint"
	case op != nil && op.Timeout():
		return "the store has stopped answering"
	}
	return "no answer from the store, or only a part of one"
}
