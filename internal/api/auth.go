package api

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"penstock"
	"penstock/internal/identity"
	"penstock/internal/rest"
)

// maxSignInBytes is the largest body of a call that signs in.
const maxSignInBytes = 4 << 10

// people answers calls about the person who signed in.
type people struct{ *call }

// authRoutes sign people in and out, and describe the caller.
var authRoutes = []rest.Route{
	{Method: "GET", Path: "/auth/options", Open: true, Summary: "List the ways to sign in that the server offers",
		Answers: []rest.Answer{{Status: 200, About: "The ways to sign in.", Body: signInOptions{}}}, Serve: on(people.options)},
	// A browser opens these two: they answer with redirects, and are no calls of a program.
	{Method: "GET", Path: "/auth/login", Open: true, Hidden: true, Summary: "Begin to sign in at an OpenID Connect provider",
		Params: []rest.Param{{Name: "issuer", In: "query", About: "The name of the provider, from GET /auth/options.", Required: true},
			{Name: "return_to", In: "query", About: "The path of this server to return to, / when not given."}}, Serve: on(people.login)},
	{Method: "GET", Path: "/auth/callback", Open: true, Hidden: true, AnyQuery: true, Summary: "Finish to sign in: the provider sends the browser here", Serve: on(people.callback)},
	{Method: "POST", Path: "/auth/key", Open: true, Audit: rest.Audit{Action: identity.ActionSignIn}, Summary: "Sign in with an operator's key", Body: keySignIn{},
		Answers: []rest.Answer{{Status: 200, About: "The session, with its cookie. Only pages of this server may call it.", Body: signedInView{}}}, Serve: on(people.signInByKey)},
	{Method: "POST", Path: "/auth/link", Open: true, Audit: rest.Audit{Action: identity.ActionSignIn}, Summary: "Sign in with the token of a one-time link", Body: linkSignIn{},
		Answers: []rest.Answer{{Status: 200, About: "The session, with its cookie. The link cannot be used again. Only pages of this server may call it.", Body: signedInView{}}}, Serve: on(people.signInByLink)},
	{Method: "POST", Path: "/auth/logout", Open: true, Audit: rest.Audit{Action: identity.ActionSignOut}, Summary: "End the session of the caller",
		Answers: []rest.Answer{{Status: 200, About: "The session has ended, and its cookie is removed.", Body: signOutView{}}}, Serve: on(people.signOut)},
	{Method: "GET", Path: "/v1/me", Summary: "Describe the caller: a key, or a person with roles, tenants and the token for changes",
		Params:  []rest.Param{{Name: "x-penstock-tenant", In: "header", About: "The tenant whose roles to list, for people. Without it: the roles for all tenants."}},
		Answers: []rest.Answer{{Status: 200, About: "The caller.", Body: meView{}, Example: meExample}}, Serve: on(people.me)},
}

// signInOptions are the ways to sign in.
type signInOptions struct {
	Object  string             `json:"object"`
	Issuers []signInIssuerView `json:"issuers" about:"OpenID Connect providers: a browser opens /auth/login?issuer=NAME&return_to=PATH."`
	Key     bool               `json:"key" about:"Whether operators can sign in with a key."`
	Link    bool               `json:"link" about:"Whether the server printed a one-time link."`
}

type signInIssuerView struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}

type keySignIn struct {
	Key string `json:"key" required:"true" about:"The admin key, or a key with the scope admin."`
}

type linkSignIn struct {
	Token string `json:"token" required:"true" about:"The token behind the # of the link."`
}

// signedInView is the session of the caller.
type signedInView struct {
	Object    string    `json:"object"`
	ID        string    `json:"id"`
	CSRF      string    `json:"csrf" about:"The header x-penstock-csrf of calls that change something."`
	ExpiresAt time.Time `json:"expires_at"`
}

type signOutView struct {
	Object string  `json:"object"`
	Ended  bool    `json:"ended" about:"Whether there was a session."`
	NextAt *string `json:"next_url" about:"Where the browser ends its session at the identity provider, if the provider offers that."`
}

