package wire

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"strings"

	"penstock/internal/provider"
)

// maxUpstreamIDBytes bounds the request id that is kept for support cases.
const maxUpstreamIDBytes = 128

// The content types of answers. Callers get the type for JSON or for events as the large providers write it, whatever
// type the upstream sent.
const (
	typeJSON   = "application/json"
	typeStream = "text/event-stream"
	typeEvents = typeStream + "; charset=utf-8"
)

// receive reads an answer until its success is certain. It reads by the answer's content type and not by the
// type that the request asked for: some servers answer a stream request with a plain body.
func (ex *exchange) receive(call *provider.Call) (provider.Answer, error) {
	header := ex.resp.Header
	meta := provider.Meta{
		StatusCode: ex.resp.StatusCode,
		// The caller gets the type by which the answer was read and no other: a browser must not take an upstream's answer
		// for a page.
		ContentType: typeJSON,
		UpstreamID:  clip(ex.client.withoutKey(cmp.Or(header.Get("X-Request-Id"), header.Get("Request-Id"), header.Get("X-Amzn-Requestid"))), maxUpstreamIDBytes),
		Limits:      ex.limits,
		Sent:        ex.upload.isClosed(),
	}
	encoding := header.Get("Content-Encoding")
	switch {
	case !isGood(ex.status()):
		return nil, ex.refusal(call)
	case encoding != "" && encoding != "identity":
		return nil, ex.fail(provider.KindMalformed, nil, "the answer is encoded as %.40q although none was accepted", ex.client.withoutKey(encoding))
	case isStream(mediaType(header), call):
		meta.ContentType = typeEvents
		return ex.openStream(call, meta)
	default:
		return ex.readPlain(meta)
	}
}

// isStream decides how to read an answer. To a stream request, anything but JSON is read as a
// stream, because not every server gives its streams their proper type.
func isStream(mediaType string, call *provider.Call) bool {
	if mediaType == typeStream {
		return true
	}
	return call.Stream && mediaType != typeJSON && !strings.HasSuffix(mediaType, "+json")
}

// plainAnswer is an answer in one piece. It is read to its end before the caller gets any of it.
type plainAnswer struct {
	chunk provider.Chunk
	meta  provider.Meta
	given bool
}

// maxPrealloc bounds the memory that is allocated on the strength of a Content-Length alone.
const maxPrealloc = 1 << 20

func (ex *exchange) readPlain(meta provider.Meta) (provider.Answer, error) {
	var buf bytes.Buffer
	n, limit := ex.resp.ContentLength, int64(ex.client.cfg.MaxAnswerBytes)
	if n > limit {
		return nil, ex.brokeOff(&http.MaxBytesError{Limit: limit})
	}
	if err := ex.readInto(&buf, n); err != nil {
		return nil, ex.brokeOff(err)
	}
	ex.close()
	body := buf.Bytes()
	part, err := ex.reader.Plain(body)
	if err != nil {
		// If our side ended the exchange, the rest may be missing although the server ended its answer properly.
		if e := ex.interrupted(err); e != nil {
			return nil, e
		}
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) && len(body) > 0:
		// An answer that ends with its connection may be cut off, and the transport cannot detect that.
		return nil, ex.fail(provider.KindTruncated, err, "the answer's JSON ends early")
	case err != nil:
		return nil, ex.fail(provider.KindMalformed, err, "the answer is not %s", ex.wanted)
	case part.Failed:
		return nil, ex.explain(body, nil)
	}
	setUsage(&meta, ex.reader)
	meta.SearchUnits = part.SearchUnits
	ex.trace.Read(body)
	ex.trace.Into(&meta)
	return &plainAnswer{chunk: provider.Chunk{Wire: body, Text: part.Text, Last: true}, meta: meta}, nil
}

// readInto reads the body of an answer with a Content-Length of n, or -1 if it has none. The memory for all n bytes is
// reserved beforehand, so that two answers never wait for each other, each with half of its memory; it is allocated when
// the first bytes have arrived.
func (ex *exchange) readInto(buf *bytes.Buffer, n int64) error {
	if n < 0 {
		ex.body.meter(ex.memory, 0)
		_, err := buf.ReadFrom(&ex.body)
		return err
	}
	if err := ex.take(n + bytes.MinRead); err != nil {
		return err
	}
	buf.Grow(int(min(n, maxPrealloc)) + bytes.MinRead)
	if n > maxPrealloc {
		if _, err := io.CopyN(buf, &ex.body, maxPrealloc); err != nil {
			return err
		}
		buf.Grow(int(n-maxPrealloc) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(&ex.body)
	return err
}

// take reserves memory.
func (ex *exchange) take(n int64) error {
	if ex.memory == nil {
		return nil
	}
	return ex.memory.Take(n)
}

// leastTake is the least memory that is reserved at a time.
const leastTake = 64 << 10

// answerBody is the body of an answer up to a limit. A larger body is an http.MaxBytesError. If the body is metered, it reserves memory before it
// is read: as much again as has arrived, which is how buffers grow.
type answerBody struct {
	body  io.Reader
	left  int64 // that may still be read
	limit int64
	err   error // how it ended

	memory provider.Memory // nil for a body that is not metered
	taken  int64           // of memory
	held   int64           // bytes that were read and are still held
}

func newAnswerBody(from io.Reader, limit int) answerBody {
	return answerBody{body: from, left: int64(limit), limit: int64(limit)}
}

// meter has the body reserve memory beyond what was taken already.
func (b *answerBody) meter(memory provider.Memory, taken int64) {
	b.memory, b.taken, b.held = memory, taken, 0
}

func (b *answerBody) Read(p []byte) (n int, err error) {
	if b.err != nil {
		return 0, b.err
	}
	if b.memory != nil && b.held+int64(len(p)) > b.taken {
		more := max(leastTake, b.held)
		if err := b.memory.Take(more); err != nil {
			return 0, err
		}
		b.taken += more
		p = p[:min(int64(len(p)), b.taken-b.held)]
	}
	n, err = b.body.Read(p[:min(int64(len(p)), b.left+1)]) // one byte past the limit proves that there is more
	if int64(n) > b.left {
		n, err = int(b.left), &http.MaxBytesError{Limit: b.limit}
	}
	b.left -= int64(n)
	b.held += int64(n)
	b.err = err
	return n, err
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

func isGood(status int) bool { return status >= 200 && status < 300 }
