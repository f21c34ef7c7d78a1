// Package certtest makes certificate authorities and certificates for tests.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	File string // of its certificate, PEM
}

// Leaf is the content of a certificate. Zero times mean a day around now.
type Leaf struct {
	URIs, DNSNames      []string
	CommonName          string
	Organization        []string
	Serial              int64 // 0 for a new one
	NotBefore, NotAfter time.Time
	Usage               x509.ExtKeyUsage // x509.ExtKeyUsageClientAuth is that of a client
}

var serials atomic.Int64

func (a *Authority) sign(template *x509.Certificate, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	if signer == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

// New makes an authority, with its certificate in a file.
func New(t testing.TB, name string) *Authority {
	t.Helper()
	a := &Authority{t: t, File: filepath.Join(t.TempDir(), name+"-ca.pem")}
	a.cert, a.key = a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(serials.Add(1) + 1000), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}, nil, nil)
	a.write(a.File, "CERTIFICATE", a.cert.Raw)
	return a
}

// Pool trusts the authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Issue signs a certificate.
func (a *Authority) Issue(l Leaf) tls.Certificate {
	a.t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(l.Serial), Subject: pkix.Name{CommonName: l.CommonName, Organization: l.Organization}, DNSNames: l.DNSNames,
		NotBefore: l.NotBefore, NotAfter: l.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{l.Usage},
	}
	if l.Serial == 0 {
		template.SerialNumber = big.NewInt(serials.Add(1) + 1_000_000)
	}
	if l.NotAfter.IsZero() {
		template.NotBefore, template.NotAfter = time.Now().Add(-12*time.Hour), time.Now().Add(12*time.Hour)
	}
	if l.Usage == x509.ExtKeyUsageServerAuth {
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	for _, text := range l.URIs {
		u, err := url.Parse(text)
		if err != nil {
			a.t.Fatal(err)
		}
		template.URIs = append(template.URIs, u)
	}
	cert, key := a.sign(template, a.cert, a.key)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key, Leaf: cert}
}

// Client signs the certificate of a client.
func (a *Authority) Client(l Leaf) tls.Certificate {
	l.Usage = x509.ExtKeyUsageClientAuth
	return a.Issue(l)
}

// Server signs the certificate of a server on loopback, and writes its files.
func (a *Authority) Server() (certFile, keyFile string) {
	a.t.Helper()
	dir := a.t.TempDir()
	certFile, keyFile = filepath.Join(dir, "server.pem"), filepath.Join(dir, "server-key.pem")
	a.Write(a.Issue(Leaf{CommonName: "server", DNSNames: []string{"localhost"}, Usage: x509.ExtKeyUsageServerAuth}), certFile, keyFile)
	return certFile, keyFile
}

// Write writes a certificate and its key as PEM.
func (a *Authority) Write(c tls.Certificate, certFile, keyFile string) {
	a.t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(certFile, "CERTIFICATE", c.Certificate[0])
	a.write(keyFile, "PRIVATE KEY", der)
}

func (a *Authority) write(file, kind string, der []byte) {
	a.t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}
