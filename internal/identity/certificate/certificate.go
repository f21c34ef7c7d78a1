// Package certificate authenticates services by their client certificates (mTLS).
//
// It owns the TLS of a listener ([NewTLS]), and the mapping of a verified certificate to a tenant with scopes, or
// on the admin listener to roles ([Mapper]). The TLS handshake verifies the chain and the possession of the key; this
// package is asked for each call, so that a changed mapping, a deny list and the end of a certificate apply to open
// connections too.
//
// A certificate's identity is its SPIFFE id (its only URI SAN), or else a DNS name or its subject, if a mapping names it. A
// certificate with a mapping binds its calls to the tenant of the mapping, even if they carry a key.
//
// Both types are safe for concurrent use.
package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spiffe/go-spiffe/v2/spiffeid"

	"penstock"
	"penstock/internal/config"
)

// NamePrefix begins the names of these principals, such as cert:spiffe://prod.example.com/ns/search/sa/api. No key has
// such a name.
const NamePrefix = "cert:"

// Tenants knows the tenants that may call.
type Tenants interface {
	Tenant(id penstock.TenantID) (penstock.Tenant, bool)
}

// Deps are what a mapper works with.
type Deps struct {
	Config  *config.Live
	Tenants Tenants
	Clock   func() time.Time
}

// Mapper maps certificates to principals.
type Mapper struct {
	Deps
	compiled atomic.Pointer[rules]
	mu       sync.Mutex // held while compiled is replaced
}

// New returns a mapper.
func New(d Deps) *Mapper { return &Mapper{Deps: d} }

// Identity is a certificate that may be used.
type Identity struct {
	Name   string                    // of its principal; "" without a mapping
	caller *config.CertificateCaller // nil without a mapping
}

// Leaf returns the verified client certificate of a connection, nil if there is none.
func Leaf(state *tls.ConnectionState) *x509.Certificate {
	if state == nil || len(state.VerifiedChains) == 0 {
		return nil
	}
	return state.VerifiedChains[0][0]
}

// Identify returns the identity of a verified certificate. Codes: invalid_key for one that is denied, has ended, or is
// malformed.
func (m *Mapper) Identify(leaf *x509.Certificate) (Identity, error) { return m.identify(leaf, 0) }

func (m *Mapper) identify(leaf *x509.Certificate, grace time.Duration) (Identity, error) {
	set := m.rules()
	if m.Clock().After(leaf.NotAfter.Add(grace)) {
		return Identity{}, refused("The client certificate has expired; connect again with a new one.")
	}
	if set.serials[leaf.SerialNumber.Text(16)] {
		return Identity{}, refused("The client certificate is denied by its serial number; ask the operator.")
	}
	id, err := spiffeIDOf(leaf)
	if err != nil {
		return Identity{}, refused("The client certificate has a malformed SPIFFE id, or several; it must have one.")
	}
	if id != "" && set.denied.covers(id) {
		return Identity{}, refused("The SPIFFE id of the client certificate is denied; ask the operator.")
	}
	return set.identify(leaf, id)
}

// Tenant is the tenant that the certificate binds its calls to, "" for none.
func (i Identity) Tenant() penstock.TenantID {
	if i.caller == nil {
		return ""
	}
	return penstock.TenantID(i.caller.Tenant)
}

// Caller returns the principal of a call on the public listener that carries no key. Codes: invalid_key.
func (m *Mapper) Caller(i Identity) (penstock.Principal, error) {
	if i.Tenant() == "" {
		return penstock.Principal{}, refused("The client certificate belongs to no tenant; ask the operator to add it to client_certificates, or send an API key.")
	}
	tenant, ok := m.Tenants.Tenant(i.Tenant())
	if !ok {
		return penstock.Principal{}, refused("The tenant of the client certificate does not exist or is disabled; ask the operator to create or enable it.")
	}
	return penstock.Principal{Kind: penstock.PrincipalKey, Tenant: tenant, Key: i.Name, Scopes: i.caller.Scopes, Limits: i.caller.RateLimits()}, nil
}

// Operator returns the principal of a call on the admin listener that carries no key. Codes: invalid_key.
func (m *Mapper) Operator(i Identity) (penstock.Principal, error) {
	if i.caller == nil || len(i.caller.Roles) == 0 {
		return penstock.Principal{}, refused("The client certificate has no role; ask an operator to add it to client_certificates, or send an admin key.")
	}
	return penstock.Principal{Kind: penstock.PrincipalOperator, Key: i.Name, Roles: i.caller.Roles}, nil
}

// Watch returns a function that reports why an open call with a certificate must end, nil while it may go on: the
// certificate is denied, belongs to another tenant by now, or ended longer ago than the grace time.
func (m *Mapper) Watch(leaf *x509.Certificate, grace time.Duration) func() error {
	was, _ := m.identify(leaf, grace)
	return func() error {
		is, err := m.identify(leaf, grace)
		if err != nil || was.caller == nil {
			return err
		}
		if _, ok := m.Tenants.Tenant(was.Tenant()); !ok || is.Tenant() != was.Tenant() {
			return refused("The client certificate does not belong to this tenant any more, or the tenant is disabled.")
		}
		return nil
	}
}

// Bind checks that a key or token may be used over a connection with this certificate. Codes: invalid_key.
func (i Identity) Bind(p *penstock.Principal) error {
	if bound := i.Tenant(); bound != "" && p.Tenant.ID != bound {
		return refused("The API key belongs to another tenant than the client certificate; use a key of the certificate's tenant.")
	}
	return nil
}

// Limits are the limits of a principal's name, for work that was accepted earlier; ok is false for a name that no
// certificate has.
func (m *Mapper) Limits(name string) (l penstock.Limits, ok bool) {
	if !strings.HasPrefix(name, NamePrefix) {
		return l, false
	}
	if caller := m.rules().named(strings.TrimPrefix(name, NamePrefix)); caller != nil {
		l = caller.RateLimits()
	}
	return l, true
}

func refused(message string) error { return penstock.Errorf(penstock.CodeInvalidKey, "%s", message) }

// spiffeIDOf is the SPIFFE id of a certificate, "" if it has none. The standard allows one URI SAN.
func spiffeIDOf(leaf *x509.Certificate) (string, error) {
	if !slices.ContainsFunc(leaf.URIs, isSPIFFE) {
		return "", nil
	}
	if len(leaf.URIs) != 1 {
		return "", errSeveral
	}
	id, err := spiffeid.FromURI(leaf.URIs[0])
	if err != nil {
		return "", err
	}
	return id.String(), nil
}