// meView is the caller.
type meView struct {
	Object      string                 `json:"object"`
	Kind        penstock.PrincipalKind `json:"kind"`
	Name        string                 `json:"name"`
	Email       *string                `json:"email"`
	Scopes      []penstock.Scope       `json:"scopes" about:"Of a key."`
	Roles       []penstock.Role        `json:"roles" about:"Of a person: in the tenant that the call names, or else for all tenants."`
	Tenants     []meTenantView         `json:"tenants" about:"The tenants in which the person has a role: 1,000 at the most. For a key: its tenant."`
	MoreTenants bool                   `json:"more_tenants" about:"Whether there are more tenants than are listed."`
	Everywhere  []penstock.Role        `json:"all_tenants_roles" about:"The person's roles for all tenants."`
	CSRF        *string                `json:"csrf" about:"The header x-penstock-csrf of calls that change something; null for a key."`
	Session     *meSessionView         `json:"session" about:"null for a key."`
	Version     string                 `json:"version" about:"Of the server."`
	Environment string                 `json:"environment" about:"production, staging or dev."`
	Features    []string               `json:"features" about:"What the server serves: the groups of routes of both APIs; those of the admin API begin with admin."`
}

type meTenantView struct {
	ID    penstock.TenantID `json:"id"`
	Name  string            `json:"name"`
	Roles []penstock.Role   `json:"roles"`
}

type meSessionView struct {
	ID        string    `json:"id"`
	ExpiresAt time.Time `json:"expires_at"`
}

func (c people) service() (*identity.Service, error) {
	if c.People == nil {
		return nil, penstock.Errorf(penstock.CodeNotFound, "People cannot sign in to this process.")
	}
	return c.People, nil
}

func (c people) options() error {
	s, err := c.service()
	if err != nil {
		return err
	}
	o := s.Options()
	view := signInOptions{Object: "sign_in_options", Issuers: []signInIssuerView{}, Key: o.Key, Link: o.Link}
	for _, i := range o.Issuers {
		view.Issuers = append(view.Issuers, signInIssuerView{Name: i.Name, Title: i.Label})
	}
	return c.JSON(http.StatusOK, view)
}

func (c people) signInByKey() error {
	var in keySignIn
	return c.signIn(&in, func(s *identity.Service) (identity.SignedIn, error) { return s.SignInByKey(c.R, in.Key) })
}

func (c people) signInByLink() error {
	var in linkSignIn
	return c.signIn(&in, func(s *identity.Service) (identity.SignedIn, error) { return s.SignInByLink(c.R, in.Token) })
}

// signIn reads a body, makes a session, and sets its cookie. Another site must not sign a person in, as somebody else.
func (c people) signIn(into any, by func(*identity.Service) (identity.SignedIn, error)) error {
	s, err := c.service()
	if err != nil {
		return err
	}
	if err := s.CheckPage(c.R); err != nil {
		return err
	}
	body, err := c.readBodyOf(maxSignInBytes)
	if err != nil {
		return err
	}
	if err := rest.Decode(body, into); err != nil {
		return err
	}
	signed, err := by(s)
	if err != nil {
		return err
	}
	s.SetCookie(c.W, c.R, signed)
	c.keepOutOfCaches()
	return c.JSON(http.StatusOK, signedInView{Object: "session", ID: penstock.ViewSession.Format(signed.ID), CSRF: signed.CSRF, ExpiresAt: stamp(signed.ExpiresAt)})
}

func (c people) login() error {
	s, err := c.service()
	if err != nil {
		return err
	}
	q := c.R.URL.Query()
	at, err := s.Login(c.W, c.R, q.Get("issuer"), q.Get("return_to"))
	if err != nil {
		return c.failPage(s, err)
	}
	return c.redirect(http.StatusFound, at)
}

