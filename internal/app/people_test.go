package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"penstock"
	"penstock/internal/admin"
	"penstock/internal/api"
	"penstock/internal/config"
	"penstock/internal/identity"
	"penstock/internal/rest"
	"penstock/internal/store"
)

const (
	peopleAdminKey = "psk_admin_7gq2xk9dmw4ztfv8hsb3rnj6cp"
	home           = "http://console.test"
)

// listening is the handlers of both listeners of an app, with the tenants search and other.
type listening struct {
	t             *testing.T
	app           *app
	public, admin http.Handler
	keys          map[string]string // by scope, of the tenant search
	ids           penstock.IDs
	calls         int
}

func newConsole(t *testing.T) *listening {
	t.Helper()
	c := &listening{t: t, keys: map[string]string{}}
	file := config.File{
		Process:   config.Process{Data: t.TempDir(), Log: config.Log{Level: "error"}, Admin: config.Admin{Key: config.NewSecret(peopleAdminKey)}},
		Providers: map[string]config.ProviderConfig{"up": {Kind: config.KindOpenAI, BaseURL: "http://127.0.0.1:1"}},
		Targets:   map[string]config.TargetConfig{"main": {Provider: "up", UpstreamModel: "m", Price: config.Price{Input: "1", Output: "1"}}},
		Models:    map[string]config.ModelConfig{"fast": {Targets: []string{"main"}}},
		Tenants:   map[string]config.TenantConfig{"other": {}},
	}
	var keys []config.KeyConfig
	for i, scope := range penstock.AllScopes {
		c.keys[string(scope)] = fmt.Sprintf("psk_%d_7gq2xk9dmw4ztfv8hsb3rnj6cp", i)
		keys = append(keys, config.KeyConfig{Name: fmt.Sprintf("key-%d", i), Secret: config.NewSecret(c.keys[string(scope)]), Scopes: []penstock.Scope{scope}})
	}
	file.Tenants["search"] = config.TenantConfig{Keys: keys}
	snapshot, err := config.NewSnapshot(file)
	if err != nil {
		t.Fatal(err)
	}
	c.app = &app{Options: Options{Config: snapshot, Role: RoleAll, Log: io.Discard}, live: config.NewLive(snapshot)}
	if err := c.app.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	limited := make(chan error, 1)
	go func() { limited <- c.app.scopes.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-limited; err != nil {
			t.Error(err)
		}
		if err := c.app.close(); err != nil {
			t.Error(err)
		}
	})
	c.public, c.admin = c.app.admin.ForPeople(c.app.api.Handler()), c.app.admin.Handler()
	return c
}

// person is a signed-in person.
type person struct{ name, token, csrf string }

// signIn makes a session of a person with a role: for all tenants, or in one.
func (c *listening) signIn(role penstock.Role, tenant penstock.TenantID) person {
	c.t.Helper()
	now := time.Now()
	p := person{name: string(role) + "." + string(tenant), token: "pss_" + string(role) + "_" + string(tenant)}
	hash := sha256.Sum256([]byte(p.token))
	n := identity.NewSession{TokenHash: hex.EncodeToString(hash[:]), Session: identity.Session{
		ID: c.ids.New(now), Person: identity.Person{ID: c.ids.New(now), Issuer: "corp", Subject: p.name, Name: p.name, Email: p.name + "@example.com"}, CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(time.Hour),
	}}
	if role != "" && tenant == "" {
		n.Roles = []penstock.Role{role}
	}
	session, err := c.app.people.Sessions.SignIn(c.t.Context(), n)
	if err != nil {
		c.t.Fatal(err)
	}
	if role != "" && tenant != "" {
		if _, err := c.app.people.Grant(c.t.Context(), identity.Member{Person: session.Person.ID, Tenant: tenant, Role: role}, store.Condition{Actor: "test"}); err != nil {
			c.t.Fatal(err)
		}
	}
	me := c.call(c.public, http.MethodGet, "/v1/me", p.cookie)
	var view struct{ CSRF string }
	if err := json.Unmarshal(me.Body.Bytes(), &view); err != nil || view.CSRF == "" {
		c.t.Fatalf("%s: %s", p.name, me.Body)
	}
	p.csrf = view.CSRF
	return p
}

