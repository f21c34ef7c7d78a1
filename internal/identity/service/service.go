// Package service finds the principals of services that call with a token (JWT) or a client certificate.
//
// It owns the rules for calls that carry several credentials. A key or a token decides over a certificate, because it is
// the narrower one: several services may share a certificate's identity. A certificate that has a mapping binds its calls
// to the tenant of the mapping, so that a stolen key is of no use to another service. A certificate without a mapping opens
// the connection and no more.
//
// Packages token and certificate own the credentials themselves. All types are safe for concurrent use.
package service

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/directory"
	"penstock/internal/identity/certificate"
	"penstock/internal/identity/token"
	"penstock/internal/rest"
)

// Deps are what services are authenticated with.
type Deps struct {
	Config    *config.Live
	Directory *directory.Directory
	// Throttle is that of the API keys of the same listener: forged tokens count as wrong keys.
	Throttle *directory.Throttle
	Log      *slog.Logger
	Clock    func() time.Time
}

// Callers authenticates services on the public listener.
type Callers struct {
	Deps
	tokens       *token.Verifier
	certificates *certificate.Mapper
}

// New returns the authentication of services. It starts nothing.
func New(d Deps) *Callers {
	return &Callers{
		Deps:         d,
		tokens:       token.New(token.Deps{Config: d.Config, Tenants: d.Directory, Log: d.Log, Clock: d.Clock}),
		certificates: certificate.New(certificate.Deps{Config: d.Config, Tenants: d.Directory, Clock: d.Clock}),
	}
}

var _ rest.Credential = (*Callers)(nil)

// Principal implements rest.Credential. Codes: invalid_key, rate_limited, overloaded.
func (c *Callers) Principal(r *http.Request, bearer string) (p penstock.Principal, present bool, err error) {
	leaf, isToken := certificate.Leaf(r.TLS), c.isToken(bearer)
	if leaf == nil && !isToken {
		return p, false, nil
	}
	var id certificate.Identity
	if leaf != nil {
		if id, err = c.certificates.Identify(leaf); err != nil {
			return p, true, err
		}
	}
	switch {
	case isToken:
		p, err = c.Throttle.Guard(r.RemoteAddr, bearer, func() (penstock.Principal, error) { return c.tokens.Principal(r.Context(), bearer) })
	case bearer == "":
		p, err = c.certificates.Caller(id)
	case id.Tenant() == "":
		return p, false, nil // the key alone decides
	default:
		p, err = c.Throttle.Guard(r.RemoteAddr, bearer, func() (penstock.Principal, error) { return c.Directory.Principal(bearer) })
	}
	if err == nil {
		err = id.Bind(&p)
	}
	if err != nil {
		return penstock.Principal{}, true, err
	}
	return p, true, nil
}

func (c *Callers) isToken(bearer string) bool {
	return len(bearer) > 0 && c.tokens.Accepts() && token.IsToken(bearer)
}

// Watch ends an open call when one of its credentials is not accepted any more, keys included.
func (c *Callers) Watch(call directory.OpenCall, r *http.Request) {
	var refusals []func() error
	bearer := rest.PresentedKey(r)
	switch {
	case c.isToken(bearer):
		refuse, err := c.tokens.Watch(r.Context(), bearer)
		if err != nil {
			refuse = func() error { return err }
		}
		refusals = append(refusals, refuse)
	case bearer != "":
		refusals = append(refusals, c.Directory.Refusal(bearer))
	}
	if leaf := certificate.Leaf(r.TLS); leaf != nil {
		refusals = append(refusals, c.certificates.Watch(leaf, token.OpenGrace))
	}
	c.Directory.Watch(call, func() error {
		for _, refuse := range refusals {
			if err := refuse(); err != nil {
				return err
			}
		}
		return nil
	})
}

// Unwatch forgets a call. After it has returned, the call is not ended.
func (c *Callers) Unwatch(call directory.OpenCall) { c.Directory.Unwatch(call) }

// Limits are the limits of a service or a key by its name in records.
func (c *Callers) Limits(tenant penstock.TenantID, name string) penstock.Limits {
	if l, ok := c.tokens.Limits(name); ok {
		return l
	}
	if l, ok := c.certificates.Limits(name); ok {
		return l
	}
	return c.Directory.KeyLimits(tenant, name)
}

// Run keeps the keys of the token issuers fresh until ctx ends.
func (c *Callers) Run(ctx context.Context) error { return c.tokens.Run(ctx) }

// Operators authenticates services on the admin listener. Tokens are not accepted there.
type Operators struct{ certificates *certificate.Mapper }

// Operators returns the authentication on the admin listener.
func (c *Callers) Operators() Operators { return Operators{c.certificates} }

var _ rest.Credential = Operators{}

// Principal implements rest.Credential. Codes: invalid_key.
func (o Operators) Principal(r *http.Request, bearer string) (p penstock.Principal, present bool, err error) {
	leaf := certificate.Leaf(r.TLS)
	if leaf == nil {
		return p, false, nil
	}
	id, err := o.certificates.Identify(leaf)
	if err != nil {
		return p, true, err
	}
	if bearer != "" {
		return p, false, nil // the key decides
	}
	p, err = o.certificates.Operator(id)
	return p, true, err
}
