package identity

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"time"

	"penstock"
	"penstock/internal/config"
)

const (
	// secureCookie is the cookie of a session over https: browsers accept the prefix __Host- only with Secure, Path=/ and no
	// domain, so no other host and no plain connection can set it. plainCookie is for http, as on loopback.
	secureCookie = "__Host-penstock_session"
	plainCookie  = "penstock_session"
	// HeaderCSRF is the header that carries the token of GET /v1/me.
	HeaderCSRF = "x-penstock-csrf"
	// tokenPrefix begins the token of a session.
	tokenPrefix = "pss_"
	// maxToken bounds the text that is hashed.
	maxToken = 256
)

// newToken generates the token of a session or a link: 260 random bits.
func newToken() string { return tokenPrefix + strings.ToLower(rand.Text()+rand.Text()) }

// hashOf is a token as it is stored.
func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// csrfOf is the token that the calls of a session carry. Only the server can derive it from the cookie, which pages cannot read.
func csrfOf(token string) string {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("penstock csrf"))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// browser reads and writes the cookies of people, and recognises the pages of this server.
type browser struct {
	publicURL string
	basePath  string
	clock     func() time.Time
}

// secure reports whether the browser reaches the server by https, perhaps through a proxy.
func (b *browser) secure(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(b.publicURL, "https://") || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// cookieName is the name of the session's cookie on the connection of a call.
func (b *browser) cookieName(r *http.Request) string {
	if b.secure(r) {
		return secureCookie
	}
	return plainCookie
}

// tokenOf returns the token of the session's cookie, "" if there is none. Over https the plain cookie does not count: a page of
// another host below the same domain could have set it.
func (b *browser) tokenOf(r *http.Request) string {
	if len(r.Header["Cookie"]) == 0 {
		return ""
	}
	c, err := r.Cookie(b.cookieName(r))
	if err != nil || len(c.Value) > maxToken {
		return ""
	}
	return c.Value
}

// SetCookie gives the browser the cookie of a session.
func (b *browser) SetCookie(w http.ResponseWriter, r *http.Request, in SignedIn) {
	http.SetCookie(w, b.cookie(r, in.Token, int(in.ExpiresAt.Sub(b.clock())/time.Second)))
}

// ClearCookie removes the cookie of a session.
func (b *browser) ClearCookie(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, b.cookie(r, "", -1))
}

func (b *browser) cookie(r *http.Request, value string, maxAge int) *http.Cookie {
	return &http.Cookie{Name: b.cookieName(r), Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, Secure: b.secure(r), SameSite: http.SameSiteLaxMode}
}

// CheckPage refuses a call that changes something and does not come from a page of this server. Codes: scope_missing.
func (b *browser) CheckPage(r *http.Request) error {
	if !b.ownOrigin(r) {
		return penstock.Errorf(penstock.CodeScopeMissing, "The Origin of this call is not that of this server. Sign in and act on the pages of this server; behind a proxy that changes the Host, set public_url.")
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return penstock.Errorf(penstock.CodeScopeMissing, "The browser says that this call comes from another site (Sec-Fetch-Site: %.20q).", site)
	}
	return nil
}

// ownOrigin reports whether the page of a call belongs to this server. The page of a browser that sends no Origin with a change
// is not known, so it does not count.
func (b *browser) ownOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	u, err := url.Parse(origin)
	if err != nil || origin == "" || u.Host == "" {
		return false
	}
	if public, err := url.Parse(b.publicURL); err == nil && b.publicURL != "" && strings.EqualFold(origin, public.Scheme+"://"+public.Host) {
		return true
	}
	return strings.EqualFold(u.Host, r.Host) && (u.Scheme == "https" || u.Scheme == "http" && !b.secure(r))
}

// checkCall refuses a call with a cookie that another site may have made. Codes: scope_missing.
func (b *browser) checkCall(r *http.Request, token string) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		if r.Header.Get("Sec-Fetch-Site") == "cross-site" { // a link on another site must not reveal or audit anything
			return penstock.Errorf(penstock.CodeScopeMissing, "Another site made this call. Open the address in this server's console instead.")
		}
		return nil
	}
	if err := b.CheckPage(r); err != nil {
		return err
	}
	if subtle.ConstantTimeCompare([]byte(r.Header.Get(HeaderCSRF)), []byte(csrfOf(token))) != 1 {
		return penstock.Errorf(penstock.CodeScopeMissing, "The header %s is missing or wrong; send the csrf of GET /v1/me.", HeaderCSRF)
	}
	return nil
}

// keyHashOf is the hash of an operator's key, as a session stores it.
func keyHashOf(secret string) string {
	digest, _ := config.Digest(secret)
	return hex.EncodeToString(digest[:])
}