// cookie makes a call that of the person, without the proof that a page made it.
func (p person) cookie(r *http.Request) {
	r.AddCookie(&http.Cookie{Name: "penstock_session", Value: p.token})
}

// page makes a call that of a page which the person opened.
func (p person) page(r *http.Request) {
	p.cookie(r)
	r.Header.Set("Origin", home)
	r.Header.Set(identity.HeaderCSRF, p.csrf)
}

func in(tenant string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(rest.HeaderTenant, tenant) }
}

func withKey(key string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+key) }
}

func body(text string) func(*http.Request) {
	return func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	}
}

func (c *listening) call(h http.Handler, method, path string, edit ...func(*http.Request)) *httptest.ResponseRecorder {
	ctx, leave := context.WithCancel(c.t.Context())
	defer leave()
	r := httptest.NewRequestWithContext(ctx, method, home+path, strings.NewReader("{}"))
	if h == c.admin {
		r.Host = "127.0.0.1:9090"
	}
	c.calls++
	r.RemoteAddr = fmt.Sprintf("10.0.%d.%d:1", c.calls/256%256, c.calls%256) // a throttle counts wrong keys by address
	for _, e := range edit {
		e(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(impatient{w, leave}, r)
	return w
}

// impatient is a caller that leaves when an answer has begun, so that live streams end.
type impatient struct {
	*httptest.ResponseRecorder
	leave func()
}

func (i impatient) Flush() {
	i.ResponseRecorder.Flush()
	i.leave()
}

// example is a path of a route, with ids that do not exist.
func example(rt *rest.Route) string {
	path := rt.Path
	for _, r := range [][2]string{{"{kind}", "tenant"}, {"{name...}", "search"}, {"{model...}", "fast"}, {"{model}", "fast"}, {"{tenant}", "nobody"}, {"{object}", "x"}, {"{item}", "x"}, {"{key}", "x"}, {"{member}", "x"}, {"{session}", "x"}, {"{id}", "x"}} {
		path = strings.ReplaceAll(path, r[0], r[1])
	}
	return path
}

// outcome is what the caller may conclude: allowed, or the reason why not.
func outcome(w *httptest.ResponseRecorder) string {
	switch w.Code {
	case http.StatusUnauthorized:
		return unauthenticated
	case http.StatusForbidden:
		return forbidden
	case http.StatusNotFound:
		if bytes.Contains(w.Body.Bytes(), []byte("There is no endpoint")) {
			return noRoute
		}
		if bytes.Contains(w.Body.Bytes(), []byte("There is no tenant of this name that you have a role in")) {
			return noTenant
		}
	}
	return allowed
}

// TestEveryRouteByEveryRole calls every route of both tables on both listeners: as a person with each role for all tenants, in
// the tenant and in another tenant, as a key with each scope, as the operator, and as nobody. The expected answers come from
// the rows.
func TestEveryRouteByEveryRole(t *testing.T) {
	t.Parallel()
	m := &matrix{listening: newConsole(t), everywhere: map[penstock.Role]person{}, here: map[penstock.Role]person{}, elsewhere: map[penstock.Role]person{}}
	for _, role := range penstock.Roles {
		m.everywhere[role], m.here[role], m.elsewhere[role] = m.signIn(role, ""), m.signIn(role, "search"), m.signIn(role, "other")
	}
	m.nobody = m.signIn("", "")
	for _, surface := range []rest.Surface{api.Surface(), admin.Surface()} {
		for i := range surface.Routes {
			if rt := &surface.Routes[i]; !rt.Open && !rt.Hidden && rt.Without == nil {
				m.asPeople(rt)
				m.asKeys(rt)
			}
		}
	}
}

// matrix calls routes as every kind of caller.
type matrix struct {
	*listening
	everywhere, here, elsewhere map[penstock.Role]person
	nobody                      person
}

// The answers that the rows let one expect.
const (
	allowed, forbidden, unauthenticated = "allowed", "forbidden", "unauthenticated"
	noRoute, noTenant                   = "no route", "no tenant"
)

// check calls a route.
func (m *matrix) check(rt *rest.Route, who string, h http.Handler, want string, edit ...func(*http.Request)) {
	m.t.Helper()
	w := m.call(h, rt.Method, example(rt), edit...)
	if got := outcome(w); got != want {
		m.t.Errorf("%s %s as %s: %s, want %s: %s", rt.Method, rt.Path, who, got, want, w.Body)
	}
}

// either is one of two words.
func either(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// asPeople calls a route with every role, and with sessions that have none or do not exist.
func (m *matrix) asPeople(rt *rest.Route) {
	m.t.Helper()
	operators := len(rt.Roles) > 0
	for _, role := range penstock.Roles {
		wanted := rt.ForPeople()
		may := either(wanted == nil || penstock.HasRole([]penstock.Role{role}, wanted...), allowed, forbidden)
		m.check(rt, string(role)+" everywhere", m.public, may, m.everywhere[role].page, in("search"))
		m.check(rt, string(role)+" in the tenant", m.public, either(operators, forbidden, may), m.here[role].page, in("search"))
		m.check(rt, string(role)+" in another tenant", m.public, noTenant, m.elsewhere[role].page, in("search"))
		if rt.TenantParam != "" {
			ask := func(r *http.Request) { r.URL.RawQuery = rt.TenantParam + "=search" }
			m.check(rt, string(role)+" about the tenant", m.public, may, m.here[role].page, ask)
			m.check(rt, string(role)+" about another tenant", m.public, forbidden, m.elsewhere[role].page, ask)
		}
		m.check(rt, string(role)+" on the admin listener", m.admin, either(operators, unauthenticated, noRoute), m.everywhere[role].page)
	}
	m.check(rt, "nobody with a session", m.public, either(rt.ForPeople() == nil, allowed, forbidden), m.nobody.page)
	m.check(rt, "nobody", m.public, either(operators, noRoute, unauthenticated))
	m.check(rt, "an old session", m.public, unauthenticated, person{token: "pss_unknown", csrf: "x"}.page)
}

// asKeys calls a route with a key of every scope, and with the admin key.
func (m *matrix) asKeys(rt *rest.Route) {
	m.t.Helper()
	operators := len(rt.Roles) > 0
	for _, scope := range penstock.AllScopes {
		key := withKey(m.keys[string(scope)])
		want := either(operators, noRoute, either(rt.Scope == "" || rt.Scope == scope, allowed, forbidden))
		m.check(rt, "key with "+string(scope), m.public, want, key)
		m.check(rt, "key beside an admin's cookie, with "+string(scope), m.public, want, key, m.everywhere[penstock.RoleAdmin].page, in("search"))
		m.check(rt, "key on the admin listener, with "+string(scope), m.admin, either(!operators, noRoute, either(scope == penstock.ScopeAdmin, allowed, forbidden)), key)
	}
	m.check(rt, "operator", m.admin, either(operators, allowed, noRoute), withKey(peopleAdminKey))
	m.check(rt, "operator on the public listener", m.public, either(operators, noRoute, unauthenticated), withKey(peopleAdminKey))
}

// TestAdminRoutesOnThePublicListener holds that metrics, profiles and health of the admin listener are not there for people, and
// that a change by a person needs the proof of a page.
func TestAdminRoutesOnThePublicListener(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	boss := c.signIn(penstock.RoleAdmin, "")
	for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/cmdline", "/admin/v1", "/admin/v1/../../metrics"} {
		if w := c.call(c.public, "GET", path, boss.page); w.Code == http.StatusOK {
			t.Errorf("%s answers %d", path, w.Code)
		}
	}
	if w := c.call(c.public, "POST", "/admin/v1/tenants", boss.cookie, body(`{"id":"new"}`)); w.Code != http.StatusForbidden {
		t.Errorf("a forged call answers %d: %s", w.Code, w.Body)
	}
	w := c.call(c.public, "POST", "/admin/v1/tenants?actor=somebody", boss.page, body(`{"id":"new"}`))
	if w.Code != http.StatusCreated {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	if w := c.call(c.public, "GET", "/admin/v1/audit?tenant=new", boss.page); !strings.Contains(w.Body.String(), `"actor":"admin. <admin.@example.com> (session ses_`) {
		t.Errorf("the audit has %s", w.Body)
	}
}

// TestSignInPages holds what the routes of sign-ins answer to pages of this server and to others.
func TestSignInPages(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	origin := func(value string) func(*http.Request) { return func(r *http.Request) { r.Header.Set("Origin", value) } }
	key := body(`{"key":"` + peopleAdminKey + `"}`)
	for _, from := range []string{"", "https://evil.example", "null"} {
		if w := c.call(c.public, "POST", "/auth/key", origin(from), key); w.Code != http.StatusForbidden || len(w.Result().Cookies()) != 0 {
			t.Errorf("from %q: %d %s", from, w.Code, w.Body)
		}
	}
	if w := c.call(c.public, "POST", "/auth/key", origin(home), body(`{"key":"`+c.keys["inference"]+`"}`)); w.Code != http.StatusForbidden {
		t.Errorf("a key without the scope admin: %d %s", w.Code, w.Body)
	}
	w := c.call(c.public, "POST", "/auth/key", origin(home), key)
	cookies := w.Result().Cookies()
	if w.Code != http.StatusOK || len(cookies) != 1 || !cookies[0].HttpOnly || w.Header().Get("Cache-Control") != "no-store" || strings.Contains(w.Body.String(), cookies[0].Value) {
		t.Fatalf("%d %v %s", w.Code, cookies, w.Body)
	}
	boss := person{token: cookies[0].Value}
	if w := c.call(c.public, "POST", "/auth/logout", boss.cookie, origin(home)); w.Code != http.StatusForbidden {
		t.Errorf("another page signs out: %d", w.Code)
	}
	var view struct{ CSRF string }
	if err := json.Unmarshal(w.Body.Bytes(), &view); err != nil {
		t.Fatal(err)
	}
	boss.csrf = view.CSRF
	if w := c.call(c.public, "POST", "/auth/logout", boss.page); w.Code != http.StatusOK || w.Result().Cookies()[0].MaxAge >= 0 {
		t.Errorf("sign out: %d %v", w.Code, w.Result().Cookies())
	}
	if w := c.call(c.public, "GET", "/v1/me", boss.cookie); w.Code != http.StatusUnauthorized {
		t.Errorf("afterwards: %d", w.Code)
	}
	if w := c.call(c.public, "POST", "/auth/link", origin(home), body(`{"token":"pss_guess"}`)); w.Code != http.StatusUnauthorized {
		t.Errorf("a guessed link: %d", w.Code)
	}
	if w := c.call(c.public, "GET", "/auth/login?issuer=nobody", func(r *http.Request) { r.Header.Set("Accept", "text/html") }); w.Code != http.StatusSeeOther || !strings.HasPrefix(w.Header().Get("Location"), "/sign-in?error=not_found") {
		t.Errorf("an unknown issuer: %d %v", w.Code, w.Header())
	}
	if w := c.call(c.public, "GET", "/auth/callback?state=a&code=b"); w.Code != http.StatusUnauthorized {
		t.Errorf("a callback out of nowhere: %d", w.Code)
	}
}

// TestRevealedPayloads holds that people see payloads only when they ask and may, and that the audit has each time.
func TestRevealedPayloads(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	developer, viewer := c.signIn(penstock.RoleDeveloper, "search"), c.signIn(penstock.RoleViewer, "search")
	w := c.call(c.public, "POST", "/v1/jobs", developer.page, in("search"), body(`{"model":"fast","input":"Hi"}`))
	var job struct{ ID string }
	if err := json.Unmarshal(w.Body.Bytes(), &job); err != nil || w.Code != http.StatusAccepted {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	item := "item_" + string(penstock.ItemID(penstock.ID(strings.TrimPrefix(job.ID, "job_")), 0))
	for path, codes := range map[string][2]int{ // of the viewer and of the developer
		"/v1/jobs/" + job.ID:                                {http.StatusOK, http.StatusOK},
		"/v1/jobs/" + job.ID + "?reveal=true":               {http.StatusForbidden, http.StatusOK},
		"/v1/items/" + item:                                 {http.StatusOK, http.StatusOK},
		"/v1/items/" + item + "?reveal=true":                {http.StatusForbidden, http.StatusOK},
		"/v1/jobs/" + job.ID + "/results":                   {http.StatusForbidden, http.StatusOK},
		"/v1/files/file_01KXB3M9SGQ0VJ8ZC3X1N5T7RE/content": {http.StatusForbidden, http.StatusNotFound},
	} {
		for n, p := range []person{viewer, developer} {
			if w := c.call(c.public, "GET", path, p.page, in("search")); w.Code != codes[n] {
				t.Errorf("%s as %s: %d %s", path, p.name, w.Code, w.Body)
			}
		}
	}
	entries, err := c.app.store.AuditEntries(t.Context(), "search", store.AuditPage{Limit: 50})
	if err != nil {
		t.Fatal(err)
	}
	var revealed []string
	for _, e := range entries {
		if e.Action == identity.ActionReveal {
			revealed = append(revealed, e.Subject)
			if !strings.HasPrefix(e.Actor, "developer.search <developer.search@example.com> (session ses_") {
				t.Errorf("the actor is %q", e.Actor)
			}
		}
	}
	slices.Sort(revealed)
	if want := []string{"file_01KXB3M9SGQ0VJ8ZC3X1N5T7RE", item, job.ID, job.ID}; !slices.Equal(revealed, want) {
		t.Errorf("the audit has %v, want %v", revealed, want)
	}
}

// TestOwnSessions holds that a person sees and ends their own sessions, and no others.
func TestOwnSessions(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	ada, boss := c.signIn(penstock.RoleViewer, "search"), c.signIn(penstock.RoleAdmin, "")
	ids := func(who person) []string {
		w := c.call(c.public, "GET", "/v1/me/sessions", who.page)
		var page struct{ Data []struct{ ID string } }
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%d, %v: %s", w.Code, err, w.Body)
		}
		all := make([]string, len(page.Data))
		for i, s := range page.Data {
			all[i] = s.ID
		}
		return all
	}
	own, others := ids(ada), ids(boss)
	if len(own) != 1 || len(others) != 1 || own[0] == others[0] {
		t.Fatalf("the sessions are %v and %v", own, others)
	}
	if w := c.call(c.public, "DELETE", "/v1/me/sessions/"+others[0], ada.page); w.Code != http.StatusNotFound {
		t.Errorf("ending another person's session answers %d: %s", w.Code, w.Body)
	}
	if w := c.call(c.public, "DELETE", "/v1/me/sessions/"+own[0], ada.cookie); w.Code != http.StatusForbidden {
		t.Errorf("a forged call answers %d: %s", w.Code, w.Body)
	}
	if w := c.call(c.public, "DELETE", "/v1/me/sessions/"+own[0], ada.page); w.Code != http.StatusOK {
		t.Errorf("ending the own session answers %d: %s", w.Code, w.Body)
	}
	if w := c.call(c.public, "GET", "/v1/me", ada.cookie); w.Code != http.StatusUnauthorized {
		t.Errorf("afterwards: %d", w.Code)
	}
}
