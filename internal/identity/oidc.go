package identity

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/dial"
)

const (
	// issuerTimeout bounds one call to an issuer, and one sign-in makes at most four.
	issuerTimeout = 10 * time.Second
	// issuerRetry is how long a failed discovery is not repeated, so that people who try again do not pile up at an issuer that
	// is down.
	issuerRetry = 3 * time.Second
	// issuerFresh is how long the description of an issuer is used before it is read again.
	issuerFresh = time.Hour
	// maxIssuerAnswer bounds an answer of an issuer.
	maxIssuerAnswer = 1 << 20
	// clockSkew is how far the clock of an issuer may differ.
	clockSkew = time.Minute
)

// issuer is an OpenID Connect provider. It is discovered when the first person wants to sign in, so that the server starts
// while the provider is down.
type issuer struct {
	name   string
	config config.Issuer
	client *http.Client
	clock  func() time.Time

	mu       sync.Mutex
	provider *oidc.Provider
	endURL   string    // where the browser ends its session at the provider; "" for nowhere
	read     time.Time // when it was discovered
	failed   time.Time // when the last discovery failed
	why      error
}

// newIssuers prepares the issuers of the configuration.
func newIssuers(d Deps) map[string]*issuer {
	all := map[string]*issuer{}
	for name, c := range d.Settings.Issuers {
		client := dial.Policy{Allow: c.Networks()}.Client(nil)
		client.Transport, client.Timeout = &bounded{client.Transport}, issuerTimeout
		all[name] = &issuer{name: name, config: c, client: client, clock: d.Clock}
	}
	return all
}

// bounded cuts the answers of an issuer, which the libraries read as a whole.
type bounded struct{ next http.RoundTripper }

func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(response.Body, maxIssuerAnswer), response.Body}
	return response, nil
}

// describe returns the provider, and discovers it if it is not known or was discovered long ago. Codes: upstream_error.
func (i *issuer) describe(ctx context.Context) (*oidc.Provider, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.clock()
	if i.provider != nil && now.Sub(i.read) < issuerFresh {
		return i.provider, nil
	}
	if now.Sub(i.failed) < issuerRetry {
		return i.provider, i.unavailable()
	}
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, i.client), i.config.URL)
	if err != nil {
		i.failed, i.why = now, err
		return i.provider, i.unavailable()
	}
	var more struct {
		EndURL string `json:"end_session_endpoint"`
	}
	_ = provider.Claims(&more) // without it, sessions end here only
	i.provider, i.endURL, i.read, i.why = provider, more.EndURL, now, nil
	return provider, nil
}

// unavailable is the error of an issuer that was never discovered. An old description is better than none.
func (i *issuer) unavailable() error {
	if i.provider != nil {
		return nil
	}
	return &penstock.Error{Code: penstock.CodeUpstreamError, Message: "The identity provider cannot be reached; try again soon.", Err: fmt.Errorf("discovering the issuer %s: %w", i.name, i.why)}
}

// oauth is the client of the code flow.
func (i *issuer) oauth(p *oidc.Provider, callback string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: i.config.ClientID, ClientSecret: i.config.ClientSecret.Reveal(), Endpoint: p.Endpoint(), RedirectURL: callback,
		Scopes: slices.Concat([]string{oidc.ScopeOpenID}, i.config.Scopes),
	}
}

// exchange swaps the code of a callback for the claims about a person. Codes: invalid_key, upstream_error.
func (i *issuer) exchange(ctx context.Context, f flow, code, callback string) (claims, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, i.client), 2*issuerTimeout)
	defer cancel()
	p, err := i.describe(ctx)
	if err != nil {
		return nil, err
	}
	token, err := i.oauth(p, callback).Exchange(ctx, code, oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return nil, refused("the issuer did not accept the code", err)
	}
	raw, _ := token.Extra("id_token").(string)
	verifier := p.VerifierContext(ctx, &oidc.Config{ClientID: i.config.ClientID, Now: func() time.Time { return i.clock().Add(-clockSkew) }})
	id, err := verifier.Verify(ctx, raw)
	if err != nil {
		return nil, refused("the id token is not valid", err)
	}
	if err := i.checkToken(id, f.Nonce); err != nil {
		return nil, err
	}
	all := claims{}
	if err := id.Claims(&all); err != nil {
		return nil, refused("the id token has no readable claims", err)
	}
	if p.UserInfoEndpoint() != "" && !all.complete(i.config.GroupsClaim) {
		return all, i.complete(ctx, p, token, all)
	}
	return all, nil
}

// checkToken checks what the library leaves to its caller.
func (i *issuer) checkToken(id *oidc.IDToken, nonce string) error {
	var more struct {
		Client string `json:"azp"` // that the token was issued to
	}
	if err := id.Claims(&more); err != nil {
		return refused("the id token has no readable claims", err)
	}
	switch {
	case id.Subject == "":
		return refused("the id token names no subject", nil)
	case !same(id.Nonce, nonce):
		return refused("the nonce of the id token is another one", nil)
	case id.IssuedAt.After(i.clock().Add(clockSkew)):
		return refused("the id token was issued in the future", nil)
	case len(id.Audience) > 1 && more.Client != i.config.ClientID || more.Client != "" && more.Client != i.config.ClientID:
		return refused("the id token was issued to another client", nil)
	}
	return nil
}

// complete adds the claims that the provider gives at its userinfo endpoint. Those of the signed token win.
func (i *issuer) complete(ctx context.Context, p *oidc.Provider, token *oauth2.Token, all claims) error {
	info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return refused("the userinfo endpoint did not answer", err)
	}
	if subject, _ := all["sub"].(string); info.Subject != subject { // a token of another person was substituted
		return refused("the userinfo endpoint describes another person", nil)
	}
	more := claims{}
	if err := info.Claims(&more); err != nil {
		return refused("the userinfo endpoint has no readable claims", err)
	}
	for name, value := range more {
		if _, signed := all[name]; !signed {
			all[name] = value
		}
	}
	return nil
}

// refused is a sign-in that the server does not accept. The log says why; the person can only try again.
func refused(why string, err error) error {
	cause := fmt.Errorf("signing in: %s", why)
	if err != nil {
		cause = fmt.Errorf("signing in: %s: %w", why, err)
	}
	return &penstock.Error{Code: penstock.CodeInvalidKey, Message: "The identity provider's answer was not accepted; sign in again.", Err: cause}
}