func (c people) callback() error {
	s, err := c.service()
	if err != nil {
		return err
	}
	signed, returnTo, err := s.Callback(c.W, c.R)
	if err != nil {
		c.Log.WarnContext(c.R.Context(), "a sign-in failed", "error", err)
		return c.failPage(s, err)
	}
	s.SetCookie(c.W, c.R, signed)
	return c.redirect(http.StatusSeeOther, s.At(returnTo))
}

// failPage leads a browser back to the sign-in page, with the code of the error. Other callers get the error.
func (c people) failPage(s *identity.Service, err error) error {
	if !strings.Contains(c.R.Header.Get("Accept"), "text/html") {
		return err
	}
	q := url.Values{"error": {string(penstock.ErrorCode(err))}, "request_id": {penstock.ViewRequest.Format(c.ID)}}
	return c.redirect(http.StatusSeeOther, s.At("/sign-in?"+q.Encode()))
}

func (c people) redirect(status int, at string) error {
	c.keepOutOfCaches()
	c.W.Header().Set("Location", at)
	c.W.Header().Set("Referrer-Policy", "no-referrer") // the address of a callback has a code
	c.W.WriteHeader(status)
	return nil
}

func (c people) signOut() error {
	s, err := c.service()
	if err != nil {
		return err
	}
	session, ended, err := s.SignOut(c.R)
	if err != nil {
		return err
	}
	s.ClearCookie(c.W, c.R)
	view := signOutView{Object: "sign_out", Ended: ended}
	if ended {
		view.NextAt = text(s.EndURL(c.R, session))
	}
	return c.JSON(http.StatusOK, view)
}

// keepOutOfCaches forbids proxies and browsers to store an answer that belongs to one person.
func (c people) keepOutOfCaches() { c.W.Header().Set("Cache-Control", "no-store") }

func (c people) me() error {
	p := &c.Principal
	c.keepOutOfCaches()
	view := meView{
		Object: "me", Kind: p.Kind, Name: p.Key, Scopes: append([]penstock.Scope{}, p.Scopes...), Roles: append([]penstock.Role{}, p.Roles...), Tenants: []meTenantView{}, Everywhere: []penstock.Role{},
		Version: penstock.Version, Environment: c.Config.Current().Process.Environment, Features: append([]string{}, c.Features...),
	}
	if p.Person == nil {
		view.Tenants = append(view.Tenants, meTenantView{ID: p.Tenant.ID, Name: string(p.Tenant.ID), Roles: []penstock.Role{}})
		return c.JSON(http.StatusOK, view)
	}
	me, err := c.People.Me(c.R)
	if err != nil {
		return err
	}
	view.Name, view.Email, view.CSRF, view.MoreTenants = p.Person.Name, text(p.Person.Email), &me.CSRF, me.More
	view.Everywhere = append(view.Everywhere, p.Person.Everywhere...)
	view.Session = &meSessionView{ID: penstock.ViewSession.Format(me.ID), ExpiresAt: stamp(me.ExpiresAt)}
	for _, t := range me.Tenants {
		view.Tenants = append(view.Tenants, meTenantView{ID: t.ID, Name: string(t.ID), Roles: t.Roles})
	}
	return c.JSON(http.StatusOK, view)
}

var meExample = meView{
	Object: "me", Kind: penstock.PrincipalPerson, Name: "Ada Lovelace", Email: new("ada@example.com"), Scopes: []penstock.Scope{}, Roles: []penstock.Role{penstock.RoleDeveloper},
	Tenants: []meTenantView{{ID: "search", Name: "search", Roles: []penstock.Role{penstock.RoleDeveloper}}}, Everywhere: []penstock.Role{}, CSRF: new("5f1c0a6be2d94c8c9a7f3f0b2f6a4d11"),
	Session: &meSessionView{ID: "ses_01KXB3M9SGQ0VJ8ZC3X1N5T7RE", ExpiresAt: time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)}, Version: "0.1.0", Environment: "production", Features: []string{"jobs", "models", "admin.audit"},
}
