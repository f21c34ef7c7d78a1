package token

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"

	"penstock"
	"penstock/internal/config"
)

// A token of each algorithm is accepted, and names its principal.
func TestTokensAreAccepted(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(i *config.TokenIssuer) {
		i.Limits = config.RateLimits{Concurrency: 3}
		i.SubjectLimits = map[string]config.RateLimits{"nightly": {Concurrency: 9}}
	})
	for algorithm, key := range testAlgorithms {
		p, err := b.Principal(t.Context(), sign(t, testKeys()[key], algorithm, b.claims(nil)))
		if err != nil {
			t.Errorf("%s: %v", algorithm, err)
			continue
		}
		want := penstock.Principal{Kind: penstock.PrincipalKey, Tenant: penstock.Tenant{ID: "acme"}, Key: "jwt:corp/worker-7",
			Scopes: []penstock.Scope{penstock.ScopeInference, penstock.ScopeJobsRead}, Limits: p.Limits}
		if d := cmp.Diff(want, p); d != "" {
			t.Errorf("%s: %s", algorithm, d)
		}
		if p.Limits.Concurrency != 3 {
			t.Errorf("limits: %+v", p.Limits)
		}
	}
	nightly, err := b.Principal(t.Context(), b.token(map[string]any{"sub": "nightly"}))
	if err != nil || nightly.Limits.Concurrency != 9 {
		t.Errorf("own limits of a subject: %+v, %v", nightly.Limits, err)
	}
	for name, want := range map[string]int{"jwt:corp/nightly": 9, "jwt:corp/x": 3, "jwt:gone/x": 0} {
		if l, ok := b.Limits(name); !ok || l.Concurrency != want {
			t.Errorf("limits of %s: %+v, %v", name, l, ok)
		}
	}
	if _, ok := b.Limits("nightly"); ok {
		t.Error("a key has limits of a token")
	}
}

// Each of these tokens has one flaw. None is accepted, and none makes Penstock ask the issuer.
func TestFlawedTokensAreRefused(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.accepted("a good token", b.token(nil))
	good := b.token(nil)
	head, rest, _ := strings.Cut(good, ".")
	body, signature, _ := strings.Cut(rest, ".")
	_ = head
	encode := base64.RawURLEncoding.EncodeToString
	part := func(v any) string { text, _ := json.Marshal(v); return encode(text) }
	claims := b.claims(nil)
	flaws := map[string]string{
		"another audience":     b.token(map[string]any{"aud": "https://other.example.com"}),
		"no audience":          b.token(map[string]any{"aud": nil}),
		"another issuer":       b.token(map[string]any{"iss": "https://evil.example.com"}),
		"issuer with a slash":  b.token(map[string]any{"iss": b.issuer.URL + "/"}),
		"no issuer":            b.token(map[string]any{"iss": nil}),
		"expired":              b.token(map[string]any{"exp": b.now().Add(-time.Minute).Unix()}),
		"no expiry":            b.token(map[string]any{"exp": nil}),
		"expiry as text":       b.token(map[string]any{"exp": "tomorrow"}),
		"not yet valid":        b.token(map[string]any{"nbf": b.now().Add(time.Minute).Unix()}),
		"issued in the future": b.token(map[string]any{"iat": b.now().Add(time.Hour).Unix()}),
		"no subject":           b.token(map[string]any{"sub": nil}),
		"subject with a line":  b.token(map[string]any{"sub": "a\nb"}),
		"long subject":         b.token(map[string]any{"sub": strings.Repeat("a", maxSubject+1)}),
		"alg none":             part(map[string]string{"alg": "none"}) + "." + part(claims) + ".",
		"alg NONE":             part(map[string]string{"alg": "NONE", "kid": "p256"}) + "." + part(claims) + "." + signature,
		"no alg":               part(map[string]string{"kid": "p256"}) + "." + part(claims) + "." + signature,
		"critical header":      part(map[string]any{"alg": "ES256", "kid": "p256", "crit": []string{"x"}, "x": 1}) + "." + body + "." + signature,
		"other claims":         head + "." + part(b.claims(map[string]any{"sub": "root"})) + "." + signature,
		"other signature":      head + "." + body + "." + encode(make([]byte, 64)),
		"no signature":         head + "." + body + ".",
		"claims that are text": head + "." + encode([]byte(`"x"`)) + "." + signature,
		"not base64":           head + ".%%%." + signature,
		"huge":                 b.token(map[string]any{"groups": strings.Repeat("g", MaxBytes)}),
		"two parts":            head + "." + body,
		"empty":                "..",
		"HS256 with PEM":       hmacToken(t, "rsa", publicPEM(t), claims),
		"HS256 with modulus":   hmacToken(t, "rsa", testKeys()["rsa"].Key.(*rsa.PrivateKey).N.Bytes(), claims),
		"own key in header":    embeddedKey(t, claims),
		"EC token, RSA key":    sign(t, named("rsa", "p256-other"), "ES256", claims),
		"key of another":       sign(t, named("p256", "p256-other"), "ES256", claims),
		"other curve":          sign(t, named("p256", "p384"), "ES384", claims),
	}
	fetches := b.issuer.fetches.Load()
	for name, token := range flaws {
		b.refused(name, token, penstock.CodeInvalidKey)
	}
	if more := b.issuer.fetches.Load() - fetches; more != 0 {
		t.Errorf("flawed tokens made %d fetches of keys", more)
	}
	b.accepted("the good token afterwards", good)
}

