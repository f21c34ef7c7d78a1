package token

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"penstock"
	"penstock/internal/config"
)

// issuerServer is an issuer of tokens with real keys.
type issuerServer struct {
	*httptest.Server
	t       testing.TB
	fetches atomic.Int64 // of its keys

	mu     sync.Mutex
	keys   []jose.JSONWebKey
	answer http.HandlerFunc // in place of its keys; nil for the keys
}

func newIssuer(t testing.TB, keys ...jose.JSONWebKey) *issuerServer {
	s := &issuerServer{t: t, keys: keys}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": s.URL, "jwks_uri": s.URL + "/keys"})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, r *http.Request) {
		s.fetches.Add(1)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.answer != nil {
			s.answer(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(publicOf(s.keys))
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func publicOf(keys []jose.JSONWebKey) jose.JSONWebKeySet {
	var set jose.JSONWebKeySet
	for _, k := range keys {
		set.Keys = append(set.Keys, k.Public())
	}
	return set
}

// publish replaces the keys.
func (s *issuerServer) publish(keys ...jose.JSONWebKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = keys
}

// fail makes the issuer answer its keys in another way; nil for as usual.
func (s *issuerServer) fail(answer http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// The keys of all tests: making an RSA key takes long.
var testKeys = sync.OnceValue(func() map[string]jose.JSONWebKey {
	keys := map[string]jose.JSONWebKey{}
	add := func(id string, key crypto.Signer, err error) {
		if err != nil {
			panic(err)
		}
		keys[id] = jose.JSONWebKey{Key: key, KeyID: id}
	}
	for _, id := range []string{"rsa", "rsa-other"} {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		add(id, key, err)
	}
	for id, curve := range map[string]elliptic.Curve{"p256": elliptic.P256(), "p256-other": elliptic.P256(), "p384": elliptic.P384(), "p521": elliptic.P521()} {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		add(id, key, err)
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	add("ed", key, err)
	return keys
})

// testAlgorithms are algorithms with the keys that sign with them.
var testAlgorithms = map[string]string{
	"RS256": "rsa", "RS384": "rsa", "RS512": "rsa", "PS256": "rsa", "PS384": "rsa", "PS512": "rsa", "ES256": "p256", "ES384": "p384", "ES512": "p521", "EdDSA": "ed",
}

// sign signs claims with a key.
func sign(t testing.TB, key jose.JSONWebKey, algorithm string, c map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(algorithm), Key: key}, (&jose.SignerOptions{}).WithType("at+jwt"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(c).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// tenantTable are tenants that may call.
type tenantTable map[penstock.TenantID]bool

func (t tenantTable) Tenant(id penstock.TenantID) (penstock.Tenant, bool) {
	return penstock.Tenant{ID: id}, t[id]
}

// bed is a verifier with one issuer.
type bed struct {
	*Verifier
	t      testing.TB
	issuer *issuerServer
	live   *config.Live
	tenant tenantTable
	mu     sync.Mutex
	at     time.Time
}

var testStart = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

const testAudience = "https://llm.example.com"

func newBed(t testing.TB, change func(*config.TokenIssuer)) *bed {
	t.Helper()
	var all []jose.JSONWebKey
	for _, id := range []string{"rsa", "p256", "p384", "p521", "ed"} {
		all = append(all, testKeys()[id])
	}
	b := &bed{t: t, issuer: newIssuer(t, all...), tenant: tenantTable{"acme": true, "other": true}, at: testStart}
	b.live = config.NewLive(b.snapshot(change))
	b.Verifier = New(Deps{Config: b.live, Tenants: b.tenant, Log: slog.New(slog.DiscardHandler), Clock: b.now})
	return b
}

func (b *bed) snapshot(change func(*config.TokenIssuer)) *config.Snapshot {
	b.t.Helper()
	i := config.TokenIssuer{Issuer: b.issuer.URL, Audiences: []string{testAudience}, Tenant: "acme"}
	if change != nil {
		change(&i)
	}
	s, err := config.NewSnapshot(config.File{ClientTokens: map[string]config.TokenIssuer{"corp": i}})
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b *bed) now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.at
}

func (b *bed) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at = b.at.Add(d)
}

// claims are those of a good token; the changes replace some, and nil removes one.
func (b *bed) claims(changes map[string]any) map[string]any {
	c := map[string]any{"iss": b.issuer.URL, "aud": testAudience, "sub": "worker-7", "exp": b.now().Add(5 * time.Minute).Unix(),
		"iat": b.now().Unix(), "nbf": b.now().Unix(), "scope": "inference jobs:read"}
	for name, value := range changes {
		if value == nil {
			delete(c, name)
		} else {
			c[name] = value
		}
	}
	return c
}

// token is a good token with changes.
func (b *bed) token(changes map[string]any) string {
	b.t.Helper()
	return sign(b.t, testKeys()["p256"], "ES256", b.claims(changes))
}

func (b *bed) code(token string) penstock.Code {
	b.t.Helper()
	p, err := b.Principal(b.t.Context(), token)
	if err == nil {
		if p.Tenant.ID == "" || p.Key == "" {
			b.t.Errorf("accepted without a tenant or a name: %+v", p)
		}
		return ""
	}
	if p.Tenant.ID != "" || p.Key != "" || len(p.Scopes) > 0 {
		b.t.Errorf("refused with a principal: %+v", p)
	}
	return penstock.ErrorCode(err)
}

func (b *bed) accepted(what, token string) {
	b.t.Helper()
	if _, err := b.Principal(b.t.Context(), token); err != nil {
		b.t.Errorf("%s: %v", what, err)
	}
}

func (b *bed) refused(what, token string, want penstock.Code) {
	b.t.Helper()
	if got := b.code(token); got != want {
		b.t.Errorf("%s: code %q, want %q", what, got, want)
	}
}
