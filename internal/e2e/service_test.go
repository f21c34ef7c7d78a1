package e2e

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"penstock/internal/identity/certificate/certtest"
)

// services is a server that accepts keys, tokens and client certificates, over TLS on both listeners.
type services struct {
	*Process
	t          *testing.T
	api, admin string
	config     string
	ca         *certtest.Authority
	issuer     *httptest.Server
	key        *ecdsa.PrivateKey
}

const serviceConfig = `
listen: %[1]s
admin_listen: %[2]s
data: %[3]s
shutdown_grace: 2s
tls: {cert_file: %[4]s, key_file: %[5]s, client_ca_file: %[6]s}
admin: {tls: {cert_file: %[4]s, key_file: %[5]s, client_ca_file: %[6]s}}
providers: {upstream: {kind: openai, base_url: %[7]s/v1}}
targets: {sim: {provider: upstream, upstream_model: sim-small, price: {input: "1", output: "2"}}}
models: {fast: {targets: [sim]}}
tenants:
  acme: {keys: [{name: e2e, secret: "${E2E_KEY}"}]}
  umbra: {keys: [{name: e2e, secret: "${E2E_STRANGER}"}]}
client_tokens:
  corp: {issuer: %[8]s, audiences: [penstock], tenant: acme, subject_limits: {slow: {requests_per_minute: 1, burst: 0.5, wait: 0s}}}
client_certificates:
  denied_serials: [%[9]s]
  callers:
    - {spiffe_id: "spiffe://prod.example.com/ns/search/*", tenant: acme}
    - {common_name: deploy, roles: [operator]}
`