func named(id, key string) jose.JSONWebKey {
	k := testKeys()[key]
	k.KeyID = id
	return k
}

// hmacToken is signed with a public key as if it were a shared secret.
func hmacToken(t *testing.T, id string, secret []byte, claims map[string]any) string {
	t.Helper()
	return sign(t, jose.JSONWebKey{Key: secret, KeyID: id}, "HS256", claims)
}

func publicPEM(t *testing.T) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(testKeys()["rsa"].Key.(*rsa.PrivateKey).Public())
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// embeddedKey is signed by a key that it carries in its own header.
func embeddedKey(t *testing.T, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: testKeys()["p256-other"].Key}, &jose.SignerOptions{EmbedJWK: true, ExtraHeaders: map[jose.HeaderKey]any{"kid": "p256"}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// An issuer may allow fewer algorithms, and a token without a key id needs an unambiguous key.
func TestAlgorithmsAndKeyIDs(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(i *config.TokenIssuer) { i.Algorithms = []string{"RS256", "ES256"} })
	b.accepted("RS256", sign(t, testKeys()["rsa"], "RS256", b.claims(nil)))
	b.refused("PS256", sign(t, testKeys()["rsa"], "PS256", b.claims(nil)), penstock.CodeInvalidKey)
	b.accepted("no id, one EC key", sign(t, named("", "p256"), "ES256", b.claims(nil)))
	b.issuer.publish(testKeys()["p256"], testKeys()["p256-other"])
	b.pass(refreshInterval)
	_ = b.issuers().byURL[b.issuer.URL].keys.refresh(t.Context())
	b.refused("no id, two EC keys", sign(t, named("", "p256"), "ES256", b.claims(map[string]any{"jti": "2"})), penstock.CodeInvalidKey)
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Skip("this Go makes no small keys: ", err)
	}
	b.issuer.publish(jose.JSONWebKey{Key: small, KeyID: "small"}, testKeys()["p256"])
	b.pass(time.Minute)
	if signed, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: small, KeyID: "small"}}, nil); err == nil {
		text, err := jwt.Signed(signed).Claims(b.claims(nil)).Serialize()
		if err == nil {
			b.refused("RSA with 1024 bits", text, penstock.CodeInvalidKey)
		}
	}
}

// A clock that is off by less than the skew does no harm.
func TestSkew(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.accepted("expired within the skew", b.token(map[string]any{"exp": b.now().Add(-20 * time.Second).Unix(), "jti": "1"}))
	b.accepted("early within the skew", b.token(map[string]any{"nbf": b.now().Add(20 * time.Second).Unix(), "iat": b.now().Add(20 * time.Second).Unix()}))
	b.refused("expired beyond the skew", b.token(map[string]any{"exp": b.now().Add(-31 * time.Second).Unix()}), penstock.CodeInvalidKey)
}

