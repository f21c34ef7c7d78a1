package config

import (
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"penstock"
)

// TokenIssuer is a server that issues OAuth access tokens (JWT) to services, which send them in place of an API key.
// The tokens are accepted on Listen only. Penstock starts and serves keys while the issuer cannot be reached.
type TokenIssuer struct {
	// Issuer is the URL that the claim iss of its tokens has, exactly. It needs https, or http on loopback. Required, unique.
	Issuer string `yaml:"issuer"`

	// Audiences are the values of the claim aud that are accepted. A token needs one of them. Required. At most 100.
	Audiences []string `yaml:"audiences"`

	// JWKSURL is the URL of its public keys. It needs https, or http on loopback. Zero: the URL that the issuer publishes
	// at /.well-known/openid-configuration.
	JWKSURL string `yaml:"jwks_url,omitempty"`

	// Algorithms are the signature algorithms that are accepted: some of RS256, RS384, RS512, PS256, PS384, PS512, ES256,
	// ES384, ES512 and EdDSA. Zero: the default, all of them.
	Algorithms []string `yaml:"algorithms"`

	// Skew is how far the clock of the issuer may differ, for the claims exp and nbf. Zero: the default, 30s. From 0s to
	// 5m.
	Skew time.Duration `yaml:"skew"`

	// Tenant is the tenant of all tokens. Zero: TenantClaim decides. One of both is required.
	Tenant string `yaml:"tenant,omitempty"`

	// TenantClaim is the claim whose value chooses the tenant by Tenants; sub maps single services. If the value is a
	// list, exactly one of its entries must be in Tenants. Zero: Tenant.
	TenantClaim string `yaml:"tenant_claim,omitempty"`

	// Tenants maps the values of TenantClaim to tenants. Tokens with other values are refused. Required with TenantClaim.
	// At most 10000.
	Tenants map[string]string `yaml:"tenants,omitempty"`

	// Scopes are the most that a token can have: some of inference, jobs:write, jobs:read and webhooks. Zero: the default,
	// all of these. No token has the scope admin.
	Scopes []penstock.Scope `yaml:"scopes"`

	// ScopeNames maps the words of a token's claim scope, or else scp, to scopes. Words that are not listed grant nothing.
	// Zero: the words are the scopes themselves, such as jobs:read.
	ScopeNames map[string][]penstock.Scope `yaml:"scope_names,omitempty"`

	// DefaultScopes are those of tokens without the claims scope and scp. They must be among Scopes. Zero: none, such
	// tokens can call nothing.
	DefaultScopes []penstock.Scope `yaml:"default_scopes,omitempty"`

	// Limits are the limits of each subject (claim sub) by itself, in addition to those of its tenant.
	Limits RateLimits `yaml:"limits,omitempty"`

	// SubjectLimits are the limits of single subjects in place of Limits. Zero: Limits for all. At most 10000.
	SubjectLimits map[string]RateLimits `yaml:"subject_limits,omitempty"`
}

// TokenAlgorithms are the signature algorithms of tokens. All are asymmetric: with a symmetric one, the public key of an
// issuer would be enough to sign.
var TokenAlgorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

const (
	// DefaultTokenSkew suits clocks that are synchronised.
	DefaultTokenSkew = 30 * time.Second

	maxTokenSkew = 5 * time.Minute
	maxAudiences = 100
	maxMappings  = 10_000
)

// LimitsOf are the limits of one subject.
func (i *TokenIssuer) LimitsOf(subject string) penstock.Limits {
	if own, ok := i.SubjectLimits[subject]; ok {
		return own.limits()
	}
	return i.Limits.limits()
}

func (i *TokenIssuer) fillDefaults(written places, at path) {
	i.Algorithms = fillList(written, at+".algorithms", i.Algorithms, TokenAlgorithms)
	fill(written, at+".skew", &i.Skew, DefaultTokenSkew)
	i.Scopes = fillList(written, at+".scopes", i.Scopes, penstock.Scopes)
	i.Limits.fillDefaults(written, at+".limits")
	for subject, l := range i.SubjectLimits {
		l.fillDefaults(written, (at + ".subject_limits").key(subject))
		i.SubjectLimits[subject] = l
	}
}

