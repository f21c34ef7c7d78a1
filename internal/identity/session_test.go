package identity_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/identity"
	"penstock/internal/rest"
	"penstock/internal/store"
)

func allowKey(s *config.SignIn) { s.OperatorKey = config.SignInAllow }

// byKey signs the browser in with the admin key.
func (r *rig) byKey() identity.SignedIn {
	r.t.Helper()
	w, q := httptest.NewRecorder(), r.request("POST", "/auth/key")
	in, err := r.SignInByKey(q, adminSecret)
	if err != nil {
		r.t.Fatal(err)
	}
	r.SetCookie(w, q, in)
	r.take(w)
	return in
}

// TestSessionsEnd holds every way in which a session ends.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	const idle, life = 12 * time.Hour, 168 * time.Hour
	for name, end := range map[string]func(*rig, identity.SignedIn){
		"idle":        func(r *rig, _ identity.SignedIn) { r.ahead.Store(int64(idle + time.Second)) },
		"key revoked": func(r *rig, _ identity.SignedIn) { r.keys.revoked.Store(true) },
		"signed out": func(r *rig, in identity.SignedIn) {
			q := r.request("POST", "/auth/logout")
			q.Header.Set("Origin", r.base)
			q.Header.Set(identity.HeaderCSRF, in.CSRF)
			if _, ended, err := r.SignOut(q); !ended || err != nil {
				r.t.Error(ended, err)
			}
		},
		"revoked": func(r *rig, in identity.SignedIn) {
			if _, err := r.Revoke(r.t.Context(), identity.SessionEnd{ID: in.ID, Condition: store.Condition{Actor: "grace"}}); err != nil {
				r.t.Error(err)
			}
		},
		"signed in again": func(r *rig, _ identity.SignedIn) {
			old := map[string]string{"penstock_session": r.jar["penstock_session"]}
			r.byKey()
			r.jar = old
		},
		"too old": func(r *rig, _ identity.SignedIn) {
			for range int(life / (idle / 2)) { // it is used all the time
				if _, err := r.principal(); err != nil {
					r.t.Fatal(err)
				}
				r.ahead.Add(int64(idle / 2))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, allowKey)
			signed := r.byKey()
			if p, err := r.principal(in("acme")); err != nil || !p.Has(penstock.RoleAdmin) || p.Tenant.ID != "acme" {
				t.Fatal(p, err)
			}
			end(r, signed)
			_, err := r.principal()
			r.wantCode("afterwards", err, penstock.CodeInvalidKey)
		})
	}
}

// TestRevokeReachesOtherProcesses holds that a session ends, and a role is lost, within a second in a process that is not told.
func TestRevokeReachesOtherProcesses(t *testing.T) {
	t.Parallel()
	r := newRig(t, allowKey)
	other := r.other()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = other.Run(ctx) })
	defer running.Wait()
	defer stop()

	r.issuer.set(func(i *testIssuer) { i.claims["groups"] = []string{} })
	m, err := r.Grant(t.Context(), identity.Member{Email: " Ada@example.com", Tenant: "acme", Role: penstock.RoleDeveloper}, store.Condition{Actor: "grace"})
	if err != nil {
		t.Fatal(err)
	}
	session := r.signIn()
	has := func() (penstock.Principal, error) {
		p, _, err := other.Principal(r.request("GET", "/v1/jobs"), "")
		return p, err
	}
	within(t, "a granted role counts", func() bool {
		p, err := has()
		return err == nil && roles(p.Person.In["acme"]) == "developer"
	})
	call := &openCall{ended: make(chan error, 1)}
	other.Watch(call, r.request("GET", "/v1/live"))

	if _, err := r.RemoveMember(t.Context(), m.ID, store.Condition{Actor: "grace"}); err != nil {
		t.Fatal(err)
	}
	within(t, "a removed role does not count", func() bool {
		p, err := has()
		return err == nil && len(p.Person.In) == 0
	})
	within(t, "the open call ends", func() bool { return len(call.ended) == 1 })
	r.wantCode("the open call", <-call.ended, penstock.CodeInvalidKey)
	if _, err := r.Revoke(t.Context(), identity.SessionEnd{ID: session.ID, Condition: store.Condition{Actor: "grace"}}); err != nil {
		t.Fatal(err)
	}
	within(t, "a revoked session ends", func() bool {
		_, err := has()
		return penstock.ErrorCode(err) == penstock.CodeInvalidKey
	})
}

