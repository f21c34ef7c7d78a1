package wire

import (
	"bytes"
	"cmp"
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

// maxMessageBytes bounds the part of an upstream's message that an error repeats.
const maxMessageBytes = 1 << 10

// refusal makes an error of an answer with an error status.
func (ex *exchange) refusal(call *provider.Call) *provider.Error {
	body, err := io.ReadAll(io.LimitReader(&ex.body, int64(ex.client.cfg.MaxErrorBytes)+1))
	if err != nil {
		if e := ex.interrupted(err); e != nil {
			return e
		}
		// The status is known, and is enough.
		body = nil
	}
	if len(body) > ex.client.cfg.MaxErrorBytes {
		body = nil
	}
	return ex.explain(body, call)
}

// explain makes an error of a body that contains one, of an error status or inside a good answer. The
// call is nil when the answer had begun: the request body may be released by then.
func (ex *exchange) explain(body []byte, call *provider.Call) *provider.Error {
	c := ex.reader.Complaint(ex.status(), body)
	ex.judgeQuota(&c, call)
	if ex.status() >= http.StatusBadRequest {
		// The headers of a good answer were sent before its error happened.
		c.Kind = c.Kind.Advised(ex.resp.Header)
	}
	e := ex.fail(c.Kind, nil, "%s", ex.client.scrub(c.describe(ex.resp, body)))
	e.RetryAfter, e.Quota = provider.ParseRetryAfter(ex.resp.Header, time.Now()), c.Quota
	switch e.Kind {
	case provider.KindRateLimited:
		e.RetryAfter = ex.limitWait(c.Quota)
	case provider.KindTooLarge:
		// The upstream's words may name our account with it.
		e.Err, e.Message, e.RetryAfter = errors.New(e.Message), tooLargeMessage(c.Quota), 0
	}
	if c.Body != nil && e.Kind != provider.KindForbidden && !ex.client.mentionsKey(c.Message) {
		e.Body = ex.client.bodyWithoutKey(c.Body)
	}
	if e.Kind == provider.KindAuth {
		// Upstreams quote parts of the key that they refuse. Only the operator may see that.
		e.Err = errors.New(e.Message)
		e.Message = "the upstream refused the provider's credentials; check its api_key"
		e.Body = nil
	}
	return e
}

// judgeQuota decides what a refusal for a limit means: too many requests, or a request that is too large and never fits.
func (ex *exchange) judgeQuota(c *Complaint, call *provider.Call) {
	if c.Kind != provider.KindRateLimited && c.Kind != provider.KindTooLarge {
		c.Quota = provider.Quota{}
		return
	}
	size := provider.Size{Wait: provider.ParseWait(ex.resp.Header, time.Now())}
	if call != nil {
		size.Tokens = inputTokens(call.Body)
	}
	if c.Quota = c.Quota.Judge(ex.limits, size); c.Quota.Oversized {
		c.Kind = provider.KindTooLarge
	}
}

// limitWait is how long to pause the limit that a refusal names: by the headers, else by its text, else until the limit is
// reset; never longer than the window of the limit.
func (ex *exchange) limitWait(q provider.Quota) time.Duration {
	wait := provider.ParseWait(ex.resp.Header, time.Now())
	if wait == 0 {
		wait = q.Wait
	}
	if wait == 0 {
		wait = ex.limits.Wait()
	}
	return q.Bound(wait)
}

// bytesPerToken is about what a token is of English, and of JSON.
const bytesPerToken = 4

// inputTokens estimates the tokens of a refused call by its length, 0 where data is attached: its bytes say nothing about that.
func inputTokens(body []byte) int64 {
	if bytes.Contains(body, []byte("base64")) || bytes.Contains(body, []byte("input_audio")) {
		return 0
	}
	return int64(len(body) / bytesPerToken)
}

// tooLargeMessage says what the caller can change.
func tooLargeMessage(q provider.Quota) string {
	if q.Limit == 0 || q.Requested == 0 {
		return "the request is larger than the upstream's limits allow at any time; shorten it, or ask for a shorter answer"
	}
	return fmt.Sprintf("the request needs %d %s, and the upstream's limit is %d; shorten it, or ask for a shorter answer",
		q.Requested, strings.ReplaceAll(string(cmp.Or(q.Resource, provider.ResourceTokens)), "_", " "), q.Limit)
}

// describe is the upstream's message, or a description of the answer if it has no usable message.
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

// bodyWithoutKey is an error body without our keys, nil if the rest is not JSON.
func (c *Client) bodyWithoutKey(body []byte) []byte {
	clean := c.secrets.replace(string(body))
	if clean != string(body) && !jsontext.Value(clean).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return nil
	}
	return []byte(clean)
}

// scrub makes an upstream's message fit for an error: without our key, and bounded.
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
	text := h.Get("Content-Type")
	switch text { // as nearly all answers have it
	case typeJSON, typeJSON + "; charset=utf-8":
		return typeJSON
	case typeStream, typeEvents:
		return typeStream
	}
	t, _, err := mime.ParseMediaType(text)
	if err != nil {
		return ""
	}
	return t
}