// clone copies what fillDefaults and normalize change.
func (i TokenIssuer) clone() TokenIssuer {
	i.Algorithms, i.Scopes, i.SubjectLimits = slices.Clone(i.Algorithms), slices.Clone(i.Scopes), maps.Clone(i.SubjectLimits)
	return i
}

func (c *checker) tokenIssuers(issuers map[string]TokenIssuer) {
	owners := map[string]path{}
	for _, name := range slices.Sorted(maps.Keys(issuers)) {
		i, at := issuers[name], path("client_tokens").key(name)
		c.name(at, name)
		c.issuerURL(at+".issuer", i.Issuer)
		if owner, taken := owners[i.Issuer]; taken {
			c.fail(at+".issuer", "is the issuer of %s too: give it one entry with all audiences", owner)
		}
		owners[i.Issuer] = at
		if i.JWKSURL != "" {
			c.issuerURL(at+".jwks_url", i.JWKSURL)
		}
		c.audiences(at+".audiences", i.Audiences)
		listOf(c, at+".algorithms", i.Algorithms, TokenAlgorithms)
		within(c, at+".skew", i.Skew, bounds[time.Duration]{0, maxTokenSkew})
		c.tokenTenant(at, &i)
		c.tokenScopes(at, &i)
		c.rateLimits(at+".limits", i.Limits)
		c.atMost(at+".subject_limits", len(i.SubjectLimits), maxMappings)
		for _, subject := range slices.Sorted(maps.Keys(i.SubjectLimits)) {
			c.rateLimits((at + ".subject_limits").key(subject), i.SubjectLimits[subject])
		}
	}
}

// issuerURL checks a URL that keys are trusted from: nobody on the way may change them.
func (c *checker) issuerURL(at path, s string) {
	u, err := url.Parse(s)
	switch {
	case s == "":
		c.fail(at, "is required: an https URL, such as https://login.example.com")
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		c.fail(at, "must be an https URL, such as https://login.example.com")
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		c.fail(at, "must begin with https://; plain http is allowed only on loopback")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		c.fail(at, "must have no user, password, query or fragment")
	}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (c *checker) audiences(at path, all []string) {
	if len(all) == 0 {
		c.fail(at, "is required: without it, a token that was issued for another service would be accepted")
	}
	c.atMost(at, len(all), maxAudiences)
	for i, audience := range all {
		if audience == "" || !isPrintable(audience) {
			c.fail(at.index(i), "must be the text that the claim aud of the tokens has")
		}
	}
	eachOnce(c, at, all)
}

func (c *checker) tokenTenant(at path, i *TokenIssuer) {
	switch {
	case i.Tenant != "" && (i.TenantClaim != "" || len(i.Tenants) > 0):
		c.fail(at+".tenant", "cannot be combined with tenant_claim and tenants: remove one of them")
	case i.Tenant != "":
		c.name(at+".tenant", i.Tenant)
	case i.TenantClaim == "":
		c.fail(at+".tenant", "is required, or tenant_claim with tenants")
	case len(i.Tenants) == 0:
		c.fail(at+".tenants", "is required with tenant_claim: map each accepted value to a tenant")
	}
	c.atMost(at+".tenants", len(i.Tenants), maxMappings)
	for _, value := range slices.Sorted(maps.Keys(i.Tenants)) {
		c.name((at + ".tenants").key(value), i.Tenants[value])
	}
}

func (c *checker) tokenScopes(at path, i *TokenIssuer) {
	listOf(c, at+".scopes", i.Scopes, penstock.Scopes)
	for _, word := range slices.Sorted(maps.Keys(i.ScopeNames)) {
		at := (at + ".scope_names").key(word)
		if word == "" || strings.ContainsAny(word, " \t") {
			c.fail(at, "must be one word of the claim scope")
		}
		listOf(c, at, i.ScopeNames[word], penstock.Scopes)
	}
	c.atMost(at+".scope_names", len(i.ScopeNames), maxMappings)
	eachOnce(c, at+".default_scopes", i.DefaultScopes)
	for n, scope := range i.DefaultScopes {
		oneOf(c, (at + ".default_scopes").index(n), scope, i.Scopes)
	}
}

func (c *checker) atMost(at path, n, most int) {
	if n > most {
		c.fail(at, "has %d entries; at most %d are allowed", n, most)
	}
}
