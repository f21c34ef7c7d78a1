package certificate

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"penstock/internal/config"
	"penstock/internal/identity/certificate/certtest"
)

// secureServer answers with the common name of the client, "-" for none.
type secureServer struct {
	url string
	ca  *certtest.Authority

	mu  sync.Mutex
	now time.Time
	log bytes.Buffer
}

func (s *secureServer) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *secureServer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(p)
}

func (s *secureServer) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func (s *secureServer) logged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

func serve(t *testing.T, settings config.TLS, ca *certtest.Authority) *secureServer {
	t.Helper()
	s := &secureServer{ca: ca, now: time.Now()}
	c, err := NewTLS(ListenerDeps{Settings: settings, At: "tls", Log: slog.New(slog.NewTextHandler(s, nil)), Clock: s.clock})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{TLSConfig: c, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := "-"
		if leaf := Leaf(r.TLS); leaf != nil {
			name = leaf.Subject.CommonName
		}
		_, _ = io.WriteString(w, name+" "+r.Proto)
	})}
	go func() { _ = server.ServeTLS(l, "", "") }()
	t.Cleanup(func() { _ = server.Close() })
	s.url = "https://" + l.Addr().String()
	return s
}

// ask makes a call on a connection of its own; an answer of "" means that there was none.
func (s *secureServer) ask(t *testing.T, certificates ...tls.Certificate) string {
	t.Helper()
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: s.ca.Pool(), ClientSessionCache: tls.NewLRUClientSessionCache(4), MinVersion: tls.VersionTLS12}}
	if len(certificates) > 0 { // sent whatever authorities the server names
		transport.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificates[0], nil }
	}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get(s.url)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return string(text)
}

// Only certificates of the authority, for clients, within their time, pass the handshake.
func TestHandshakes(t *testing.T) {
	t.Parallel()
	ca, other := certtest.New(t, "ca"), certtest.New(t, "other")
	certFile, keyFile := ca.Server()
	good := ca.Client(certtest.Leaf{CommonName: "worker"})
	bad := map[string]tls.Certificate{
		"another authority": other.Client(certtest.Leaf{CommonName: "worker"}),
		"ended":             ca.Client(certtest.Leaf{CommonName: "worker", NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(-time.Hour)}),
		"not yet valid":     ca.Client(certtest.Leaf{CommonName: "worker", NotBefore: time.Now().Add(time.Hour), NotAfter: time.Now().Add(2 * time.Hour)}),
		"of a server":       ca.Issue(certtest.Leaf{CommonName: "worker", Usage: x509.ExtKeyUsageServerAuth}),
	}
	for mode, without := range map[string]string{config.ClientAuthOptional: "- HTTP/2.0", config.ClientAuthRequired: ""} {
		s := serve(t, config.TLS{CertFile: certFile, KeyFile: keyFile, ClientCAFile: ca.File, ClientAuth: mode}, ca)
		if got := s.ask(t); got != without {
			t.Errorf("%s, without a certificate: %q", mode, got)
		}
		if got := s.ask(t, good); got != "worker HTTP/2.0" {
			t.Errorf("%s, with a good certificate: %q", mode, got)
		}
		for name, c := range bad {
			if got := s.ask(t, c); got != "" {
				t.Errorf("%s, with a certificate that is %s: %q", mode, name, got)
			}
		}
	}
	plain := serve(t, config.TLS{CertFile: certFile, KeyFile: keyFile}, ca)
	if got := plain.ask(t, good); got != "- HTTP/2.0" {
		t.Errorf("a listener that asks for no certificates: %q", got)
	}
}

// Renewed files are used without a restart; broken files leave the old ones in use, and the log says so once.
func TestFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	ca, next := certtest.New(t, "ca"), certtest.New(t, "next")
	certFile, keyFile := ca.Server()
	s := serve(t, config.TLS{CertFile: certFile, KeyFile: keyFile, ClientCAFile: ca.File, ClientAuth: config.ClientAuthRequired}, ca)
	old, renewed := ca.Client(certtest.Leaf{CommonName: "old"}), next.Client(certtest.Leaf{CommonName: "new"})
	if s.ask(t, old) == "" || s.ask(t, renewed) != "" {
		t.Fatal("the first authority does not decide")
	}
	text, err := os.ReadFile(next.File)
	if err != nil {
		t.Fatal(err)
	}
	replace := func(text string) {
		t.Helper()
		if err := os.WriteFile(ca.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.pass(lookInterval)
	}
	replace("-----BEGIN nonsense")
	for range 2 {
		if s.ask(t, old) == "" {
			t.Error("a broken file stopped the listener")
		}
		s.pass(lookInterval)
	}
	if n := strings.Count(s.logged(), "tls.client_ca_file"); n != 1 {
		t.Errorf("the log has %d entries:\n%s", n, s.logged())
	}
	replace(string(text))
	if s.ask(t, old) != "" || s.ask(t, renewed) == "" {
		t.Error("the new authority does not decide")
	}
	again := ca.Issue(certtest.Leaf{CommonName: "renewed server", Usage: x509.ExtKeyUsageServerAuth})
	ca.Write(again, certFile, keyFile)
	s.pass(lookInterval)
	transport := &tls.Config{RootCAs: ca.Pool(), Certificates: []tls.Certificate{renewed}, MinVersion: tls.VersionTLS12}
	conn, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "https://"), transport)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if name := conn.ConnectionState().PeerCertificates[0].Subject.CommonName; name != "renewed server" {
		t.Errorf("the server shows %q", name)
	}
	if _, err := NewTLS(ListenerDeps{Settings: config.TLS{CertFile: certFile, KeyFile: keyFile, ClientCAFile: keyFile}, At: "admin.tls", Clock: time.Now}); err == nil || !strings.Contains(err.Error(), "admin.tls.client_ca_file") {
		t.Errorf("a file without authorities: %v", err)
	}
}
