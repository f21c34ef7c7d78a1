package config

import (
	"net/mail"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"penstock"
)

// SignIn is how people sign in to the console.
type SignIn struct {
	// OperatorKey is whether operators sign in with the admin key, or with a key that has the scope admin: allow or refuse. A
	// session that began with a key ends when the key does. Zero: the default, allow without Issuers and refuse with them.
	OperatorKey string `yaml:"operator_key,omitempty"`

	// IdleTimeout is how long a session lasts without a call. Zero: the default, 12h. From 1m to 720h.
	IdleTimeout time.Duration `yaml:"idle_timeout"`

	// MaxLife is how long a session lasts, however much it is used. Zero: the default, 168h. From 1m to 8760h. Not shorter
	// than IdleTimeout.
	MaxLife time.Duration `yaml:"max_life"`

	// Issuers are the OpenID Connect providers at which people sign in, by name. Names match [a-z0-9][a-z0-9._-]{0,62}. At
	// most 16. Zero: none.
	Issuers map[string]Issuer `yaml:"issuers,omitempty"`

	// Members are roles of people by their e-mail addresses. More can be granted with the API. At most 1000. Zero: none.
	Members []SignInMember `yaml:"members,omitempty"`
}

// Issuer is an OpenID Connect provider.
type Issuer struct {
	// Title is the name of the provider on the sign-in page. At most 64 bytes. Zero: its name.
	Title string `yaml:"title,omitempty"`

	// URL is the issuer, as the provider writes it in its tokens, such as https://accounts.google.com. The rest is read from
	// /.well-known/openid-configuration below it. It needs https, unless it is on loopback. Required.
	URL string `yaml:"url"`

	// ClientID is the id under which the provider knows this server. Required.
	ClientID string `yaml:"client_id"`

	// ClientSecret is the secret that belongs to ClientID, such as ${OIDC_CLIENT_SECRET}. Zero: none, for a public client.
	ClientSecret Secret `yaml:"client_secret,omitempty"`

	// Scopes are asked for besides openid. Zero: the default, profile and email.
	Scopes []string `yaml:"scopes,omitempty"`

	// GroupsClaim is the claim of the id token that lists the groups of a person. Zero: the default, groups.
	GroupsClaim string `yaml:"groups_claim,omitempty"`

	// TrustEmail is whether an e-mail address counts without the claim email_verified. Set it only if the provider gives people
	// no address that they do not own. Zero: the claim must be true, otherwise the address is ignored.
	TrustEmail bool `yaml:"trust_email,omitempty"`

	// Groups are the roles of groups. At most 1000. Zero: groups have no roles.
	Groups []IssuerGroup `yaml:"groups,omitempty"`

	// Allow are networks in which the provider may be although they are not public, such as "10.20.0.0/16". Zero: none, and
	// loopback if the URL names it.
	Allow []string `yaml:"allow,omitempty"`
}

// IssuerGroup is the role of a group.
type IssuerGroup struct {
	// Group is the group as the issuer names it. Required.
	Group string `yaml:"group"`

	// Role is viewer, developer, reviewer, operator, auditor or admin. Required.
	Role penstock.Role `yaml:"role"`

	// Tenant is the id of the tenant in which the group has the role. Zero: all tenants.
	Tenant string `yaml:"tenant,omitempty"`
}

// SignInMember is the role of a person.
type SignInMember struct {
	// Email is the person's address, in lower case, as an issuer verified it. Required.
	Email string `yaml:"email"`

	// Role is viewer, developer, reviewer, operator, auditor or admin. Required.
	Role penstock.Role `yaml:"role"`

	// Tenant is the id of the tenant in which the person has the role. Zero: all tenants.
	Tenant string `yaml:"tenant,omitempty"`
}

// The environments.
const (
	EnvironmentProduction = "production"
	EnvironmentStaging    = "staging"
	EnvironmentDev        = "dev"
)

// The values of OperatorKey.
const (
	SignInAllow  = "allow"
	SignInRefuse = "refuse"
)

const (
	defaultIdleTimeout = 12 * time.Hour
	defaultMaxLife     = 168 * time.Hour
	defaultGroupsClaim = "groups"

	minSessionLife     = time.Minute
	maxIdleTimeout     = 720 * time.Hour
	maxSessionLife     = 8760 * time.Hour
	maxIssuers         = 16
	maxSignInGrants    = 1000
	maxTitle           = 64
	maxGroup           = 256
	maxIssuerScopes    = 32
	maxClaim           = 128
	maxEmailBytes      = 254
	maxClientIDBytes   = 512
	loopbackNameSuffix = ".localhost"
)

// AllowsKey reports whether operators may sign in with a key.
func (s *SignIn) AllowsKey() bool { return s.OperatorKey == SignInAllow }

