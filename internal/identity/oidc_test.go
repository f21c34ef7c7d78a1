package identity_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/config"
)

// TestSignInAtIssuer goes through the code flow: the groups of the token give roles, and the cookie is a session.
func TestSignInAtIssuer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	in, to, err := r.callback(r.login("/t/acme/jobs?status=failed"))
	if err != nil {
		t.Fatal(err)
	}
	if to != "/t/acme/jobs?status=failed" {
		t.Errorf("returns to %q", to)
	}
	p, err := r.principal()
	if err != nil || p.Kind != penstock.PrincipalPerson || p.Person.Email != "ada@example.com" || p.Person.Name != "Ada Lovelace" || roles(p.Roles) != "operator" {
		t.Errorf("signed in as %+v, %v", p.Person, err)
	}
	if got := p.Actor(); got != "Ada Lovelace <ada@example.com> (session "+penstock.ViewSession.Format(in.ID)+")" {
		t.Errorf("the actor is %q", got)
	}
	w := httptest.NewRecorder()
	end := r.EndURL(r.request("POST", "/auth/logout"), in.Session)
	if u, err := url.Parse(end); err != nil || !strings.HasPrefix(end, r.issuer.URL+"/end?") || u.Query().Get("client_id") != clientID || u.Query().Get("x") != "1" || u.Query().Get("post_logout_redirect_uri") != r.base+"/sign-in" {
		t.Errorf("the session at the issuer ends at %q, %v", end, err)
	}
	r.ClearCookie(w, r.request("POST", "/auth/logout"))
	r.take(w)
	_, err = r.principal()
	r.wantCode("without the cookie", err, penstock.CodeInvalidKey)
}

// TestRejectedTokens holds that every token that is not exactly the one that was asked for is refused, and leaves no session.
func TestRejectedTokens(t *testing.T) {
	t.Parallel()
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for name, change := range map[string]func(*testIssuer){
		"another audience":  func(i *testIssuer) { i.override["aud"] = "another client" },
		"several audiences": func(i *testIssuer) { i.override["aud"] = []string{clientID, "another client"} },
		"another client":    func(i *testIssuer) { i.override["azp"] = "another client" },
		"another issuer":    func(i *testIssuer) { i.override["iss"] = "https://evil.example" },
		"another nonce":     func(i *testIssuer) { i.override["nonce"] = "another" },
		"no nonce":          func(i *testIssuer) { i.override["nonce"] = "" },
		"no subject":        func(i *testIssuer) { i.override["sub"] = "" },
		"expired":           func(i *testIssuer) { i.override["exp"] = now.Add(-2 * time.Minute).Unix() },
		"from the future":   func(i *testIssuer) { i.override["iat"] = now.Add(5 * time.Minute).Unix() },
		"not yet":           func(i *testIssuer) { i.override["nbf"] = now.Add(time.Hour).Unix() },
		"unsigned":          func(i *testIssuer) { i.unsigned = true },
		"an unknown key":    func(i *testIssuer) { i.signer = stranger },
		"userinfo of another": func(i *testIssuer) {
			delete(i.claims, "groups")
			i.userInfo = map[string]any{"sub": "user-2", "groups": []string{"platform"}}
		},
		"userinfo of nobody": func(i *testIssuer) {
			delete(i.claims, "groups")
			i.userInfo = map[string]any{"groups": []string{"platform"}}
		},
		"userinfo is no document": func(i *testIssuer) { delete(i.claims, "groups"); i.userInfo = map[string]any{"sub": 7} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.issuer.set(change)
			_, _, err := r.callback(r.login("/"))
			r.wantCode("sign in", err, penstock.CodeInvalidKey)
			if len(r.jar) != 0 {
				t.Errorf("the browser has the cookies %v", r.jar)
			}
		})
	}
}

// TestSkewedClock holds that a token counts for a minute longer than the issuer says, as clocks differ.
func TestSkewedClock(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.issuer.set(func(i *testIssuer) {
		i.override["exp"] = time.Now().Add(-30 * time.Second).Unix()
		i.override["iat"] = time.Now().Add(30 * time.Second).Unix()
	})
	r.signIn()
}

