package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"penstock/client"
	"penstock/internal/config"
)

// How often a call is tried. A person at a prompt wants to know soon that no server is there; a command that follows
// a job wants to outlast a restart of the server.
const (
	triesOnce     = 2
	triesFollowed = client.DefaultMaxTries
)

// connect makes a client of the server that the environment names.
func (sh *shell) connect(tries int) (*client.Client, error) {
	at := cmp.Or(sh.server.url, sh.variable("PENSTOCK_URL"), client.DefaultURL)
	// The URL first: a key of a server that it does not name would be of no use.
	if _, err := client.New(client.Config{URL: at}); err != nil && sh.server.url != "" {
		return nil, usageError{"--url: " + err.Error()}
	} else if err != nil {
		return nil, fmt.Errorf("PENSTOCK_URL: %w", err)
	}
	key, err := sh.apiKey(at)
	if err != nil {
		return nil, err
	}
	hc, err := sh.httpClient()
	if err != nil {
		return nil, err
	}
	return client.New(client.Config{URL: at, APIKey: key, HTTPClient: hc, MaxTries: tries})
}

// server is the flags that say which server a command calls, and how.
type server struct{ url, key, ca string }

func (s *server) flags(f *pflag.FlagSet) {
	f.StringVar(&s.url, "url", "", "server to call: the API, or for commands of operators the admin API (PENSTOCK_URL, PENSTOCK_ADMIN_URL)")
	f.StringVar(&s.key, "key", "", "key to call with; other users of this machine may see it, unlike PENSTOCK_API_KEY and PENSTOCK_ADMIN_KEY")
	f.StringVar(&s.ca, "ca", "", "`FILE` with certificates of authorities to trust, PEM (PENSTOCK_CA)")
}

// httpClient trusts the authorities of --ca beside those of the system; nil for the usual client.
func (sh *shell) httpClient() (*http.Client, error) {
	file := cmp.Or(sh.server.ca, sh.variable("PENSTOCK_CA"))
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the certificates of --ca: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil { // a machine without any
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate; --ca needs a file in PEM with a line -----BEGIN CERTIFICATE-----", file)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return &http.Client{Transport: transport}, nil
}

func (sh *shell) variable(name string) string {
	value, _ := sh.env(name)
	return value
}

// apiKey is the key to call with. The key of the development server is used without being asked for,
// but only on this machine: the key must not reach other servers.
func (sh *shell) apiKey(at string) (string, error) {
	if key := cmp.Or(sh.server.key, sh.variable("PENSTOCK_API_KEY")); key != "" {
		return key, nil
	}
	if !isLocal(at) {
		return "", fmt.Errorf("PENSTOCK_API_KEY is not set; set it, or --key, to a key of %s", at)
	}
	path := filepath.Join(cmp.Or(sh.variable("PENSTOCK_DATA"), config.DefaultData), "dev-key")
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf(`PENSTOCK_API_KEY is not set and there is no %s; set the key, or start "penstock dev" in this directory`, path)
	}
	if err != nil {
		return "", fmt.Errorf("reading the key of the development server: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

func isLocal(at string) bool {
	u, err := url.Parse(at)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
