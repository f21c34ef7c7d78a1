package identity_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/directory"
	"penstock/internal/identity"
	"penstock/internal/identity/identitysql"
	"penstock/internal/store"
	"penstock/internal/store/schema"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/sqlite"
)

const adminSecret = "psk_7gq2xk9dmw4ztfv8hsb3rnj6cp"

// tenants are two tenants.
type tenants struct{}

func (tenants) Tenant(id penstock.TenantID) (penstock.Tenant, bool) {
	return penstock.Tenant{ID: id}, id == "acme" || id == "umbra"
}
func (tenants) TenantIDs() []penstock.TenantID { return []penstock.TenantID{"acme", "umbra"} }

// keys are the keys of operators: one, until it is revoked.
type keys struct{ revoked atomic.Bool }

func (k *keys) Authenticate(secret, _ string) (penstock.Principal, error) {
	if secret != adminSecret {
		return penstock.Principal{}, penstock.Errorf(penstock.CodeInvalidKey, "Unknown.")
	}
	return penstock.Principal{Kind: penstock.PrincipalOperator, Roles: []penstock.Role{penstock.RoleAdmin}}, nil
}
func (k *keys) Admits(hash store.KeyHash) bool {
	digest, _ := config.Digest(adminSecret)
	return hash == store.KeyHash(digest) && !k.revoked.Load()
}

// rig is a service over SQLite, and a browser.
type rig struct {
	*identity.Service
	t      *testing.T
	store  *identitysql.Store
	keys   *keys
	issuer *testIssuer
	ahead  atomic.Int64 // of the clock, in nanoseconds
	jar    map[string]string
	other  func() *identity.Service // another process on the same database
	base   string
}

func (r *rig) now() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) }

func newRig(t *testing.T, edit ...func(*config.SignIn)) *rig {
	t.Helper()
	engine, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "penstock.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	db, err := schema.Open(t.Context(), engine)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, store: identitysql.New(db), keys: &keys{}, issuer: newIssuer(t), jar: map[string]string{}, base: "http://console.test"}
	settings := config.SignIn{Issuers: map[string]config.Issuer{"corp": {
		URL: r.issuer.URL, ClientID: clientID, ClientSecret: config.NewSecret(clientSecret), Groups: []config.IssuerGroup{{Group: "platform", Role: penstock.RoleOperator}, {Group: "search", Role: penstock.RoleDeveloper, Tenant: "acme"}},
	}}}
	for _, e := range edit {
		e(&settings)
	}
	snapshot, err := config.NewSnapshot(config.File{Process: config.Process{SignIn: settings}})
	if err != nil {
		t.Fatal(err)
	}
	r.Service = r.process(db, snapshot.Process.SignIn)
	r.other = func() *identity.Service { return r.process(db, snapshot.Process.SignIn) }
	return r
}

// process is a process on the database.
func (r *rig) process(db *sqldb.DB, settings config.SignIn) *identity.Service {
	kept := identitysql.New(db)
	s := identity.New(identity.Deps{
		Settings: settings, Sessions: kept, People: kept, Members: identitysql.Members{Store: kept}, Audit: kept, Tenants: tenants{}, Keys: r.keys,
		Throttle: directory.NewThrottle(r.now), Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Clock: r.now,
	})
	if err := s.Refresh(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	return s
}

// request is a call of the browser, with its cookies.
func (r *rig) request(method, path string) *http.Request {
	q := httptest.NewRequestWithContext(r.t.Context(), method, r.base+path, nil)
	for name, value := range r.jar {
		q.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	return q
}

// take stores the cookies of an answer as a browser does.
func (r *rig) take(w *httptest.ResponseRecorder) {
	for _, c := range w.Result().Cookies() {
		if c.MaxAge < 0 {
			delete(r.jar, c.Name)
		} else {
			r.jar[c.Name] = c.Value
		}
	}
}

// login begins a sign-in, and returns the query with which the issuer answers.
func (r *rig) login(returnTo string) url.Values {
	r.t.Helper()
	w := httptest.NewRecorder()
	at, err := r.Login(w, r.request("GET", "/auth/login"), "corp", returnTo)
	if err != nil {
		r.t.Fatal(err)
	}
	r.take(w)
	return r.issuer.consent(at)
}

// callback finishes a sign-in.
func (r *rig) callback(q url.Values) (identity.SignedIn, string, error) {
	w := httptest.NewRecorder()
	request := r.request("GET", "/auth/callback?"+q.Encode())
	in, to, err := r.Callback(w, request)
	if err == nil {
		r.SetCookie(w, request, in)
	}
	r.take(w)
	return in, to, err
}

// signIn signs the person of the issuer in.
func (r *rig) signIn() identity.SignedIn {
	r.t.Helper()
	in, _, err := r.callback(r.login("/"))
	if err != nil {
		r.t.Fatal(err)
	}
	return in
}

// principal is who the browser is for the server.
func (r *rig) principal(edit ...func(*http.Request)) (penstock.Principal, error) {
	q := r.request("GET", "/v1/jobs")
	for _, e := range edit {
		e(q)
	}
	p, present, err := r.Principal(q, "")
	if err == nil && !present {
		return p, penstock.Errorf(penstock.CodeInvalidKey, "no session")
	}
	return p, err
}

func in(tenant string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("X-Penstock-Tenant", tenant) }
}

func (r *rig) wantCode(what string, err error, code penstock.Code) {
	r.t.Helper()
	if penstock.ErrorCode(err) != code {
		r.t.Errorf("%s: %v, want %s", what, err, code)
	}
}

func roles(all []penstock.Role) string {
	words := make([]string, len(all))
	for i, one := range all {
		words[i] = string(one)
	}
	return strings.Join(words, " ")
}
