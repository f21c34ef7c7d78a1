package wire

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/provider"
)

// maxMessageBytes bounds what an error repeats of an upstream's words.
const maxMessageBytes = 1 << 10

// refusal reads an answer whose status is bad and explains it.
func (ex *exchange) refusal() *provider.Error {
	body, err := io.ReadAll(io.LimitReader(ex.body, int64(ex.client.cfg.MaxErrorBytes)+1))
	if err != nil {
		if e := ex.interrupted(err); e != nil {
			return e
		}
		// The status was told: that is enough to go by.
		body = nil
	}
	if len(body) > ex.client.cfg.MaxErrorBytes {
		body = nil
	}
	return ex.explain(body)
}

// explain makes an error of a body that holds one, be it the answer to a bad request or inside a
// good answer.
func (ex *exchange) explain(body []byte) *provider.Error {
	c := ex.reader.Complaint(ex.status(), body)
	if ex.status() >= http.StatusBadRequest {
		// The headers of a good answer were sent before its error came about.
		c.Kind = c.Kind.Advised(ex.resp.Header)
	}
	e := ex.fail(c.Kind, nil, "%s", ex.client.scrub(c.describe(ex.resp, body)))
	e.RetryAfter = provider.ParseRetryAfter(ex.resp.Header, time.Now())
	if e.RetryAfter == 0 && e.Kind == provider.KindRateLimited {
		// The time at which a limit is reset is better than nothing.
		e.RetryAfter = e.Limits.Wait()
	}
	if c.Body != nil && !ex.client.mentionsKey(c.Message) {
		e.Body = ex.client.bodyWithoutKey(c.Body)
	}
	if e.Kind == provider.KindAuth {
		// Upstreams quote parts of the key that they refuse. That is for whoever runs Penstock.
		e.Err = errors.New(e.Message)
		e.Message = "the upstream refused the provider's credentials; check its api_key"
		e.Body = nil
	}
	return e
}

// describe says what the upstream said, or what it did if it said nothing of use.
func (c Complaint) describe(resp *http.Response, body []byte) string {
	if c.Message != "" {
		return c.Message
	}
	status := fmt.Sprintf("the upstream answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400, resp.StatusCode == http.StatusNotFound,
		resp.StatusCode == http.StatusMethodNotAllowed:
		return status + "; check the provider's base_url"
	case mediaType(resp.Header) == "text/plain" && len(body) > 0:
		return status + ": " + string(body)
	}
	return status
}

func (c *Client) mentionsKey(s string) bool { return c.secrets.replace(s) != s }

func (c *Client) withoutKey(s string) string { return c.secrets.replace(s) }

// bodyWithoutKey is an error body without our keys, nil if there is none that is still JSON.
func (c *Client) bodyWithoutKey(body []byte) []byte {
	clean := c.secrets.replace(string(body))
	if clean != string(body) && !jsontext.Value(clean).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return nil
	}
	return []byte(clean)
}

// scrub makes an upstream's words fit for an error message: without our key, and bounded.
func (c *Client) scrub(s string) string {
	return clip(strings.TrimSpace(c.withoutKey(s)), maxMessageBytes)
}

// clip shortens text that is not ours and makes it printable.
func clip(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit] + "…"
	}
	return strings.ToValidUTF8(s, "")
}

// mediaType is the content type without its parameters, "" when there is none that can be read.
func mediaType(h http.Header) string {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return t
}

// KindOfStatus is what a status means where nothing more precise is told.
func KindOfStatus(status int) provider.Kind {
	switch status {
	case http.StatusTooManyRequests:
		return provider.KindRateLimited
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return provider.KindAuth
	case http.StatusPaymentRequired:
		return provider.KindSpendCap
	case http.StatusRequestTimeout:
		return provider.KindTimeout
	case http.StatusServiceUnavailable, statusOverloaded:
		return provider.KindOverloaded
	}
	if status >= 400 && status < 500 {
		return provider.KindRejected
	}
	return provider.KindServer
}

// statusOverloaded is not in the standard, but some providers use it.
const statusOverloaded = 529