func TestScopesOfTokens(t *testing.T) {
	t.Parallel()
	names := map[string][]penstock.Scope{"llm.call": {penstock.ScopeInference}, "llm.jobs": {penstock.ScopeJobsRead, penstock.ScopeJobsWrite}}
	for name, c := range map[string]struct {
		change func(*config.TokenIssuer)
		claims map[string]any
		want   []penstock.Scope
	}{
		"words are scopes":       {nil, map[string]any{"scope": "jobs:read openid inference"}, []penstock.Scope{penstock.ScopeInference, penstock.ScopeJobsRead}},
		"scp as a list":          {nil, map[string]any{"scope": nil, "scp": []string{"webhooks", "x"}}, []penstock.Scope{penstock.ScopeWebhooks}},
		"scope before scp":       {nil, map[string]any{"scope": "inference", "scp": "jobs:read"}, []penstock.Scope{penstock.ScopeInference}},
		"admin is never granted": {nil, map[string]any{"scope": "admin inference"}, []penstock.Scope{penstock.ScopeInference}},
		"no claim, no scopes":    {nil, map[string]any{"scope": nil}, nil},
		"an empty claim":         {func(i *config.TokenIssuer) { i.DefaultScopes = []penstock.Scope{penstock.ScopeInference} }, map[string]any{"scope": ""}, nil},
		"the default":            {func(i *config.TokenIssuer) { i.DefaultScopes = []penstock.Scope{penstock.ScopeInference} }, map[string]any{"scope": nil}, []penstock.Scope{penstock.ScopeInference}},
		"names": {func(i *config.TokenIssuer) { i.ScopeNames = names }, map[string]any{"scope": "llm.jobs inference"},
			[]penstock.Scope{penstock.ScopeJobsWrite, penstock.ScopeJobsRead}},
		"never more than configured": {func(i *config.TokenIssuer) { i.ScopeNames, i.Scopes = names, []penstock.Scope{penstock.ScopeJobsRead} },
			map[string]any{"scope": "llm.jobs llm.call"}, []penstock.Scope{penstock.ScopeJobsRead}},
	} {
		b := newBed(t, c.change)
		p, err := b.Principal(t.Context(), b.token(c.claims))
		slices.Sort(p.Scopes)
		slices.Sort(c.want)
		if err != nil || !slices.Equal(p.Scopes, c.want) {
			t.Errorf("%s: %v, %v; want %v", name, p.Scopes, err, c.want)
		}
	}
}

func TestTenantsOfTokens(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(i *config.TokenIssuer) {
		i.Tenant, i.TenantClaim, i.Tenants = "", "org", map[string]string{"o-1": "acme", "o-2": "other", "o-3": "acme", "gone": "removed"}
	})
	for name, c := range map[string]struct {
		value any
		want  penstock.TenantID
	}{
		"mapped": {"o-1", "acme"}, "another": {"o-2", "other"}, "unknown": {"acme", ""}, "missing": {nil, ""}, "a number": {7, ""},
		"one of a list": {[]string{"x", "o-2"}, "other"}, "two of one tenant": {[]string{"o-1", "o-3"}, "acme"}, "two tenants": {[]string{"o-1", "o-2"}, ""},
		"a tenant that does not exist": {"gone", ""},
	} {
		p, err := b.Principal(t.Context(), b.token(map[string]any{"org": c.value}))
		if p.Tenant.ID != c.want || (err == nil) != (c.want != "") || err != nil && penstock.ErrorCode(err) != penstock.CodeInvalidKey {
			t.Errorf("%s: %q, %v; want %q", name, p.Tenant.ID, err, c.want)
		}
	}
}

func TestIsToken(t *testing.T) {
	t.Parallel()
	for credential, want := range map[string]bool{
		"": false, "psk_abc": false, "a.b.c": true, "a.b": false, "a.b.c.d": false, "a.b.c=": false, "a.b c.d": false, "..": true,
		"fW8yJq3tKb0+XzNs5cPv7hRmDgA2eLu9": false,
	} {
		if got := IsToken(credential); got != want {
			t.Errorf("%q: %v", credential, got)
		}
	}
}

// No text is accepted that the issuer did not sign, and none makes the verifier panic.
func FuzzPrincipal(f *testing.F) {
	b := newBed(f, nil)
	good := b.token(nil)
	f.Add(good)
	f.Add("a.b.c")
	f.Add("eyJhbGciOiJub25lIn0.eyJpc3MiOiJ4In0.")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := b.Principal(t.Context(), text); err == nil && text != good {
			t.Errorf("accepted: %q", text)
		}
	})
}

// BenchmarkVerify is the cost of a token that is not cached, by algorithm.
func BenchmarkVerify(b *testing.B) {
	bed := newBed(b, nil)
	for _, algorithm := range []string{"RS256", "ES256", "ES512", "EdDSA"} {
		token := sign(b, testKeys()[testAlgorithms[algorithm]], algorithm, bed.claims(nil))
		b.Run(algorithm, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := bed.verify(b.Context(), bed.issuers(), token); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
