// Package token authenticates services by OAuth access tokens (JWT) of configured issuers.
//
// It owns the check of a token (form, issuer, audience, times, signature), the public keys of the issuers, and the mapping
// of claims to a tenant, scopes and limits. It does not own the throttle of guesses: its caller counts refused tokens like
// wrong keys, so that forged tokens cannot use up the CPU.
//
// Only asymmetric signatures are accepted, and only keys that the issuer publishes: headers of a token that carry or name a
// key (jwk, jku, x5c, x5u) are ignored. A token never has the scope admin.
//
// A verified token is cached by its SHA-256 until it expires, so that a call costs a hash and a map lookup. The cache is
// bounded, and only verified tokens enter it. A reload of the configuration, and a key that its issuer withdraws, make the
// cached tokens be verified again. Tokens are never logged or stored.
//
// A Verifier is safe for concurrent use.
package token

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"

	"penstock"
	"penstock/internal/config"
)

const (
	// NamePrefix begins the names of these principals: jwt:ISSUER/SUBJECT. No key has such a name.
	NamePrefix = "jwt:"
	// MaxBytes is the largest token. Tokens with many groups have 6 KiB.
	MaxBytes = 16 << 10
	// OpenGrace is how long a call that is open may outlive its token. Clients fetch a new token shortly before the old one
	// expires, so that many calls begin with the last minute of a token; they must not be cut.
	OpenGrace = time.Hour
)

// Tenants knows the tenants that may call.
type Tenants interface {
	Tenant(id penstock.TenantID) (penstock.Tenant, bool)
}

// Deps are what a verifier works with.
type Deps struct {
	Config  *config.Live
	Tenants Tenants
	// Transport calls the issuers; nil for a usual one.
	Transport http.RoundTripper
	Log       *slog.Logger
	Clock     func() time.Time
}

// Verifier verifies tokens.
type Verifier struct {
	Deps
	client   *http.Client
	cache    cache
	compiled atomic.Pointer[issuers]

	mu   sync.Mutex // held while compiled is replaced
	keys map[source]*keySet
}

// issuers are the issuers of one configuration.
type issuers struct {
	of         *config.Snapshot
	byURL      map[string]*issuer
	algorithms []jose.SignatureAlgorithm // of all issuers together
}

// issuer is a configured issuer.
type issuer struct {
	config.TokenIssuer
	name string
	keys *keySet
}

// New returns a verifier. It starts nothing: Run fetches the keys of the issuers, or else the first token does.
func New(d Deps) *Verifier {
	v := &Verifier{Deps: d, keys: map[source]*keySet{}}
	v.client = newClient(d.Transport)
	return v
}

// IsToken reports whether a credential has the form of a token: three parts of base64url, separated by dots. Keys that
// Penstock generates have no dots.
func IsToken(credential string) bool {
	dots := 0
	for i := range len(credential) { // bytes: every call with a token comes here
		switch b := credential[i]; {
		case b == '.':
			dots++
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', b == '-', b == '_':
		default:
			return false
		}
	}
	return dots == 2
}

// Accepts reports whether any issuer is configured. If none is, a credential of any form is a key.
func (v *Verifier) Accepts() bool { return len(v.Config.Current().ClientTokens) > 0 }

// Principal returns the principal of a token. Codes: invalid_key; overloaded if the issuer's keys cannot be fetched.
func (v *Verifier) Principal(ctx context.Context, token string) (penstock.Principal, error) {
	e, err := v.lookUp(ctx, token)
	if err != nil {
		return penstock.Principal{}, err
	}
	tenant, ok := v.Tenants.Tenant(e.tenant)
	if !ok {
		return penstock.Principal{}, noTenant()
	}
	return penstock.Principal{Kind: penstock.PrincipalKey, Tenant: tenant, Key: e.name, Scopes: e.scopes, Limits: e.limits}, nil
}

func noTenant() error {
	return penstock.Errorf(penstock.CodeInvalidKey, "The tenant of this token does not exist or is disabled; ask the operator to create or enable it.")
}