// TestReplayedSignIn holds that a callback works once, in the browser that began it, and only soon.
func TestReplayedSignIn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	q := r.login("/")
	flow := r.jar["penstock_sign_in"]
	stolen := r.jar
	r.jar = map[string]string{} // another browser
	_, _, err := r.callback(q)
	r.wantCode("in another browser", err, penstock.CodeInvalidKey)

	r.jar = stolen
	if _, _, err := r.callback(q); err != nil {
		t.Fatal(err)
	}
	if r.jar["penstock_sign_in"] != "" {
		t.Error("the cookie of the flow is still there")
	}
	_, _, err = r.callback(q)
	r.wantCode("again", err, penstock.CodeInvalidKey)

	// The browser keeps the cookie, and the issuer gives a second code for the same request.
	r.jar["penstock_sign_in"] = flow
	first := r.issuer.consent(r.issuer.URL + "/authorize?" + url.Values{
		"client_id": {clientID}, "response_type": {"code"}, "code_challenge_method": {"S256"}, "nonce": {"n"}, "state": {q.Get("state")}, "code_challenge": {"c"},
	}.Encode())
	_, _, err = r.callback(first)
	r.wantCode("with another code and the wrong verifier", err, penstock.CodeInvalidKey)

	r.jar = map[string]string{}
	wrong := r.login("/")
	wrong.Set("state", "another")
	_, _, err = r.callback(wrong)
	r.wantCode("with another state", err, penstock.CodeInvalidKey)

	mixed := r.login("/")
	mixed.Set("iss", "https://other.example")
	_, _, err = r.callback(mixed)
	r.wantCode("with the answer of another issuer", err, penstock.CodeInvalidKey)

	late := r.login("/")
	r.ahead.Store(int64(11 * time.Minute))
	_, _, err = r.callback(late)
	r.wantCode("after eleven minutes", err, penstock.CodeInvalidKey)
}

// TestRefusedByIssuer holds that an error of the issuer is an error of the sign-in.
func TestRefusedByIssuer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	q := r.login("/")
	q.Del("code")
	q.Set("error", "access_denied")
	_, _, err := r.callback(q)
	r.wantCode("denied", err, penstock.CodeInvalidKey)
}

// TestIssuerIsDown holds that a service starts while the issuer is down, and finds it later.
func TestIssuerIsDown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.issuer.set(func(i *testIssuer) { i.down = true })
	_, err := r.Login(httptest.NewRecorder(), r.request("GET", "/auth/login"), "corp", "/")
	r.wantCode("while the issuer is down", err, penstock.CodeUpstreamError)
	r.issuer.set(func(i *testIssuer) { i.down = false })
	_, err = r.Login(httptest.NewRecorder(), r.request("GET", "/auth/login"), "corp", "/")
	r.wantCode("at once", err, penstock.CodeUpstreamError)
	r.ahead.Store(int64(4 * time.Second))
	r.signIn()
	r.ahead.Store(int64(2 * time.Hour))
	r.issuer.set(func(i *testIssuer) { i.down = true })
	if _, err := r.Login(httptest.NewRecorder(), r.request("GET", "/auth/login"), "corp", "/"); err != nil {
		t.Errorf("the description of an issuer that was known is gone: %v", err)
	}
	_, err = r.Login(httptest.NewRecorder(), r.request("GET", "/auth/login"), "nobody", "/")
	r.wantCode("an unknown issuer", err, penstock.CodeNotFound)
}