func startServices(t *testing.T) *services {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &services{t: t, ca: certtest.New(t, "e2e"), key: key}
	s.issuer = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/openid-configuration") {
			fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, s.issuer.URL, s.issuer.URL+"/keys")
			return
		}
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "1"}}})
	}))
	t.Cleanup(s.issuer.Close)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte("wait")) {
			<-r.Context().Done() // it answers never
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"x","object":"chat.completion","created":1,"model":"sim-small","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hi"}}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`)
	}))
	t.Cleanup(upstream.Close)
	certFile, keyFile := s.ca.Server()
	dir, api, admin := t.TempDir(), FreeAddress(t), FreeAddress(t)
	s.config, s.api, s.admin = filepath.Join(dir, "penstock.yaml"), "https://"+api, "https://"+admin
	s.write(fmt.Sprintf(serviceConfig, api, admin, filepath.Join(dir, "data"), certFile, keyFile, s.ca.File, upstream.URL, s.issuer.URL, "ff"))
	s.Process = Start(t, []string{"E2E_KEY=" + Key, "E2E_STRANGER=" + strangerKey, "PENSTOCK_ADMIN_KEY=" + AdminKey}, "serve", "--config", s.config)
	Await(t, "the server", func() error {
		if a := s.call(s.api, get("/readyz"), caller{}); a.Status != http.StatusOK {
			return fmt.Errorf("it answers %d; it printed:\n%s", a.Status, s.Output())
		}
		return nil
	})
	return s
}

func (s *services) write(text string) {
	s.t.Helper()
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// caller has the credentials of a call.
type caller struct {
	bearer      string
	certificate *tls.Certificate
}

func (s *services) certified(l certtest.Leaf) caller {
	c := s.ca.Client(l)
	return caller{certificate: &c}
}

func (s *services) token(subject string, changes map[string]any) caller {
	s.t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: s.key, KeyID: "1"}}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	claims := map[string]any{"iss": s.issuer.URL, "aud": "penstock", "sub": subject, "scope": "inference jobs:write jobs:read webhooks", "exp": time.Now().Add(time.Hour).Unix()}
	for name, value := range changes {
		claims[name] = value
	}
	text, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		s.t.Fatal(err)
	}
	return caller{bearer: text}
}

// call makes a call on a connection of its own; status 0 means that there was no answer.
func (s *services) call(base string, c Call, by caller) Answer {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, c.Method, base+c.Path, strings.NewReader(c.Body))
	if err != nil {
		s.t.Fatal(err)
	}
	for name, value := range c.Header {
		req.Header.Set(name, value)
	}
	if by.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+by.bearer)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.ca.Pool(), MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	if by.certificate != nil {
		// It is sent whatever authorities the server names.
		transport.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return by.certificate, nil }
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return Answer{}
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return Answer{resp.StatusCode, resp.Header, string(body)}
}

// expect makes a call and checks its status, and that its answer has a text.
func (s *services) expect(what, base string, c Call, by caller, status int, has string) Answer {
	s.t.Helper()
	a := s.call(base, c, by)
	if a.Status != status || !strings.Contains(a.Body, has) {
		s.t.Errorf("%s: %d %s; want %d with %q", what, a.Status, a.Body, status, has)
	}
	return a
}

// Jobs are submitted with a token and with a client certificate; records, usage and the audit name their callers.
func TestServicesCallWithTokensAndCertificates(t *testing.T) {
	t.Parallel()
	s := startServices(t)
	api := s.certified(certtest.Leaf{URIs: []string{"spiffe://prod.example.com/ns/search/sa/api"}})
	job := post("/v1/jobs", `{"model":"fast","inputs":[{"body":{"messages":[{"role":"user","content":"Hi"}],"max_tokens":5}}]}`, "Prefer", "wait=20")
	chat := post(chatPath, `{"model":"fast","max_tokens":5,"messages":[{"role":"user","content":"Hi"}]}`)
	for name, by := range map[string]caller{"jwt:corp/nightly": s.token("nightly", nil), "cert:spiffe://prod.example.com/ns/search/sa/api": api} {
		s.expect("a job of "+name, s.api, job, by, http.StatusOK, `"succeeded"`)
		s.expect("a call of "+name, s.api, chat, by, http.StatusOK, "Hi")
		Await(t, "the record of "+name, func() error {
			if a := s.call(s.api, get("/v1/requests"), by); !strings.Contains(a.Body, `"key":"`+name+`"`) {
				return fmt.Errorf("%d %s", a.Status, a.Body)
			}
			return nil
		})
		Await(t, "the usage of "+name, func() error {
			if a := s.call(s.api, get("/v1/usage?group_by=key"), by); !strings.Contains(a.Body, name) {
				return fmt.Errorf("%d %s", a.Status, a.Body)
			}
			return nil
		})
		s.expect("a webhook of "+name, s.api, post("/v1/webhooks", `{"url":"https://hooks.example.com/x"}`), by, http.StatusCreated, "")
		s.expect("the audit", s.admin, get("/admin/v1/audit?tenant=acme"), caller{bearer: AdminKey}, http.StatusOK, name)
	}

	slow := s.token("slow", nil)
	s.expect("the first call of a limited subject", s.api, chat, slow, http.StatusOK, "Hi")
	s.expect("its second call", s.api, chat, slow, http.StatusTooManyRequests, "jwt:corp/slow")
	s.expect("a call of another subject", s.api, chat, s.token("fast", nil), http.StatusOK, "Hi")
}

// What is not allowed is refused, in every combination, and reload changes it at once.
func TestServicesAreRefused(t *testing.T) {
	t.Parallel()
	s := startServices(t)
	search := certtest.Leaf{URIs: []string{"spiffe://prod.example.com/ns/search/sa/api"}}
	jobs, tenants := get("/v1/jobs"), get("/admin/v1/tenants")
	with := func(c caller, bearer string) caller { return caller{bearer: bearer, certificate: c.certificate} }
	stranger := certtest.New(t, "stranger").Client(search)
	s.expect("nothing", s.api, jobs, caller{}, http.StatusUnauthorized, "invalid_key")
	s.expect("a token for another audience", s.api, jobs, s.token("x", map[string]any{"aud": "other"}), http.StatusUnauthorized, "audience")
	s.expect("an expired token", s.api, jobs, s.token("x", map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}), http.StatusUnauthorized, "expired")
	s.expect("a token without scopes", s.api, jobs, s.token("x", map[string]any{"scope": "openid admin"}), http.StatusForbidden, "scope_missing")
	s.expect("a certificate of another authority", s.api, jobs, caller{certificate: &stranger}, 0, "")
	s.expect("a certificate without a mapping", s.api, jobs, s.certified(certtest.Leaf{CommonName: "x"}), http.StatusUnauthorized, "client_certificates")
	s.expect("the same with a key", s.api, jobs, with(s.certified(certtest.Leaf{CommonName: "x"}), strangerKey), http.StatusOK, "")
	s.expect("a certificate and a key of its tenant", s.api, jobs, with(s.certified(search), Key), http.StatusOK, "")
	s.expect("a certificate and a key of another tenant", s.api, jobs, with(s.certified(search), strangerKey), http.StatusUnauthorized, "another tenant")
	s.expect("a denied serial number", s.api, jobs, s.certified(certtest.Leaf{URIs: search.URIs, Serial: 0xff}), http.StatusUnauthorized, "denied")
	s.expect("admin routes with a token", s.admin, tenants, s.token("x", nil), http.StatusUnauthorized, "")
	s.expect("admin routes with the certificate of a tenant", s.admin, tenants, s.certified(search), http.StatusUnauthorized, "no role")
	s.expect("admin routes on the public listener", s.api, tenants, s.certified(certtest.Leaf{CommonName: "deploy"}), http.StatusNotFound, "")

	deploy := s.certified(certtest.Leaf{CommonName: "deploy"})
	s.expect("load with the role operator", s.admin, get("/admin/v1/load"), deploy, http.StatusOK, "")
	s.expect("keys with the role operator", s.admin, post("/admin/v1/keys", `{"tenant":"acme","name":"x"}`), deploy, http.StatusForbidden, "admin")

	// A call that is open ends when a reload denies its certificate, and no new call is accepted.
	text, err := os.ReadFile(s.config)
	if err != nil {
		t.Fatal(err)
	}
	accepted := s.expect("a job", s.api, post("/v1/jobs", `{"model":"fast","inputs":[{"body":{"messages":[{"role":"user","content":"wait"}]}}]}`), s.certified(search), http.StatusAccepted, "")
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(accepted.Body), &made); err != nil {
		t.Fatalf("%v: %s", err, accepted.Body)
	}
	ended := make(chan Answer, 1)
	go func() {
		ended <- s.call(s.api, get("/v1/jobs/"+made.ID+"/events", "Accept", "text/event-stream"), s.certified(search))
	}()
	s.write(string(bytes.Replace(text, []byte("denied_serials: [ff]"), []byte("denied_spiffe_ids: [\"spiffe://prod.example.com/ns/search/sa/api\"]"), 1)))
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	select {
	case a := <-ended:
		if !strings.Contains(a.Body, "invalid_key") {
			t.Errorf("the open stream: %d %s", a.Status, a.Body)
		}
	case <-time.After(patience):
		t.Error("the open stream did not end")
	}
	s.expect("a denied SPIFFE id", s.api, jobs, s.certified(search), http.StatusUnauthorized, "denied")
	if strings.Contains(s.Output(), s.token("x", nil).bearer[:30]) {
		t.Error("the log has a token")
	}
}
