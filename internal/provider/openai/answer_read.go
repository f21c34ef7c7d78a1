package openai

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"

	"penstock/internal/provider"
)

// maxUpstreamIDBytes bounds the request id that is kept for support cases.
const maxUpstreamIDBytes = 128

// receive reads an answer up to the point where it can be believed. It is read as what it says it
// is, not as what was asked for: some servers answer a stream request with a plain body.
func (p *Provider) receive(ex *exchange, call provider.Call) (provider.Answer, error) {
	header := ex.resp.Header
	meta := provider.Meta{
		StatusCode:  ex.resp.StatusCode,
		ContentType: header.Get("Content-Type"),
		UpstreamID:  clip(header.Get("X-Request-Id"), maxUpstreamIDBytes),
		Limits:      ex.limits,
	}
	encoding := header.Get("Content-Encoding")
	switch {
	case !isGood(ex.status()):
		return nil, p.refusal(ex)
	case encoding != "" && encoding != "identity":
		return nil, ex.fail(provider.KindMalformed, nil, "the answer is encoded as %.40q although none was accepted", encoding)
	case isStream(mediaType(header), call):
		return p.openStream(ex, call, meta)
	default:
		return p.readPlain(ex, meta)
	}
}

// isStream decides how to read an answer. To a stream request, anything but JSON is read as a
// stream, because not every server gives its streams their proper type.
func isStream(mediaType string, call provider.Call) bool {
	if mediaType == "text/event-stream" {
		return true
	}
	return call.Stream && mediaType != "application/json" && !strings.HasSuffix(mediaType, "+json")
}

// plainAnswer is an answer in one piece. It was read to its end before anyone saw it.
type plainAnswer struct {
	chunk provider.Chunk
	meta  provider.Meta
	given bool
}

// maxPrealloc bounds the memory that is set aside on the word of a Content-Length alone.
const maxPrealloc = 1 << 20

func (p *Provider) readPlain(ex *exchange, meta provider.Meta) (provider.Answer, error) {
	var buf bytes.Buffer
	n := ex.resp.ContentLength
	if n > int64(p.cfg.MaxAnswerBytes) {
		return nil, ex.brokeOff(&http.MaxBytesError{Limit: int64(p.cfg.MaxAnswerBytes)})
	}
	if n > 0 {
		buf.Grow(int(min(n, maxPrealloc)) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(ex.body); err != nil {
		return nil, ex.brokeOff(err)
	}
	ex.close()
	body := buf.Bytes()
	var c completion
	if err := json.Unmarshal(body, &c, lenient); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) && len(body) > 0 {
			// Servers that delimit by closing the connection can be cut without anyone noticing below.
			return nil, ex.fail(provider.KindTruncated, err, "the answer's JSON ends early")
		}
		return nil, ex.fail(provider.KindMalformed, err, "the answer is not a chat completion")
	}
	if c.failed() {
		return nil, p.explain(ex, body)
	}
	if c.Choices == nil {
		return nil, ex.fail(provider.KindMalformed, nil, "the answer is not a chat completion: it has no choices")
	}
	meta.Usage, meta.UsageKnown = c.tokens()
	return &plainAnswer{chunk: provider.Chunk{Wire: body, Text: c.text()}, meta: meta}, nil
}

func (a *plainAnswer) Next() (provider.Chunk, error) {
	if a.given {
		return provider.Chunk{}, io.EOF
	}
	a.given = true
	return a.chunk, nil
}

func (a *plainAnswer) Meta() provider.Meta { return a.meta }

func (a *plainAnswer) Close() error { return nil }
