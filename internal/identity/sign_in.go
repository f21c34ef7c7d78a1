package identity

import (
	"context"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/rest"
	"penstock/internal/store"
)

// LinkLife is how long a one-time link can be used.
const LinkLife = 30 * time.Minute

// The bounds of texts that a browser or an issuer sends.
const (
	maxUserAgent = 256
	maxNameBytes = 128
	maxEmail     = 254
	maxGroups    = 500
	maxGroupName = 256
)

// SignedIn is a new session with its token.
type SignedIn struct {
	Session
	Token string
	CSRF  string
}

// Options are the ways to sign in that the server offers.
type Options struct {
	Issuers []IssuerOption
	Key     bool // with an operator's key
	Link    bool // with a one-time link
}

// IssuerOption is an OpenID Connect issuer.
type IssuerOption struct{ Name, Label string }

// Options returns the ways to sign in.
func (s *Service) Options() Options {
	o := Options{Key: s.Settings.AllowsKey(), Link: s.OffersLink}
	for _, name := range slices.Sorted(maps.Keys(s.Settings.Issuers)) {
		o.Issuers = append(o.Issuers, IssuerOption{name, s.Settings.Issuers[name].Title})
	}
	return o
}

// SignInByKey signs an operator in with a key: the admin key, or a key with the scope admin. The session ends with the key.
// Codes: invalid_key, rate_limited, scope_missing.
func (s *Service) SignInByKey(r *http.Request, secret string) (SignedIn, error) {
	if !s.Settings.AllowsKey() {
		return SignedIn{}, penstock.Errorf(penstock.CodeScopeMissing, "This server does not let people sign in with a key; sign in at your identity provider, or set sign_in.operator_key to allow.")
	}
	if secret == "" {
		return SignedIn{}, penstock.InvalidParam("key", "key is missing; send the admin key, or a key with the scope admin.")
	}
	operator, err := s.Keys.Authenticate(secret, r.RemoteAddr)
	if err != nil {
		return SignedIn{}, err
	}
	if !operator.Has(penstock.RoleAdmin) {
		return SignedIn{}, penstock.Errorf(penstock.CodeScopeMissing, "The key %q cannot sign in: it lacks the scope %s.", operator.Key, penstock.ScopeAdmin)
	}
	person := Person{Issuer: IssuerKey, Subject: "admin", Name: "Operator with the admin key"}
	if operator.Key != "" {
		name := string(operator.Tenant.ID) + "/" + operator.Key
		person.Subject, person.Name = "key:"+name, "Operator with the key "+name
	}
	return s.signIn(r, NewSession{Session: Session{Person: person, Key: keyHashOf(secret), Roles: []penstock.Role{penstock.RoleAdmin}}})
}

// NewLink makes a one-time link that signs in as an administrator, and returns its token.
func (s *Service) NewLink(ctx context.Context) (token string, err error) {
	token = newToken()
	return token, s.People.AddLink(ctx, hashOf(token), s.Clock().Add(LinkLife))
}

// SignInByLink signs in with the token of a one-time link. Codes: invalid_key, rate_limited.
func (s *Service) SignInByLink(r *http.Request, token string) (SignedIn, error) {
	if token == "" || len(token) > maxToken {
		return SignedIn{}, penstock.InvalidParam("token", "token is missing; open the link that the server printed at its start.")
	}
	pass, err := s.Throttle.Admit(r.RemoteAddr, token)
	if err != nil {
		return SignedIn{}, tooMany(err)
	}
	in, err := s.signIn(r, NewSession{Link: hashOf(token), Session: Session{
		Person: Person{Issuer: IssuerLink, Subject: "dev", Name: "Developer"}, Roles: []penstock.Role{penstock.RoleAdmin},
	}})
	if penstock.ErrorCode(err) == penstock.CodeNotFound {
		pass.Wrong()
		return SignedIn{}, penstock.Errorf(penstock.CodeInvalidKey, "This link was used before, or it has expired. Restart the server to have a new one printed.")
	}
	return in, err
}

// signIn makes a session with a new token. A session that the browser had before ends, so that a sign-in leaves one.
func (s *Service) signIn(r *http.Request, n NewSession) (SignedIn, error) {
	token, now := newToken(), s.Clock()
	n.ID, n.TokenHash = s.ids.New(now), hashOf(token)
	n.Person.ID = s.ids.New(now)
	n.CreatedAt, n.SeenAt, n.ExpiresAt = now, now, now.Add(s.Settings.MaxLife)
	n.UserAgent, n.Address = clip(r.UserAgent(), maxUserAgent), host(r.RemoteAddr)
	n.Actor = (&penstock.Person{Name: n.Person.Name, Email: n.Person.Email, Session: n.ID}).Actor()
	session, err := s.Sessions.SignIn(r.Context(), n)
	if err != nil {
		return SignedIn{}, err
	}
	s.endPrevious(r)
	s.Log.InfoContext(r.Context(), "signed in", "person", n.Person.Name, "issuer", n.Person.Issuer, "session", penstock.ViewSession.Format(session.ID))
	return SignedIn{Session: session, Token: token, CSRF: csrfOf(token)}, nil
}

// endPrevious ends the session that the browser had before a sign-in.
func (s *Service) endPrevious(r *http.Request) {
	if token := s.tokenOf(r); token != "" {
		if e, err := s.lookUp(r.Context(), token, r.RemoteAddr); err == nil {
			s.end(r.Context(), e, ActionSignOut)
		}
	}
}

// SignOut ends the session of a call. It returns the session, false if there was none. Codes: scope_missing.
func (s *Service) SignOut(r *http.Request) (Session, bool, error) {
	token := s.tokenOf(r)
	if token == "" {
		return Session{}, false, nil
	}
	e, err := s.lookUp(r.Context(), token, r.RemoteAddr)
	if err != nil {
		return Session{}, false, nil // it is over, which is what the caller wants
	}
	if err := s.checkCall(r, token); err != nil {
		return Session{}, false, err
	}
	return e.Session, true, s.end(r.Context(), e, ActionSignOut)
}

func (s *Service) end(ctx context.Context, e *entry, action string) error {
	_, err := s.Sessions.End(ctx, SessionEnd{ID: e.ID, Action: action, Condition: store.Condition{Actor: e.person.Actor()}})
	if err == nil {
		s.changed(ctx)
	}
	return err
}

// Revoke ends a session of anybody, or of one person, in every process within a second. Codes: not_found.
func (s *Service) Revoke(ctx context.Context, e SessionEnd) (Session, error) {
	e.Action = ActionRevokeSession
	session, err := s.Sessions.End(ctx, e)
	if err == nil && !e.DryRun {
		s.changed(ctx)
	}
	return session, err
}

// Reveal implements rest.Revealing.
func (s *Service) Reveal(ctx context.Context, r rest.Reveal) error { return s.Audit.Reveal(ctx, r) }

// clip shortens a text that somebody else chose.
func clip(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// host is an address without its port.
func host(address string) string {
	if h, _, err := net.SplitHostPort(address); err == nil {
		return h
	}
	return address
}
