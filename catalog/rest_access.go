package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog/rest"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/calve-data/calve/lake"
)

// Access is who a REST catalog's server is told that we are. The zero value
// tells nothing.
type Access struct {
	// Credential is an OAuth2 client's id:secret, or a secret alone, that is
	// exchanged for tokens.
	Credential string
	// OAuth2ServerURI is where it is exchanged. Default: the catalog's own
	// /v1/oauth/tokens.
	OAuth2ServerURI string
	// Scope is what the tokens are asked for. Default: catalog.
	Scope string
	// Token is a bearer token, in place of a credential.
	Token string
	// Headers go with every request to the catalog.
	Headers map[string]string
}

func (a Access) isZero() bool {
	return a.Credential == "" && a.OAuth2ServerURI == "" && a.Scope == "" && a.Token == "" && len(a.Headers) == 0
}

// tokenTimeout bounds a request for a token where nothing else is said:
// iceberg-go's interface for them takes no context.
const tokenTimeout = 30 * time.Second

// takeAccess completes the access by the properties that say the same in
// iceberg-go's words, and takes these away: the store's client would take token
// for its own.
func takeAccess(c Config, props iceberg.Properties) Access {
	a := c.Access
	a.Headers = maps.Clone(a.Headers)
	take := func(key string, field *string) {
		if *field == "" {
			*field = props[key]
		}
		delete(props, key)
	}
	take("credential", &a.Credential)
	take("oauth2-server-uri", &a.OAuth2ServerURI)
	take("scope", &a.Scope)
	take("token", &a.Token)
	return a
}

// login gives each request its Authorization header.
type login struct {
	source oauth2.TokenSource
	server string // that gives the tokens
}

var _ rest.ContextAuthManager = (*login)(nil)

// newLogin returns nil where there is nothing to log in with.
//
// iceberg-go has a login of its own. Its errors do not tell a refused credential
// from a server that is away, and it asks for two tokens where one will do.
func newLogin(ctx context.Context, catalog *url.URL, a Access, timeout time.Duration) (*login, error) {
	switch {
	case a.Token != "" && a.Credential != "":
		return nil, fmt.Errorf("catalog.token and catalog.credential exclude each other: %w", lake.ErrUsage)
	case a.Token != "":
		return &login{source: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: a.Token})}, nil
	case a.Credential == "":
		return nil, nil
	}
	server := catalog.JoinPath("v1/oauth/tokens")
	if a.OAuth2ServerURI != "" {
		var err error
		if server, err = url.Parse(a.OAuth2ServerURI); err != nil || server.Host == "" {
			return nil, fmt.Errorf("catalog.oauth2_server_uri must be a URL such as https://login.example.com/oauth/tokens: %w", lake.ErrUsage)
		}
	}
	id, secret, ok := strings.Cut(a.Credential, ":")
	if !ok {
		id, secret = "", a.Credential
	}
	config := clientcredentials.Config{
		ClientID: id, ClientSecret: secret, TokenURL: server.String(),
		Scopes: []string{firstOf(a.Scope, "catalog")}, AuthStyle: oauth2.AuthStyleInParams,
	}
	client := &http.Client{Timeout: timeout}
	if server.Host == catalog.Host { // elsewhere the catalog's headers have no business
		client.Transport = withHeaders(a.Headers)
	}
	ctx = context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, client)
	return &login{source: config.TokenSource(ctx), server: server.Host}, nil
}

// AuthHeader returns the header and its value.
func (l *login) AuthHeader() (key, value string, err error) {
	token, err := l.source.Token()
	if err == nil {
		return "Authorization", "Bearer " + token.AccessToken, nil
	}
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response.StatusCode < 500 && refused.Response.StatusCode != http.StatusTooManyRequests {
		why := strings.TrimSpace(firstOf(refused.ErrorCode, refused.Response.Status) + " " + refused.ErrorDescription)
		return "", "", fmt.Errorf("%s gives no token for catalog.credential and catalog.scope: %s: %w", l.server, why, lake.ErrDenied)
	}
	return "", "", fmt.Errorf("asking %s for a token: %w: %w", l.server, err, lake.ErrTemporary)
}

// AuthHeaderWithContext is AuthHeader for as long as the caller waits.
func (l *login) AuthHeaderWithContext(ctx context.Context) (key, value string, err error) {
	if err := ctx.Err(); err != nil {
		return "", "", err
	}
	return l.AuthHeader()
}

// withHeaders sends headers with every request.
func withHeaders(headers map[string]string) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		for key, value := range headers {
			r.Header.Set(key, value)
		}
		return http.DefaultTransport.RoundTrip(r)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
