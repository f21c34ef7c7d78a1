package service

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/directory"
	"penstock/internal/identity/certificate/certtest"
	"penstock/internal/store"
)

const (
	acmeKey  = "psk_acme_7gq2xk9dmw4ztfv8hsb3rnj6cp"
	otherKey = "psk_other_7gq2xk9dmw4ztfv8hsb3rnj6cp"
	audience = "penstock"
)

// bed authenticates with keys, tokens and certificates of the tenants acme and other.
type bed struct {
	*Callers
	t      testing.TB
	key    *ecdsa.PrivateKey
	issuer string
	ca     *certtest.Authority
	live   *config.Live
}

func newBed(t testing.TB) *bed {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "1"}}})
	}))
	t.Cleanup(server.Close)
	b := &bed{t: t, key: key, issuer: "https://login.example.com", ca: certtest.New(t, "ca")}
	mtls := config.TLS{CertFile: "c", KeyFile: "k", ClientCAFile: "ca"}
	tenant := func(secret string) config.TenantConfig {
		return config.TenantConfig{Keys: []config.KeyConfig{{Name: "app", Secret: config.NewSecret(secret), Limits: config.RateLimits{Concurrency: 1}}}}
	}
	s, err := config.NewSnapshot(config.File{
		Process: config.Process{TLS: mtls, Admin: config.Admin{TLS: mtls}},
		Tenants: map[string]config.TenantConfig{"acme": tenant(acmeKey), "other": tenant(otherKey)},
		ClientTokens: map[string]config.TokenIssuer{"corp": {Issuer: b.issuer, JWKSURL: server.URL, Audiences: []string{audience}, TenantClaim: "tenant",
			Tenants: map[string]string{"acme": "acme", "other": "other"}, Limits: config.RateLimits{Concurrency: 2}}},
		ClientCertificates: config.ClientCertificates{Callers: []config.CertificateCaller{
			{CommonName: "worker", Tenant: "acme", Limits: config.RateLimits{Concurrency: 3}}, {CommonName: "deploy", Roles: []penstock.Role{penstock.RoleOperator}},
		}, DeniedSerials: []string{"bad"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.live = config.NewLive(s)
	log := slog.New(slog.DiscardHandler)
	b.Callers = New(Deps{Config: b.live, Directory: directory.New(directory.Deps{Config: b.live, Source: noStore{}, Log: log, Clock: time.Now}),
		Throttle: directory.NewThrottle(time.Now), Log: log, Clock: time.Now})
	return b
}

func (b *bed) token(tenant, subject string) string {
	b.t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: b.key, KeyID: "1"}}, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(map[string]any{"iss": b.issuer, "aud": audience, "sub": subject, "tenant": tenant, "scope": "inference",
		"exp": time.Now().Add(time.Hour).Unix()}).Serialize()
	if err != nil {
		b.t.Fatal(err)
	}
	return text
}

// call is a call from an address, over a connection with a certificate of a common name; "" for none.
func (b *bed) call(name string, serial int64) *http.Request {
	r := httptest.NewRequestWithContext(b.t.Context(), http.MethodGet, "/v1/jobs", nil)
	r.RemoteAddr = "192.0.2.1:1234"
	if name != "" {
		leaf := b.ca.Client(certtest.Leaf{CommonName: name, Serial: serial}).Leaf
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}, VerifiedChains: [][]*x509.Certificate{{leaf}}}
	}
	return r
}

// Every combination of credentials has one outcome.
func TestCredentialsTogether(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	acme, other := b.token("acme", "w-1"), b.token("other", "w-1")
	const keyDecides, refused = "the key decides", "refused"
	for _, c := range []struct {
		what, certificate, bearer, want string
	}{
		{"nothing", "", "", keyDecides},
		{"a key", "", acmeKey, keyDecides},
		{"a text that is no key", "", "x.y", keyDecides},
		{"a token", "", acme, "acme jwt:corp/w-1"},
		{"a forged token", "", acme[:len(acme)-4] + "AAAA", refused},
		{"a certificate", "worker", "", "acme cert:CN=worker"},
		{"a certificate without a mapping", "nobody", "", refused},
		{"a certificate of an operator", "deploy", "", refused},
		{"a certificate and a key of its tenant", "worker", acmeKey, "acme app"},
		{"a certificate and a key of another tenant", "worker", otherKey, refused},
		{"a certificate and a wrong key", "worker", "psk_wrong_7gq2xk9dmw4ztfv8hsb3rnj6cp", refused},
		{"a certificate and a token of its tenant", "worker", acme, "acme jwt:corp/w-1"},
		{"a certificate and a token of another tenant", "worker", other, refused},
		{"a certificate without a mapping, and a key", "nobody", otherKey, keyDecides},
		{"a certificate without a mapping, and a token", "nobody", other, "other jwt:corp/w-1"},
	} {
		p, present, err := b.Principal(b.call(c.certificate, 0), c.bearer)
		got := fmt.Sprintf("%s %s", p.Tenant.ID, p.Key)
		switch {
		case !present && err == nil:
			got = keyDecides
		case err != nil && penstock.ErrorCode(err) == penstock.CodeInvalidKey:
			got = refused
		}
		if got != c.want || err != nil && (p.Tenant.ID != "" || p.Key != "") {
			t.Errorf("%s: %q, %v; want %q", c.what, got, err, c.want)
		}
	}
	for _, bearer := range []string{"", acmeKey, acme} {
		if _, present, err := b.Principal(b.call("worker", 0xbad), bearer); !present || penstock.ErrorCode(err) != penstock.CodeInvalidKey {
			t.Errorf("a denied certificate with %.8q: %v", bearer, err)
		}
	}
	for name, want := range map[string]int{"app": 1, "jwt:corp/x": 2, "cert:CN=worker": 3} {
		if l := b.Limits("acme", name); l.Concurrency != want {
			t.Errorf("limits of %s: %+v", name, l)
		}
	}
}

