package token

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The bounds on what an issuer sends.
const (
	maxBody    = 512 << 10
	maxKeys    = 100
	minRSABits = 2048
	maxRSABits = 8192 // a larger key would make each forged token expensive
)

// newClient follows no redirects: the keys must come from the URL that was configured or published.
func newClient(transport http.RoundTripper) *http.Client {
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxResponseHeaderBytes = 64 << 10
		t.ResponseHeaderTimeout = fetchTimeout
		transport = t
	}
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Probe fetches the keys of an issuer once and returns their number, for checks of a configuration. A jwks of "" means
// discovery.
func Probe(ctx context.Context, issuer, jwks string) (keys int, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	all, err := download(ctx, newClient(nil), source{issuer: issuer, jwks: jwks})
	return len(all), err
}

// download fetches the keys of an issuer.
func download(ctx context.Context, client *http.Client, from source) ([]jose.JSONWebKey, error) {
	at := from.jwks
	if at == "" {
		var err error
		if at, err = discover(ctx, client, from.issuer); err != nil {
			return nil, err
		}
	}
	var set struct {
		Keys []jsontext.Value `json:"keys"`
	}
	if err := get(ctx, client, at, &set); err != nil {
		return nil, err
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("%s has %d keys; at most %d are read", at, len(set.Keys), maxKeys)
	}
	var keys []jose.JSONWebKey
	for _, text := range set.Keys {
		var k jose.JSONWebKey
		if k.UnmarshalJSON(text) == nil && usable(&k) { // an issuer may publish keys for other purposes
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s has no public key for signatures", at)
	}
	return keys, nil
}

// discover reads the URL of the keys from the metadata of an issuer (OpenID Connect Discovery 1.0, RFC 8414).
func discover(ctx context.Context, client *http.Client, issuer string) (string, error) {
	at := strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration"
	var metadata struct {
		Issuer string `json:"issuer"`
		JWKS   string `json:"jwks_uri"`
	}
	if err := get(ctx, client, at, &metadata); err != nil {
		return "", err
	}
	if metadata.Issuer != issuer {
		return "", fmt.Errorf("%s names another issuer; set issuer to the URL that it names, or set jwks_url", at)
	}
	u, err := url.Parse(metadata.JWKS)
	if err != nil || u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && strings.HasPrefix(issuer, "http://")) {
		return "", fmt.Errorf("%s has no https URL as jwks_uri; set jwks_url", at)
	}
	return metadata.JWKS, nil
}

// get reads a JSON document of bounded size.
func get(ctx context.Context, client *http.Client, at string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s; expected 200", at, resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return fmt.Errorf("reading %s: %w", at, err)
	}
	if len(text) > maxBody {
		return fmt.Errorf("%s has more than %d bytes", at, maxBody)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s is not the JSON that was expected: %w", at, err)
	}
	return nil
}

// usable reports whether a published key can verify signatures.
func usable(k *jose.JSONWebKey) bool {
	if !k.Valid() || !k.IsPublic() || k.Use != "" && k.Use != "sig" {
		return false
	}
	if key, ok := k.Key.(*rsa.PublicKey); ok {
		return key.N.BitLen() >= minRSABits && key.N.BitLen() <= maxRSABits
	}
	return len(algorithmsOf(k)) > 0
}

// fits reports whether a key is meant for an algorithm.
func fits(k *jose.JSONWebKey, algorithm string) bool {
	return (k.Algorithm == "" || k.Algorithm == algorithm) && slices.Contains(algorithmsOf(k), algorithm)
}

// algorithmsOf are the algorithms that a kind of key can verify.
func algorithmsOf(k *jose.JSONWebKey) []string {
	switch key := k.Key.(type) {
	case *rsa.PublicKey:
		return []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}
	case *ecdsa.PublicKey:
		switch key.Curve.Params().BitSize {
		case 256:
			return []string{"ES256"}
		case 384:
			return []string{"ES384"}
		case 521:
			return []string{"ES512"}
		}
	case ed25519.PublicKey:
		return []string{"EdDSA"}
	}
	return nil
}

// withdrawn reports whether a key is not published any more.
func withdrawn(before, after []jose.JSONWebKey) bool {
	return slices.ContainsFunc(before, func(was jose.JSONWebKey) bool {
		return !slices.ContainsFunc(after, func(is jose.JSONWebKey) bool { return sameKey(&was, &is) })
	})
}

func sameKey(a, b *jose.JSONWebKey) bool {
	first, err := a.Thumbprint(crypto.SHA256)
	second, err2 := b.Thumbprint(crypto.SHA256)
	return err == nil && err2 == nil && a.KeyID == b.KeyID && bytes.Equal(first, second)
}