// lookUp returns the cached result of a token, or verifies the token and caches the result.
func (v *Verifier) lookUp(ctx context.Context, token string) (*entry, error) {
	if len(token) > MaxBytes {
		return nil, penstock.Errorf(penstock.CodeInvalidKey, "This token has %d bytes; at most %d are accepted. Ask for a token with fewer claims.", len(token), MaxBytes)
	}
	set, now := v.issuers(), v.Clock()
	digest := digestOf(token)
	if e := v.cache.find(digest); e != nil && e.valid(set, now) {
		return e, nil
	}
	e, err := v.verify(ctx, set, token)
	if err != nil {
		return nil, err
	}
	v.cache.add(digest, e, now)
	return e, nil
}

// digestOf copies the token to the stack, which spares the allocation of a conversion from string.
func digestOf(token string) [sha256.Size]byte {
	var buf [2048]byte
	if len(token) > len(buf) {
		return sha256.Sum256([]byte(token))
	}
	return sha256.Sum256(buf[:copy(buf[:], token)])
}

// Watch returns a function that reports why a call with the token that stays open must end, nil while it may go on: the
// tenant is disabled, the configuration does not accept such a token any more, or the token expired [OpenGrace] ago.
func (v *Verifier) Watch(ctx context.Context, token string) (func() error, error) {
	e, err := v.lookUp(ctx, token)
	if err != nil {
		return nil, err
	}
	return func() error { return v.refuse(e) }, nil
}

func (v *Verifier) refuse(e *entry) error {
	if _, ok := v.Tenants.Tenant(e.tenant); !ok {
		return noTenant()
	}
	if v.Clock().After(e.expires.Add(OpenGrace)) {
		return penstock.Errorf(penstock.CodeInvalidKey, "This token has expired; fetch a new token and repeat the call.")
	}
	if set := v.issuers(); e.of != set {
		now := set.byURL[e.issuer]
		if now == nil || now.tenantOf(e.tenantValue) != e.tenant {
			return penstock.Errorf(penstock.CodeInvalidKey, "This server does not accept tokens like this one any more; ask the operator.")
		}
	}
	return nil
}

// Limits are the limits of a principal's name, for work that was accepted earlier; ok is false for a name that no token
// has.
func (v *Verifier) Limits(name string) (l penstock.Limits, ok bool) {
	rest, ok := strings.CutPrefix(name, NamePrefix)
	if !ok {
		return l, false
	}
	of, subject, _ := strings.Cut(rest, "/")
	if i, known := v.Config.Current().ClientTokens[of]; known {
		l = i.LimitsOf(subject)
	}
	return l, true
}

// issuers returns the issuers of the configuration in force.
func (v *Verifier) issuers() *issuers {
	current := v.Config.Current()
	if set := v.compiled.Load(); set != nil && set.of == current {
		return set
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if set := v.compiled.Load(); set != nil && set.of == current {
		return set
	}
	set := v.compile(current)
	v.compiled.Store(set)
	return set
}

// compile keeps the keys of issuers that stay, so that a reload needs no issuer.
func (v *Verifier) compile(s *config.Snapshot) *issuers {
	set := &issuers{of: s, byURL: map[string]*issuer{}}
	kept, used := map[source]*keySet{}, map[string]bool{}
	for name, c := range s.ClientTokens {
		from := source{issuer: c.Issuer, jwks: c.JWKSURL}
		keys := v.keys[from]
		if keys == nil {
			keys = &keySet{source: from, name: name, client: v.client, log: v.Log, clock: v.Clock}
		}
		kept[from] = keys
		set.byURL[c.Issuer] = &issuer{TokenIssuer: c, name: name, keys: keys}
		for _, a := range c.Algorithms {
			if !used[a] {
				used[a] = true
				set.algorithms = append(set.algorithms, jose.SignatureAlgorithm(a))
			}
		}
	}
	v.keys = kept
	return set
}

// lookInterval is how often Run looks for keys that are due.
const lookInterval = 5 * time.Second

// Run fetches the keys of the issuers, and fetches them again before they are old, until ctx ends.
func (v *Verifier) Run(ctx context.Context) error {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		for _, i := range v.issuers().byURL {
			if i.keys.due() {
				_ = i.keys.refresh(ctx) // it logs its failure; the next look tries again
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