// TestClaims holds how claims become a person with roles.
func TestClaims(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change    func(*testIssuer)
		edit      func(*config.SignIn)
		who       string // name and e-mail
		all, acme string
		code      penstock.Code
	}{
		"an unverified address has no roles": {change: func(i *testIssuer) { i.claims["email_verified"] = false; i.claims["groups"] = []string{} },
			edit: func(s *config.SignIn) {
				s.Members = []config.SignInMember{{Email: "ada@example.com", Role: penstock.RoleAdmin}}
			}, code: penstock.CodeScopeMissing},
		"a trusted issuer verifies all": {change: func(i *testIssuer) { delete(i.claims, "email_verified") },
			edit: func(s *config.SignIn) {
				issuer := s.Issuers["corp"]
				issuer.TrustEmail = true
				s.Issuers["corp"] = issuer
				s.Members = []config.SignInMember{{Email: "ada@example.com", Role: penstock.RoleAdmin}}
			}, who: "Ada Lovelace ada@example.com", all: "operator admin", acme: "operator admin"},
		"verified is a text":  {change: func(i *testIssuer) { i.claims["email_verified"] = "true" }, who: "Ada Lovelace ada@example.com", all: "operator", acme: "operator"},
		"a group in a tenant": {change: func(i *testIssuer) { i.claims["groups"] = "search" }, who: "Ada Lovelace ada@example.com", acme: "developer"},
		"nobody":              {change: func(i *testIssuer) { i.claims["groups"] = []string{"guests"} }, code: penstock.CodeScopeMissing},
		"the name is missing": {change: func(i *testIssuer) { delete(i.claims, "name"); i.claims["preferred_username"] = "ada" }, who: "ada ada@example.com", all: "operator", acme: "operator"},
		"only a subject":      {change: func(i *testIssuer) { delete(i.claims, "name"); delete(i.claims, "email") }, who: "user-1 ", all: "operator", acme: "operator"},
		"claims at the userinfo": {change: func(i *testIssuer) {
			delete(i.claims, "groups")
			i.userInfo = map[string]any{"sub": "user-1", "groups": []any{"search", 7}}
		}, who: "Ada Lovelace ada@example.com", acme: "developer"},
		"the signed claim counts": {change: func(i *testIssuer) {
			delete(i.claims, "email")
			i.userInfo = map[string]any{"sub": "user-1", "groups": []any{"search"}}
		}, who: "Ada Lovelace ", all: "operator", acme: "operator"},
		"groups inside of a claim": {change: func(i *testIssuer) { i.claims["realm_access"] = map[string]any{"roles": []string{"search"}} },
			edit: func(s *config.SignIn) {
				issuer := s.Issuers["corp"]
				issuer.GroupsClaim = "realm_access.roles"
				s.Issuers["corp"] = issuer
			}, who: "Ada Lovelace ada@example.com", acme: "developer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.edit == nil {
				test.edit = func(*config.SignIn) {}
			}
			r := newRig(t, test.edit)
			r.issuer.set(test.change)
			_, _, err := r.callback(r.login("/"))
			if test.code != "" {
				r.wantCode("sign in", err, test.code)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			p, err := r.principal()
			if err != nil || p.Person.Name+" "+p.Person.Email != test.who || roles(p.Person.Everywhere) != test.all || roles(p.Person.RolesIn("acme")) != test.acme {
				t.Errorf("%+v, %v", p.Person, err)
			}
		})
	}
}

// TestReturnTo holds that a sign-in returns to this server.
func TestReturnTo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, path := range []string{"/", "/t/acme/jobs", "/t/acme/jobs?status=failed&q=a%2Fb", "/all/usage#x"} {
		if _, to, err := r.callback(r.login(path)); err != nil || to != path {
			t.Errorf("%s: returned to %q, %v", path, to, err)
		}
	}
	for _, evil := range []string{
		"//evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example", "http:evil.example", "javascript:alert(1)", "evil.example", "/%2Fevil.example", "/%2f%2fevil.example",
		"/%5Cevil.example", "/%255Cevil.example", "/%252F/evil.example", "/\t/evil.example", "/\n/evil.example", "/\x00", "/%09/evil.example", " /x", "///evil.example", "/./\\evil.example", "/auth/login?issuer=corp", "/%61uth/login",
		"/" + strings.Repeat("a", 3000),
	} {
		_, err := r.Login(httptest.NewRecorder(), r.request("GET", "/auth/login"), "corp", evil)
		r.wantCode(evil, err, penstock.CodeInvalidRequest)
	}
}