// Networks are those of Allow. An issuer on loopback may be there.
func (i Issuer) Networks() []netip.Prefix {
	var networks []netip.Prefix
	for _, text := range i.Allow {
		if n, err := parseNetwork(text); err == nil { // they were checked
			networks = append(networks, n)
		}
	}
	if onLoopback(i.URL) {
		networks = append(networks, netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"))
	}
	return networks
}

func (s *SignIn) fillDefaults(written places) {
	key := SignInAllow
	if len(s.Issuers) > 0 {
		key = SignInRefuse
	}
	fill(written, "sign_in.operator_key", &s.OperatorKey, key)
	fill(written, "sign_in.idle_timeout", &s.IdleTimeout, shorter(defaultIdleTimeout, s.MaxLife))
	fill(written, "sign_in.max_life", &s.MaxLife, max(defaultMaxLife, s.IdleTimeout))
	for name, i := range s.Issuers {
		at := path("sign_in.issuers").key(name)
		fill(written, at+".title", &i.Title, name)
		fill(written, at+".groups_claim", &i.GroupsClaim, defaultGroupsClaim)
		i.Scopes = fillList(written, at+".scopes", i.Scopes, []string{"profile", "email"})
		s.Issuers[name] = i
	}
}

func (c *checker) signIn(s *SignIn) {
	oneOf(c, "sign_in.operator_key", s.OperatorKey, []string{SignInAllow, SignInRefuse})
	within(c, "sign_in.idle_timeout", s.IdleTimeout, bounds[time.Duration]{minSessionLife, maxIdleTimeout})
	if within(c, "sign_in.max_life", s.MaxLife, bounds[time.Duration]{minSessionLife, maxSessionLife}) {
		c.notLonger("sign_in.idle_timeout", s.IdleTimeout, "sign_in.max_life", s.MaxLife)
	}
	if len(s.Issuers) > maxIssuers {
		c.fail("sign_in.issuers", "has %d entries; at most %d are allowed", len(s.Issuers), maxIssuers)
	}
	for name, i := range s.Issuers {
		c.issuer(path("sign_in.issuers").key(name), name, i)
	}
	if len(s.Members) > maxSignInGrants {
		c.fail("sign_in.members", "has %d entries; at most %d are allowed", len(s.Members), maxSignInGrants)
	}
	for n, m := range s.Members {
		at := path("sign_in.members").index(n)
		address, err := mail.ParseAddress(m.Email)
		if err != nil || address.Address != m.Email || m.Email != strings.ToLower(m.Email) || len(m.Email) > maxEmailBytes {
			c.fail(at+".email", "must be an address such as ada@example.com, in lower case")
		}
		c.grant(at, m.Role, m.Tenant)
	}
}

func (c *checker) issuer(at path, name string, i Issuer) {
	if !slug.MatchString(name) {
		c.fail(at, "the name must match %s", slug)
	}
	c.httpURL(at+".url", i.URL)
	if strings.HasPrefix(i.URL, "http://") && !onLoopback(i.URL) {
		c.fail(at+".url", "must begin with https://: tokens of people pass through it")
	}
	if i.ClientID == "" || len(i.ClientID) > maxClientIDBytes {
		c.fail(at+".client_id", "is required; the provider shows it where you registered this server")
	}
	if len(i.Title) > maxTitle {
		c.fail(at+".title", "must have at most %d bytes", maxTitle)
	}
	if len(i.GroupsClaim) > maxClaim {
		c.fail(at+".groups_claim", "must have at most %d bytes", maxClaim)
	}
	if len(i.Scopes) > maxIssuerScopes || strings.ContainsAny(strings.Join(i.Scopes, ""), " \t\n") {
		c.fail(at+".scopes", "must be a list of at most %d words", maxIssuerScopes)
	}
	if len(i.Groups) > maxSignInGrants {
		c.fail(at+".groups", "has %d entries; at most %d are allowed", len(i.Groups), maxSignInGrants)
	}
	for n, g := range i.Groups {
		if g.Group == "" || len(g.Group) > maxGroup {
			c.fail((at+".groups").index(n)+".group", "is required, and has at most %d bytes", maxGroup)
		}
		c.grant((at + ".groups").index(n), g.Role, g.Tenant)
	}
	for n, text := range i.Allow {
		if _, err := parseNetwork(text); err != nil {
			c.fail((at + ".allow").index(n), `must be a network such as "10.20.0.0/16" or an address, not %s`, quote(text))
		}
	}
}

// grant checks a role in a tenant. Tenants can also be in the database, so only the form of the id is checked.
func (c *checker) grant(at path, role penstock.Role, tenant string) {
	oneOf(c, at+".role", role, penstock.Roles)
	if tenant != "" && !slug.MatchString(tenant) {
		c.fail(at+".tenant", "must be the id of a tenant; leave it out for all tenants")
	}
}

// onLoopback reports whether a URL names this machine.
func onLoopback(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, loopbackNameSuffix)
}
