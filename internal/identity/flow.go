package identity

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"penstock"
)

const (
	// secureFlow and plainFlow are the cookies of a sign-in that has begun, over https and over http.
	secureFlow = "__Host-penstock_sign_in"
	plainFlow  = "penstock_sign_in"
	// flowLife is how long a person may take at the issuer.
	flowLife = 10 * time.Minute
	// maxReturnTo bounds the path that a sign-in returns to.
	maxReturnTo = 2048
	maxFlow     = 4096
	maxCode     = 4096
)

// flow is a sign-in that has begun. The browser keeps it in a cookie, so that any process can finish it, and only this browser
// can: the state of the callback must be that of the cookie.
type flow struct {
	Issuer   string `json:"i"`
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"` // of PKCE
	ReturnTo string `json:"r"`
	Expires  int64  `json:"e"` // seconds
}

// Login begins a sign-in at an issuer: it sets the cookie of the flow, and returns the issuer's URL for the browser. Codes:
// invalid_request, not_found, upstream_error.
func (s *Service) Login(w http.ResponseWriter, r *http.Request, name, returnTo string) (string, error) {
	i := s.issuers[name]
	if i == nil {
		return "", &penstock.Error{Code: penstock.CodeNotFound, Param: "issuer", Message: "There is no such issuer; GET /auth/options lists the issuers."}
	}
	if returnTo == "" {
		returnTo = "/"
	}
	if !ownPath(returnTo) {
		return "", penstock.InvalidParam("return_to", "return_to must be a path of this server, such as /t/search/jobs.")
	}
	p, err := i.describe(r.Context())
	if err != nil {
		return "", err
	}
	f := flow{Issuer: name, State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), ReturnTo: returnTo, Expires: s.Clock().Add(flowLife).Unix()}
	text, err := json.Marshal(f)
	if err != nil {
		return "", penstock.Internal(err)
	}
	http.SetCookie(w, s.flowCookie(r, base64.RawURLEncoding.EncodeToString(text), int(flowLife/time.Second)))
	return i.oauth(p, s.callbackURL(r)).AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)), nil
}

// Callback finishes a sign-in that an issuer answers: it removes the cookie of the flow, and returns the session and the path to
// return to. Codes: invalid_key, scope_missing for a person without a role, upstream_error.
func (s *Service) Callback(w http.ResponseWriter, r *http.Request) (SignedIn, string, error) {
	f, err := s.flowOf(r)
	http.SetCookie(w, s.flowCookie(r, "", -1)) // a flow is finished once, also by an error
	if err != nil {
		return SignedIn{}, "", err
	}
	i, q := s.issuers[f.Issuer], r.URL.Query()
	switch {
	case i == nil || s.Clock().Unix() > f.Expires || !same(q.Get("state"), f.State):
		return SignedIn{}, "", errFlow()
	case q.Get("iss") != "" && q.Get("iss") != i.config.URL: // the answer of another issuer was passed on to us
		return SignedIn{}, "", refused("the answer is of another issuer", nil)
	case q.Get("error") != "":
		return SignedIn{}, "", refused("the issuer answered "+clip(q.Get("error")+": "+q.Get("error_description"), maxNameBytes), nil)
	case q.Get("code") == "" || len(q.Get("code")) > maxCode:
		return SignedIn{}, "", errFlow()
	}
	c, err := i.exchange(r.Context(), f, q.Get("code"), s.callbackURL(r))
	if err != nil {
		return SignedIn{}, "", err
	}
	session := Session{Person: c.person(f.Issuer, i.config), Groups: c.groups(i.config.GroupsClaim)}
	if err := s.checkRoles(r, session); err != nil {
		return SignedIn{}, "", err
	}
	in, err := s.signIn(r, NewSession{Session: session, Once: hashOf(f.State)})
	if !ownPath(f.ReturnTo) {
		f.ReturnTo = "/"
	}
	return in, f.ReturnTo, err
}

