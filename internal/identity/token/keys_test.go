package token

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"penstock"
	"penstock/internal/config"
)

// A verified token costs no fetch and no verification until it expires, its key is withdrawn, or the configuration changes.
func TestVerifiedTokensAreCached(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	token := b.token(nil)
	b.accepted("first", token)
	was := b.cache.find(digestOf(token))
	b.accepted("again", token)
	if is := b.cache.find(digestOf(token)); was == nil || is != was {
		t.Error("the second call verified again")
	}
	b.pass(5*time.Minute + 31*time.Second)
	b.refused("after its expiry", token, penstock.CodeInvalidKey)

	token = b.token(nil)
	b.accepted("another", token)
	b.live.Swap(b.snapshot(func(i *config.TokenIssuer) { i.Tenant = "other" }))
	if p, err := b.Principal(t.Context(), token); err != nil || p.Tenant.ID != "other" {
		t.Errorf("after a reload: %v, %v", p.Tenant.ID, err)
	}
	b.live.Swap(b.snapshot(func(i *config.TokenIssuer) { i.Audiences = []string{"x"} }))
	b.refused("after the audience changed", token, penstock.CodeInvalidKey)
	b.live.Swap(b.snapshot(nil))
	delete(b.tenant, "acme")
	b.refused("after its tenant was disabled", token, penstock.CodeInvalidKey)
	if n := b.issuer.fetches.Load(); n != 1 {
		t.Errorf("%d fetches of keys, want 1", n)
	}
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	var c cache
	now := time.Now()
	for i := range MaxCached + 5000 {
		c.add(digestOf(fmt.Sprint(i)), &entry{expires: now.Add(time.Duration(i) - MaxCached/2)}, now)
	}
	n := 0
	for i := range c.shards {
		n += len(c.shards[i].entries)
	}
	if n > MaxCached || n < MaxCached/4 {
		t.Errorf("%d entries", n)
	}
}

// An issuer rotates its keys: a new one works at once, a withdrawn one soon stops, also for tokens that are cached.
func TestKeysRotate(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	old := b.token(map[string]any{"exp": b.now().Add(time.Hour).Unix()})
	b.accepted("the old key", old)
	b.issuer.publish(testKeys()["p256"], testKeys()["p256-other"])
	b.pass(minInterval)
	renewed := sign(t, testKeys()["p256-other"], "ES256", b.claims(map[string]any{"exp": b.now().Add(time.Hour).Unix()}))
	b.accepted("the new key", renewed)
	b.accepted("the old key beside it", old)
	b.issuer.publish(testKeys()["p256-other"])
	b.pass(refreshInterval)
	if keys := b.issuers().byURL[b.issuer.URL].keys; !keys.due() || keys.refresh(t.Context()) != nil {
		t.Fatal("the keys are not fetched again")
	}
	b.refused("the withdrawn key", old, penstock.CodeInvalidKey)
	b.accepted("the new key afterwards", renewed)
}

// A flood of tokens with unknown keys makes one fetch, however many callers there are.
func TestFloodOfUnknownKeys(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.accepted("a good token", b.token(nil))
	b.pass(minInterval)
	var callers sync.WaitGroup
	for n := range 8 {
		callers.Go(func() {
			for i := range 25 {
				token := sign(t, named(fmt.Sprintf("%d-%d", n, i), "p256-other"), "ES256", b.claims(nil))
				b.refused("an unknown key", token, penstock.CodeInvalidKey)
			}
		})
	}
	callers.Wait()
	if n := b.issuer.fetches.Load(); n != 2 {
		t.Errorf("%d fetches of keys, want 2", n)
	}
}

// Penstock starts without its issuer, uses known keys for a day while the issuer is down, and recovers by itself.
func TestIssuerIsDown(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	down := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
	b.issuer.fail(down)
	b.refused("before the first keys", b.token(nil), penstock.CodeOverloaded)
	_, err := b.Principal(t.Context(), b.token(nil))
	if e, ok := errors.AsType[*penstock.Error](err); !ok || e.RetryAfter < time.Second || strings.Contains(e.Message, "127.0.0.1") {
		t.Errorf("the error: %+v", err)
	}
	if n := b.issuer.fetches.Load(); n != 1 {
		t.Errorf("%d fetches without a pause", n)
	}
	b.issuer.fail(nil)
	b.pass(minInterval)
	b.accepted("after it came", b.token(nil))
	b.issuer.fail(down)
	b.pass(MaxStale - time.Minute)
	b.accepted("while it is down", b.token(nil))
	b.refused("an unknown key while it is down", sign(t, named("new", "p256-other"), "ES256", b.claims(nil)), penstock.CodeOverloaded)
	b.accepted("still", b.token(nil))
	b.pass(2 * time.Minute)
	b.refused("when the keys are too old", b.token(nil), penstock.CodeOverloaded)
	b.issuer.fail(nil)
	b.pass(maxBackoff)
	b.accepted("after it is back", b.token(nil))
}

