package identity_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const clientID, clientSecret = "penstock-console", "a secret of the client"

// testIssuer is an OpenID Connect provider with real keys and signed tokens. Its fields change its answers; a test sets them
// before a sign-in.
type testIssuer struct {
	*httptest.Server
	t   *testing.T
	key *ecdsa.PrivateKey

	mu       sync.Mutex
	codes    map[string]asked // that were not used
	claims   map[string]any   // about the person
	override map[string]any   // of the id token
	unsigned bool             // the id token has the algorithm none
	signer   *ecdsa.PrivateKey
	userInfo map[string]any // nil for no endpoint
	down     bool
	logins   int
}

// asked is what the authorization request of a code said.
type asked struct{ nonce, challenge, redirect string }

func newIssuer(t *testing.T) *testIssuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &testIssuer{t: t, key: key, signer: key, codes: map[string]asked{}, override: map[string]any{},
		claims: map[string]any{"sub": "user-1", "name": "Ada Lovelace", "email": "Ada@Example.com", "email_verified": true, "groups": []string{"platform"}}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.discovery)
	mux.HandleFunc("GET /keys", i.keys)
	mux.HandleFunc("POST /token", i.token)
	mux.HandleFunc("GET /userinfo", i.info)
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

// set changes the issuer.
func (i *testIssuer) set(change func(*testIssuer)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change(i)
}

func (i *testIssuer) discovery(w http.ResponseWriter, _ *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.down {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	doc := map[string]any{
		"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
		"id_token_signing_alg_values_supported": []string{"ES256", "none"}, "end_session_endpoint": i.URL + "/end?x=1",
	}
	if i.userInfo != nil {
		doc["userinfo_endpoint"] = i.URL + "/userinfo"
	}
	i.answer(w, doc)
}

func (i *testIssuer) answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		i.t.Error(err)
	}
}

func (i *testIssuer) keys(w http.ResponseWriter, _ *http.Request) {
	i.answer(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.key.Public(), KeyID: keyID(i.key.Public()), Algorithm: "ES256", Use: "sig"}}})
}

func keyID(k crypto.PublicKey) string {
	thumb, _ := (&jose.JSONWebKey{Key: k}).Thumbprint(crypto.SHA256)
	return base64.RawURLEncoding.EncodeToString(thumb)
}

// consent is the person who agrees at the issuer: it returns the query of the callback.
func (i *testIssuer) consent(authURL string) url.Values {
	i.t.Helper()
	u, err := url.Parse(authURL)
	if err != nil {
		i.t.Fatal(err)
	}
	q := u.Query()
	if u.Path != "/authorize" || q.Get("client_id") != clientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("nonce") == "" || q.Get("state") == "" {
		i.t.Fatalf("the authorization request is %s", authURL)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	code := rand.Text()
	i.codes[code] = asked{q.Get("nonce"), q.Get("code_challenge"), q.Get("redirect_uri")}
	return url.Values{"state": {q.Get("state")}, "code": {code}, "iss": {i.URL}}
}

func (i *testIssuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.logins++
	id, secret, _ := r.BasicAuth()
	was, known := i.codes[r.FormValue("code")]
	delete(i.codes, r.FormValue("code"))
	challenge := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	secret, _ = url.QueryUnescape(secret)
	if !known || id != clientID || secret != clientSecret || r.FormValue("redirect_uri") != was.redirect || base64.RawURLEncoding.EncodeToString(challenge[:]) != was.challenge {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
		return
	}
	now := time.Now()
	all := map[string]any{"iss": i.URL, "aud": clientID, "nonce": was.nonce, "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix()}
	maps.Copy(all, i.claims)
	maps.Copy(all, i.override)
	i.answer(w, map[string]any{"access_token": "access", "token_type": "Bearer", "id_token": i.sign(all)})
}

func (i *testIssuer) sign(all map[string]any) string {
	if i.unsigned {
		body, _ := json.Marshal(all)
		return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + base64.RawURLEncoding.EncodeToString(body) + "."
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: i.signer, KeyID: keyID(i.signer.Public())}}, nil)
	if err != nil {
		i.t.Error(err)
		return ""
	}
	text, err := jwt.Signed(signer).Claims(all).Serialize()
	if err != nil {
		i.t.Error(err)
	}
	return text
}

func (i *testIssuer) info(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer access" {
		http.Error(w, "who?", http.StatusUnauthorized)
		return
	}
	i.answer(w, i.userInfo)
}
