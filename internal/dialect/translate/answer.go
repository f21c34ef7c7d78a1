package translate

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"penstock/internal/dialect"
	"penstock/internal/provider"
	"penstock/internal/sse"
)

const (
	// maxEventBytes bounds one event of an upstream's stream.
	maxEventBytes = 16 << 20
	// maxAnswerBytes bounds an answer in one piece, and a stream that has to be gathered into one.
	maxAnswerBytes = 64 << 20
	// maxSaidBytes bounds the part of an upstream's message that an error repeats.
	maxSaidBytes = 500

	typeJSON   = "application/json"
	typeStream = "text/event-stream"
)

// reader reads an upstream's answer and calls a writer with its parts.
type reader interface {
	// plain reads an answer in one piece.
	plain(body []byte, w writer) error
	// event reads an event of a stream. Types of events that it does not know mean nothing.
	event(data []byte, w writer) error
	// ending is how the answer ended. It is called after the upstream's last byte.
	ending() (ending, error)
	// dropped names the parts read so far that the caller's dialect cannot express.
	dropped() []string
}

// identified is a reader of answers that have no id of their own.
type identified interface {
	// identify sets the id of the upstream's request, which takes the place of the answer's.
	identify(id string)
}

// writer writes an answer in the caller's dialect. Its methods are called in the order of the answer.
type writer interface {
	// begin opens the answer, once, with the upstream's id for it.
	begin(id string)
	// thought adds to the model's reasoning.
	thought(part string)
	// text adds to the model's text.
	text(part string)
	// call begins the call of a tool.
	call(id, name string)
	// arguments adds to the arguments, JSON as text, of the call that began last.
	arguments(part string)
	// idle keeps the caller's connection alive while the upstream sends no content.
	idle()
	// end closes the answer.
	end(ending) error
	// take returns the bytes that were written since the last call of take.
	take() provider.Chunk
}

// refuser is a writer that tells a refusal of the model from its text.
type refuser interface{ refuse(part string) }

// Answer implements [Translation].
func (t *translation) Answer(upstream provider.Answer, asked dialect.Asked) provider.Answer {
	a := &answer{upstream: upstream, chunks: chunkReader{from: upstream}, in: t.reader(), out: t.plain(asked), contentType: typeJSON}
	if asked.Stream {
		a.out, a.contentType = t.streamed(asked), typeStream
	}
	if t.object != nil {
		if member := t.object(asked.Body); member != "" {
			a.out = &objectChecker{writer: a.out, member: member}
		}
	}
	if r, ok := a.in.(callLimiter); ok && t.oneCall != nil && t.oneCall(asked.Body) {
		r.keepFirstCall()
	}
	if r, ok := a.in.(identified); ok {
		r.identify(upstream.Meta().UpstreamID)
	}
	if isStream(upstream.Meta().ContentType, asked) {
		a.events = sse.NewReader(&a.chunks, maxEventBytes)
	}
	return a
}

// isStream decides how to read an answer as the adapters do: by its content type; for a call that asked for
// a stream, anything but JSON is a stream.
func isStream(contentType string, asked dialect.Asked) bool {
	mediaType, _, _ := strings.Cut(contentType, ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	return mediaType == typeStream || (asked.Stream && mediaType != typeJSON && !strings.HasSuffix(mediaType, "+json"))
}

// answer is an upstream's answer in the caller's dialect.
type answer struct {
	upstream    provider.Answer
	chunks      chunkReader
	events      *sse.Reader // nil for an answer in one piece
	in          reader
	out         writer
	contentType string
	err         error // how it ended, nil until then
}

func (a *answer) Meta() provider.Meta {
	meta := a.upstream.Meta()
	meta.ContentType = a.contentType
	return meta
}

func (a *answer) Close() error { return a.upstream.Close() }

// Dropped names the parts of the answer so far that the caller's dialect cannot express, such as
// answer.thinking.
func (a *answer) Dropped() []string { return a.in.dropped() }

func (a *answer) Next() (provider.Chunk, error) {
	if a.err != nil {
		return provider.Chunk{}, a.err
	}
	if a.events != nil {
		a.events.Await() // here and not in step, which takes more of the stack that a stream waits on
	}
	err := a.step()
	if err == io.EOF {
		err = a.finish()
	}
	if err != nil {
		a.err = a.failure(err)
		return provider.Chunk{}, a.err
	}
	chunk := a.out.take()
	chunk.Last = a.err == io.EOF
	chunk.More = a.chunks.more && !chunk.Last
	return chunk, nil
}

// step reads the next event, or the whole of an answer in one piece. io.EOF means that all was read.
func (a *answer) step() error {
	if a.events == nil {
		return a.whole()
	}
	ev, err := a.events.Next()
	// The upstream's answer says whether it is complete, so a last event without its blank line is fine.
	unfinished := err == io.ErrUnexpectedEOF
	if err != nil && !unfinished {
		return err
	}
	switch data := bytes.TrimSpace(ev.Data); {
	case len(data) == 0:
		a.out.idle()
	default:
		if err := a.in.event(data, a.out); err != nil {
			return err
		}
	}
	if unfinished {
		return io.EOF
	}
	return nil
}

func (a *answer) whole() error {
	text, err := io.ReadAll(io.LimitReader(&a.chunks, maxAnswerBytes+1))
	switch {
	case err != nil:
		return err
	case len(text) > maxAnswerBytes:
		return malformed(nil, "it is too large to be translated")
	}
	if err := a.in.plain(text, a.out); err != nil {
		return err
	}
	return io.EOF
}

// finish closes an answer that is complete. What it writes is the last chunk.
func (a *answer) finish() error {
	end, err := a.in.ending()
	if err != nil {
		return err
	}
	if err := a.out.end(end); err != nil {
		return err
	}
	a.err = io.EOF
	return nil
}

// failure is the error that Next returns. The upstream's own errors are returned unchanged.
func (a *answer) failure(err error) error {
	if e, ok := errors.AsType[*provider.Error](err); ok {
		if e.StatusCode == 0 && e.Kind == provider.KindMalformed {
			e.StatusCode = a.upstream.Meta().StatusCode
		}
		return err
	}
	if _, ok := errors.AsType[*sse.TooLargeError](err); ok {
		return malformed(err, "an event is too large")
	}
	return err
}

func malformed(err error, what string) *provider.Error {
	return &provider.Error{Kind: provider.KindMalformed, Message: "the upstream's answer cannot be translated: " + what, Err: err}
}

// chunkReader reads the bytes of an answer's chunks.
type chunkReader struct {
	from provider.Answer
	rest []byte // of the last chunk, which is valid until the next one is asked for
	more bool   // the next chunk has arrived, or is announced before it is waited for
}

func (r *chunkReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		chunk, err := r.from.Next()
		if err != nil {
			return 0, err
		}
		r.rest, r.more = chunk.Wire, chunk.More
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