// checkRoles refuses a person without a role, so that strangers of a public issuer leave no rows. Codes: scope_missing.
func (s *Service) checkRoles(r *http.Request, session Session) error {
	id, err := s.People.PersonID(r.Context(), session.Person.Issuer, session.Person.Subject)
	if err != nil {
		return err
	}
	session.Person.ID = id
	if p := s.view.Load().person(session, &s.Settings); len(p.Everywhere) > 0 || len(p.In) > 0 {
		return nil
	}
	return penstock.Errorf(penstock.CodeScopeMissing, "You have no role here. Ask an administrator to grant one to %s.", nameOf(session.Person))
}

func nameOf(p Person) string {
	if p.Email != "" {
		return p.Email
	}
	return "your e-mail address, which your identity provider has to verify"
}

// EndURL is where the browser ends its session at the issuer, after it ended here; "" if the issuer offers no such place.
func (s *Service) EndURL(r *http.Request, session Session) string {
	i := s.issuers[session.Person.Issuer]
	if i == nil {
		return ""
	}
	if _, err := i.describe(r.Context()); err != nil {
		return ""
	}
	i.mu.Lock()
	end := i.endURL
	i.mu.Unlock()
	u, err := url.Parse(end)
	if err != nil || end == "" {
		return ""
	}
	q := u.Query()
	q.Set("client_id", i.config.ClientID)
	q.Set("post_logout_redirect_uri", s.base(r)+"/sign-in")
	u.RawQuery = q.Encode()
	return u.String()
}

// flowOf reads the flow of a callback. Codes: invalid_key.
func (b *browser) flowOf(r *http.Request) (f flow, err error) {
	c, err := r.Cookie(b.flowName(r))
	if err != nil || len(c.Value) > maxFlow {
		return f, errFlow()
	}
	text, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil || json.Unmarshal(text, &f) != nil || f.State == "" || f.Nonce == "" || f.Verifier == "" {
		return flow{}, errFlow()
	}
	return f, nil
}

func errFlow() error {
	return penstock.Errorf(penstock.CodeInvalidKey, "This sign-in was not begun in this browser, took too long, or was finished before; sign in again.")
}

func (b *browser) flowName(r *http.Request) string {
	if b.secure(r) {
		return secureFlow
	}
	return plainFlow
}

func (b *browser) flowCookie(r *http.Request, value string, maxAge int) *http.Cookie {
	c := b.cookie(r, value, maxAge)
	c.Name = b.flowName(r)
	return c
}

// base is the URL at which browsers reach the server, without a slash at its end.
func (b *browser) base(r *http.Request) string {
	if b.publicURL != "" {
		return strings.TrimSuffix(b.publicURL, "/")
	}
	if b.secure(r) {
		return "https://" + r.Host + b.basePath
	}
	return "http://" + r.Host + b.basePath
}

func (b *browser) callbackURL(r *http.Request) string { return b.base(r) + "/auth/callback" }

// At is the address of a path of this server for a redirect: relative to the host, so that no other host can be named. The base
// path comes before it, unless it is there.
func (b *browser) At(path string) string {
	if b.basePath == "" || strings.HasPrefix(path, b.basePath+"/") {
		return path
	}
	return b.basePath + path
}

// ownPath reports whether a redirect to a text stays on this server. Browsers take //host and /\host for other hosts, and
// remove control characters before they look. A path that would become such a one by decoding is refused too.
func ownPath(text string) bool {
	if len(text) > maxReturnTo {
		return false
	}
	for range 3 { // encoded twice is still refused
		if !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }) {
			return false
		}
		u, err := url.Parse(text)
		if err != nil || u.Host != "" || u.Scheme != "" {
			return false
		}
		path, err := url.PathUnescape(u.EscapedPath())
		if err != nil || strings.HasPrefix(path, "/auth/") { // a sign-in must not begin another one
			return false
		}
		text = path
	}
	return true
}

// same compares two secrets in constant time.
func same(a, b string) bool { return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