// The admin listener takes roles from certificates, and nothing from tokens.
func TestOperators(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	o := b.Operators()
	p, present, err := o.Principal(b.call("deploy", 0), "")
	if !present || err != nil || p.Kind != penstock.PrincipalOperator || !p.Has(penstock.RoleOperator) {
		t.Errorf("%+v, %v, %v", p, present, err)
	}
	for what, c := range map[string]struct {
		certificate, bearer string
		present             bool
	}{
		"no credentials": {"", "", false}, "a token": {"", b.token("acme", "w"), false}, "a caller's certificate": {"worker", "", true}, "a certificate and a key": {"deploy", acmeKey, false},
	} {
		if p, present, err := o.Principal(b.call(c.certificate, 0), c.bearer); present != c.present || present && err == nil || len(p.Roles) > 0 {
			t.Errorf("%s: %+v, %v, %v", what, p, present, err)
		}
	}
	if _, _, err := o.Principal(b.call("deploy", 0xbad), acmeKey); err == nil {
		t.Error("a key makes up for a denied certificate")
	}
}

// Forged tokens are throttled like wrong keys; valid tokens of the same address still work.
func TestForgedTokensAreThrottled(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	good := b.token("acme", "w")
	if _, _, err := b.Principal(b.call("", 0), good); err != nil {
		t.Fatal(err)
	}
	codes := map[penstock.Code]int{}
	for i := range 3 * directory.BadKeyBurst {
		forged := fmt.Sprintf("%s%04d", good[:len(good)-4], i)
		_, _, err := b.Principal(b.call("", 0), forged)
		codes[penstock.ErrorCode(err)]++
	}
	if codes[penstock.CodeInvalidKey] < directory.BadKeyBurst || codes[penstock.CodeRateLimited] < directory.BadKeyBurst {
		t.Errorf("codes: %v", codes)
	}
	if _, _, err := b.Principal(b.call("", 0), good); err != nil {
		t.Errorf("the valid token: %v", err)
	}
}

// noStore has no tenants and keys.
type noStore struct{}

func (noStore) DirectoryChanges(context.Context, store.DirectoryMark, int) (store.DirectoryChanges, error) {
	return store.DirectoryChanges{}, nil
}

func (noStore) TouchKeys(context.Context, []store.KeyUse) error { return nil }

// openCall notes why it was ended.
type openCall struct{ ended chan error }

func (o *openCall) End(why error) { o.ended <- why }

// Open calls end when the configuration takes their credential away.
func TestOpenCallsEnd(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	calls := map[string]*openCall{}
	for what, c := range map[string]struct{ certificate, bearer string }{
		"a token": {"", b.token("acme", "w")}, "a certificate": {"worker", ""}, "a key with a certificate": {"worker", acmeKey}, "a key": {"", otherKey},
	} {
		r := b.call(c.certificate, 0)
		if c.bearer != "" {
			r.Header.Set("Authorization", "Bearer "+c.bearer)
		}
		calls[what] = &openCall{make(chan error, 1)}
		b.Watch(calls[what], r)
	}
	closed := &openCall{make(chan error, 1)}
	b.Watch(closed, b.call("worker", 0))
	b.Unwatch(closed)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Directory.Run(ctx) }()
	defer func() { cancel(); <-done }()
	check := func(want map[string]bool) {
		t.Helper()
		for what := range want {
			select {
			case why := <-calls[what].ended:
				if penstock.ErrorCode(why) != penstock.CodeInvalidKey {
					t.Errorf("%s ended: %v", what, why)
				}
			case <-time.After(10 * time.Second):
				t.Errorf("%s did not end", what)
			}
		}
		for what, c := range calls {
			if len(c.ended) > 0 {
				t.Errorf("%s ended: %v", what, <-c.ended)
			}
		}
	}
	check(nil)
	s, err := config.NewSnapshot(config.File{Tenants: map[string]config.TenantConfig{
		"acme":  {Keys: []config.KeyConfig{{Name: "app", Secret: config.NewSecret(acmeKey)}}},
		"other": {Keys: []config.KeyConfig{{Name: "app", Secret: config.NewSecret(otherKey)}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	b.live.Swap(s) // no issuers and no mappings any more
	check(map[string]bool{"a token": true, "a certificate": true, "a key with a certificate": true})
	if len(closed.ended) > 0 {
		t.Error("a closed call was ended")
	}
}

// BenchmarkPrincipal compares a call with a key and a call with a cached token.
func BenchmarkPrincipal(b *testing.B) {
	bed := newBed(b)
	token := bed.token("acme", "w")
	r := bed.call("", 0)
	certified := bed.call("worker", 0)
	key := func() error {
		if _, present, err := bed.Principal(r, acmeKey); present || err != nil {
			return fmt.Errorf("%v %w", present, err)
		}
		_, err := bed.Throttle.Guard(r.RemoteAddr, acmeKey, func() (penstock.Principal, error) { return bed.Directory.Principal(acmeKey) })
		return err
	}
	for name, call := range map[string]func() error{
		"key":         key,
		"token":       func() error { _, _, err := bed.Principal(r, token); return err },
		"certificate": func() error { _, _, err := bed.Principal(certified, ""); return err },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
