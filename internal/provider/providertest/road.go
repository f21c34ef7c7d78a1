package providertest

import (
	"crypto/x509"
	"net/http/httptest"
	"testing"
)

// road is how an upstream is reached.
type road struct {
	name   string
	scheme string
	start  func(*httptest.Server)
}

// roads are all that adapters know.
var roads = []road{
	{"http", "http", (*httptest.Server).Start},
	{"https", "https", (*httptest.Server).StartTLS},
	{"http2", "https", func(s *httptest.Server) {
		s.EnableHTTP2 = true
		s.StartTLS()
	}},
}

// upstream starts an upstream at the end of this road.
func (r road) upstream(t testing.TB, script ...Step) *Upstream {
	t.Helper()
	return newUpstream(t, r.start, script)
}

// rootCAs are the certificate authorities of a server, nil for plain HTTP.
func rootCAs(s *httptest.Server) *x509.CertPool {
	if s.Certificate() == nil {
		return nil
	}
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return pool
}