// Whatever an issuer answers, the verifier refuses with a reason and keeps its bounds.
func TestHostileIssuers(t *testing.T) {
	t.Parallel()
	many, key := jose.JSONWebKeySet{}, testKeys()["p256"]
	for range maxKeys + 1 {
		many.Keys = append(many.Keys, key.Public())
	}
	text := func(v any) string { s, _ := json.Marshal(v); return string(s) }
	for name, answer := range map[string]http.HandlerFunc{
		"an error": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		},
		"HTML":          func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"no keys":       func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"keys":[]}`) },
		"too many keys": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text(many)) },
		"deep JSON": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat(`{"keys":[`, 20_000))
		},
		"symmetric keys": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"keys":[{"kty":"oct","k":"AAAA","kid":"p256"}]}`)
		},
		"private keys": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, text(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{testKeys()["p256"]}}))
		},
		"keys for encryption": func(w http.ResponseWriter, _ *http.Request) {
			k := key.Public()
			k.Use = "enc"
			_, _ = io.WriteString(w, text(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{k}}))
		},
		"an endless body": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		},
		"a cut body": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"keys":`)
		},
	} {
		b := newBed(t, nil)
		b.issuer.fail(answer)
		b.refused(name, b.token(nil), penstock.CodeOverloaded)
	}
	foreign := newBed(t, func(i *config.TokenIssuer) { i.Issuer += "/tenant" })
	foreign.refused("metadata of another issuer", foreign.token(map[string]any{"iss": foreign.issuer.URL + "/tenant"}), penstock.CodeOverloaded)
	direct := newBed(t, func(i *config.TokenIssuer) { i.JWKSURL, i.Issuer = i.Issuer+"/keys", "https://issuer.example.com" })
	direct.accepted("keys without discovery", direct.token(map[string]any{"iss": "https://issuer.example.com"}))
}

// stuck is an issuer that never answers.
type stuck struct{}

func (stuck) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// An issuer that hangs costs a call the timeout once; the next calls are answered at once. A caller that leaves stops
// waiting.
func TestSlowIssuer(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	token := b.token(map[string]any{"exp": time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).Unix(), "iat": nil, "nbf": nil})
	synctest.Test(t, func(t *testing.T) {
		v := New(Deps{Config: b.live, Tenants: b.tenant, Transport: stuck{}, Log: slog.New(slog.DiscardHandler), Clock: time.Now})
		began := time.Now()
		var callers sync.WaitGroup
		for range 5 {
			callers.Go(func() {
				if _, err := v.Principal(t.Context(), token); penstock.ErrorCode(err) != penstock.CodeOverloaded {
					t.Errorf("a hanging issuer: %v", err)
				}
			})
		}
		synctest.Wait()
		left, leave := context.WithCancel(t.Context())
		leave()
		if _, err := v.Principal(left, token); penstock.ErrorCode(err) != penstock.CodeOverloaded || time.Since(began) > 0 {
			t.Errorf("a caller that left waited %v: %v", time.Since(began), err)
		}
		callers.Wait()
		if d := time.Since(began); d != fetchTimeout {
			t.Errorf("all calls together took %v", d)
		}
		if _, err := v.Principal(t.Context(), token); penstock.ErrorCode(err) != penstock.CodeOverloaded || time.Since(began) != fetchTimeout {
			t.Errorf("the next call took %v: %v", time.Since(began)-fetchTimeout, err)
		}
	})
}

// Run fetches the keys at the start and again before they are old, and ends with its context.
func TestRun(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	synctest.Test(t, func(t *testing.T) {
		var fetches atomic.Int32
		answers := roundTripper(func(r *http.Request) (*http.Response, error) {
			body := fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q}`, b.issuer.URL, b.issuer.URL+"/keys")
			if strings.HasSuffix(r.URL.Path, "/keys") {
				fetches.Add(1)
				text, _ := json.Marshal(publicOf([]jose.JSONWebKey{testKeys()["p256"]}))
				body = string(text)
			}
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
		})
		v := New(Deps{Config: b.live, Tenants: b.tenant, Transport: answers, Log: slog.New(slog.DiscardHandler), Clock: time.Now})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- v.Run(ctx) }()
		synctest.Wait()
		if n := fetches.Load(); n != 1 {
			t.Errorf("%d fetches at the start", n)
		}
		<-time.After(3*refreshInterval + time.Minute)
		synctest.Wait()
		if n := fetches.Load(); n != 4 {
			t.Errorf("%d fetches after three intervals", n)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// An open call outlives its token for a while, but not the tenant, and not the mapping.
func TestWatch(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	refuse, err := b.Watch(t.Context(), b.token(nil))
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, want penstock.Code) {
		t.Helper()
		if got := penstock.ErrorCode(refuse()); refuse() != nil && got != want || refuse() == nil && want != "" {
			t.Errorf("%s: %v", what, refuse())
		}
	}
	check("at once", "")
	b.pass(10 * time.Minute)
	check("after its expiry", "")
	b.live.Swap(b.snapshot(nil))
	check("after a reload", "")
	b.live.Swap(b.snapshot(func(i *config.TokenIssuer) { i.Tenant = "other" }))
	check("with another tenant", penstock.CodeInvalidKey)
	b.live.Swap(b.snapshot(nil))
	delete(b.tenant, "acme")
	check("with a disabled tenant", penstock.CodeInvalidKey)
	b.tenant["acme"] = true
	check("enabled again", "")
	b.pass(OpenGrace)
	check("long after its expiry", penstock.CodeInvalidKey)
}