// within holds that a change is seen within a second.
func within(t *testing.T, what string, seen func() bool) {
	t.Helper()
	began := time.Now()
	for !seen() {
		if took := time.Since(began); took > time.Second {
			t.Fatalf("%s: not after %v", what, took)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// openCall is a call that stays open.
type openCall struct{ ended chan error }

func (c *openCall) End(why error) { c.ended <- why }

// TestCallsReadNoDatabase holds that a known session costs no read, and that its use is stored once a minute.
func TestCallsReadNoDatabase(t *testing.T) {
	t.Parallel()
	r := newRig(t, allowKey)
	r.byKey()
	counting := &countingSessions{Sessions: r.Sessions}
	r.Sessions = counting
	for range 100 {
		if _, err := r.principal(); err != nil {
			t.Fatal(err)
		}
	}
	if n := counting.reads.Load(); n > 1 {
		t.Errorf("100 calls of one session read it %d times", n)
	}
	r.ahead.Store(int64(time.Hour))
	for range 100 {
		if _, err := r.principal(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := r.Run(ctx); err != nil { // writes what waits
		t.Fatal(err)
	}
	if n := counting.touched.Load(); n != 1 {
		t.Errorf("100 calls were stored %d times", n)
	}
}

type countingSessions struct {
	identity.Sessions
	reads, touched atomic.Int64
}

func (c *countingSessions) Session(ctx context.Context, hash string) (identity.Session, error) {
	c.reads.Add(1)
	return c.Sessions.Session(ctx, hash)
}

func (c *countingSessions) Touch(ctx context.Context, seen []identity.Seen) error {
	c.touched.Add(int64(len(seen)))
	return c.Sessions.Touch(ctx, seen)
}

// TestUseInAnotherProcess holds that a session is not idle for a process that served it long ago.
func TestUseInAnotherProcess(t *testing.T) {
	t.Parallel()
	r := newRig(t, allowKey)
	in := r.byKey()
	if _, err := r.principal(); err != nil {
		t.Fatal(err)
	}
	r.ahead.Store(int64(13 * time.Hour))
	if err := r.store.Touch(t.Context(), []identity.Seen{{Session: in.ID, At: r.now().Add(-time.Hour)}}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.principal(); err != nil {
		t.Errorf("another process saw the session an hour ago: %v", err)
	}
}

// TestFixation holds that a sign-in never takes over a token that the browser already has.
func TestFixation(t *testing.T) {
	t.Parallel()
	r := newRig(t, allowKey)
	r.jar["penstock_session"] = "pss_chosen_by_an_attacker"
	first := r.byKey()
	second := r.byKey()
	if first.Token == "pss_chosen_by_an_attacker" || first.Token == second.Token || first.ID == second.ID {
		t.Errorf("tokens %q and %q", first.Token, second.Token)
	}
	if first.CSRF == second.CSRF {
		t.Error("two sessions share the token of their changes")
	}
}

// TestCookies holds the attributes of cookies over http and https, and which cookie counts.
func TestCookies(t *testing.T) {
	t.Parallel()
	r := newRig(t, allowKey)
	in, err := r.SignInByKey(r.request("POST", "/auth/key"), adminSecret)
	if err != nil {
		t.Fatal(err)
	}
	plain := r.request("GET", "/")
	secure := r.request("GET", "/")
	secure.TLS = &tls.ConnectionState{}
	proxied := r.request("GET", "/")
	proxied.Header.Set("X-Forwarded-Proto", "https")
	for name, test := range map[string]struct {
		q      *http.Request
		cookie string
		secure bool
	}{"http": {plain, "penstock_session", false}, "https": {secure, "__Host-penstock_session", true}, "https proxy": {proxied, "__Host-penstock_session", true}} {
		w := httptest.NewRecorder()
		r.SetCookie(w, test.q, in)
		c := w.Result().Cookies()[0]
		if c.Name != test.cookie || c.Secure != test.secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.MaxAge < 600000 {
			t.Errorf("%s: %+v", name, c)
		}
	}
	secure.AddCookie(&http.Cookie{Name: "penstock_session", Value: in.Token})
	if _, present, _ := r.Principal(secure, ""); present {
		t.Error("over https, the cookie of http counts")
	}
	plain.AddCookie(&http.Cookie{Name: "penstock_session", Value: in.Token})
	if _, present, _ := r.Principal(plain, "psk_any"); present || r.Carries(plain, "psk_any") {
		t.Error("a call with a key and a cookie is that of the person")
	}
}

// TestForgedCalls holds that a call that changes something comes from a page of this server and knows the token of its session.
func TestForgedCalls(t *testing.T) {
	t.Parallel()
	r := newRig(t, allowKey)
	in := r.byKey()
	good := map[string]string{"Origin": r.base, identity.HeaderCSRF: in.CSRF, "Sec-Fetch-Site": "same-origin"}
	for name, test := range map[string]struct {
		method string
		change map[string]string
		code   penstock.Code
	}{
		"good":                        {"POST", nil, ""},
		"an old browser":              {"POST", map[string]string{"Sec-Fetch-Site": ""}, ""},
		"another origin":              {"POST", map[string]string{"Origin": "https://evil.example"}, penstock.CodeScopeMissing},
		"an origin that begins alike": {"POST", map[string]string{"Origin": r.base + ".evil.example"}, penstock.CodeScopeMissing},
		"another port":                {"POST", map[string]string{"Origin": r.base + ":81"}, penstock.CodeScopeMissing},
		"no origin":                   {"POST", map[string]string{"Origin": ""}, penstock.CodeScopeMissing},
		"the origin null":             {"POST", map[string]string{"Origin": "null"}, penstock.CodeScopeMissing},
		"no token":                    {"DELETE", map[string]string{identity.HeaderCSRF: ""}, penstock.CodeScopeMissing},
		"another token":               {"PATCH", map[string]string{identity.HeaderCSRF: "5f1c0a6be2d94c8c9a7f3f0b2f6a4d11"}, penstock.CodeScopeMissing},
		"the cookie as the token":     {"PUT", map[string]string{identity.HeaderCSRF: in.Token}, penstock.CodeScopeMissing},
		"another site":                {"POST", map[string]string{"Sec-Fetch-Site": "cross-site"}, penstock.CodeScopeMissing},
		"another host of the site":    {"POST", map[string]string{"Sec-Fetch-Site": "same-site"}, penstock.CodeScopeMissing},
		"an unknown method":           {"PROPFIND", map[string]string{identity.HeaderCSRF: ""}, penstock.CodeScopeMissing},
		"a read":                      {"GET", map[string]string{"Origin": "", identity.HeaderCSRF: ""}, ""},
		"a read of another site":      {"GET", map[string]string{"Sec-Fetch-Site": "cross-site"}, penstock.CodeScopeMissing},
		"an address that was typed":   {"GET", map[string]string{"Sec-Fetch-Site": "none"}, ""},
	} {
		q := r.request(test.method, "/v1/jobs")
		for _, all := range []map[string]string{good, test.change} {
			for header, value := range all {
				q.Header.Set(header, value)
			}
		}
		_, present, err := r.Principal(q, "")
		if !present {
			t.Errorf("%s: not the call of a person", name)
		}
		r.wantCode(name, err, test.code)
	}
}

// TestTenantOfACall holds that a person acts in the tenants of their roles, and that other tenants look as if they did not exist.
func TestTenantOfACall(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.issuer.set(func(i *testIssuer) { i.claims["groups"] = []string{"search"} })
	r.signIn()
	if p, err := r.principal(in("acme")); err != nil || p.Tenant.ID != "acme" || roles(p.Roles) != "developer" || p.Key != "ada@example.com" {
		t.Errorf("%+v, %v", p, err)
	}
	_, stranger := r.principal(in("umbra"))
	_, unknown := r.principal(in("nobody"))
	r.wantCode("a tenant of others", stranger, penstock.CodeNotFound)
	if stranger.Error() != unknown.Error() {
		t.Errorf("%q differs from %q", stranger, unknown)
	}
	if p, err := r.principal(); err != nil || len(p.Roles) != 0 || p.Tenant.ID != "" {
		t.Errorf("without a tenant: %+v, %v", p, err)
	}
	me, err := r.Me(r.request("GET", "/v1/me"))
	if err != nil || len(me.Tenants) != 1 || me.Tenants[0].ID != "acme" {
		t.Errorf("%+v, %v", me, err)
	}
}

// TestLinkWorksOnce holds that of many calls with one link, one signs in, and none after its time.
func TestLinkWorksOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	token, err := r.NewLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var good atomic.Int64
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			if _, err := r.SignInByLink(r.request("POST", "/auth/link"), token); err == nil {
				good.Add(1)
			} else if penstock.ErrorCode(err) != penstock.CodeInvalidKey {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if good.Load() != 1 {
		t.Errorf("one link signed in %d times", good.Load())
	}
	_, err = r.SignInByLink(r.request("POST", "/auth/link"), "pss_unknown")
	r.wantCode("an unknown link", err, penstock.CodeInvalidKey)
	if err := r.store.AddLink(t.Context(), "aa", time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	_, err = r.store.SignIn(t.Context(), identity.NewSession{Link: "aa", TokenHash: "x"})
	r.wantCode("an expired link", err, penstock.CodeNotFound)
}

// TestGuessedSessions holds that an address that presents unknown sessions is slowed down, and known sessions there are not.
func TestGuessedSessions(t *testing.T) {
	t.Parallel()
	r := newRig(t, allowKey)
	r.byKey()
	if _, err := r.principal(); err != nil {
		t.Fatal(err)
	}
	mine := r.jar
	var last error
	for range 40 {
		r.jar = map[string]string{"penstock_session": "pss_guess"}
		_, last = r.principal()
	}
	r.wantCode("the fortieth guess", last, penstock.CodeRateLimited)
	r.jar = mine
	if _, err := r.principal(); err != nil {
		t.Errorf("a known session is refused: %v", err)
	}
}

// TestKeySignIn holds that a key signs in only if the configuration allows it, and only an operator's.
func TestKeySignIn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.SignInByKey(r.request("POST", "/auth/key"), adminSecret)
	r.wantCode("with issuers, by default", err, penstock.CodeScopeMissing)
	r = newRig(t, allowKey)
	_, err = r.SignInByKey(r.request("POST", "/auth/key"), "psk_wrong")
	r.wantCode("a wrong key", err, penstock.CodeInvalidKey)
	_, err = r.SignInByKey(r.request("POST", "/auth/key"), "")
	r.wantCode("no key", err, penstock.CodeInvalidRequest)
}

// TestKeyCallsCostNothing holds that a call with a key pays no allocation for people.
func TestKeyCallsCostNothing(t *testing.T) {
	r := newRig(t, allowKey)
	r.byKey()
	q, chain := r.request("GET", "/v1/jobs"), rest.Credentials{r.Service}
	n := testing.AllocsPerRun(100, func() {
		if _, present, _ := chain.Principal(q, "psk_any"); present {
			t.Error("the call is that of the person")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestBasePath holds that redirects stay below the path of the console.
func TestBasePath(t *testing.T) {
	t.Parallel()
	s := identity.New(identity.Deps{BasePath: "/llm", Clock: time.Now})
	for path, want := range map[string]string{"/": "/llm/", "/t/a": "/llm/t/a", "/llm/t/a": "/llm/t/a", "/llmx": "/llm/llmx"} {
		if got := s.At(path); got != want {
			t.Errorf("%s leads to %s, want %s", path, got, want)
		}
	}
}
