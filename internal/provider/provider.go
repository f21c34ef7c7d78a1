// Package provider is the contract between an attempt and an upstream, and the one table that says
// what each kind of upstream error means for retries.
//
// An adapter (provider/openai, provider/anthropic) speaks one upstream protocol, over what all of them
// share (provider/wire). Together they own the wire: URLs, headers, framing, timeouts while bytes move,
// and the classification of everything that can go wrong into an error [Kind]. They do not own choices:
// which target to call, whether to try again and what to charge belong to packages route, queue and
// attempt.
//
// Adapters are safe for concurrent use; an [Answer] belongs to one goroutine.
package provider

import (
	"context"
	"net/http"
	"time"

	"penstock"
	"penstock/internal/body"
)

// Provider calls one upstream.
type Provider interface {
	// Call sends an inference and returns when the upstream has answered well enough to be
	// believed: the status was good and the first chunk has arrived and is no error. Until then
	// nothing was shown to the caller, so another target may still be tried.
	//
	// The context bounds the whole exchange, the reading of the answer included; when it ends, the
	// upstream connection is closed. Every error is an *Error.
	Call(ctx context.Context, call Call) (Answer, error)

	// Speaks reports whether the upstream understands the dialect of an endpoint itself. A call in
	// another one must be translated before.
	Speaks(penstock.Endpoint) bool
}

// Checker is a provider whose upstream ignores or refuses some members of its dialect.
type Checker interface {
	// Unsupported returns the name of a member of the call's body that asks for something which the upstream cannot do, "" for none.
	Unsupported(Call) string
}

// Call is one inference addressed to one upstream model.
type Call struct {
	Endpoint penstock.Endpoint
	// Body is what the caller sent, in the dialect of Endpoint. The adapter must not change it, and
	// forwards it as it is but for what must differ, so that prompt caches keep working. Nothing may read it once the answer is
	// closed or the call has failed: its memory is used for other calls.
	Body []byte
	// Object is the scanned Body, so that the adapter need not scan it again; nil if it was not scanned.
	Object *body.Object
	// UpstreamModel replaces the body's model.
	UpstreamModel string
	// Stream is what the body asks for; the adapter does not have to look for it again.
	Stream bool
	// Timeouts bound the phases of the exchange. A zero phase is unbounded.
	Timeouts Timeouts
	// Deadline is when the answer has to be complete; zero for never. It is not the context's: the adapter
	// has a clock for the phases already, and a second one would cost every call.
	Deadline time.Time
	// Memory bounds what of the answer may be held in memory; nil for no bounds but the adapter's own.
	Memory Memory
	// Header carries end-to-end headers for the upstream, such as traceparent. May be nil.
	Header http.Header
	// Waiting is called before the next chunk of a streamed answer is waited for: all chunks that have arrived were returned by then. An
	// error ends the answer. May be nil; see Chunk.More.
	Waiting func() error
	// Traced says that a trace records the answer: see Meta.Traced.
	Traced bool
}

// Memory is who accounts for the bytes of answers.
type Memory interface {
	// Take asks for the memory of more bytes, and may wait for it. The attempt that made the call gives it back. Codes:
	// rate_limited, overloaded.
	Take(n int64) error
}

// Timeouts bound the phases of a call.
type Timeouts struct {
	Connect    time.Duration // dialling and TLS, for a new connection
	FirstToken time.Duration // from sending the request to the first chunk of the answer
	Idle       time.Duration // between two chunks
}

// Answer is an upstream's answer being read. Chunks come in order; the first one is already there.
type Answer interface {
	// Next returns the next chunk, io.EOF after a complete answer, or an *Error when the answer
	// broke off: an upstream that ends without its protocol's terminator is truncated, not done.
	// The chunk is valid until the next call.
	Next() (Chunk, error)
	// Meta describes the answer as a whole. Usage grows while chunks are read.
	Meta() Meta
	// Close ends the exchange. It is safe to call at any time, also twice.
	Close() error
}

// Chunk is a part of an answer: the whole body of a plain one, an event of a streamed one.
type Chunk struct {
	// Wire is what a caller of the same dialect receives, framing included. It is empty for a chunk
	// that the caller did not ask for, such as injected usage.
	Wire []byte
	// Text is the generated text that the chunk carries, if any.
	Text string
	// Last says that the answer is complete with this chunk. Not every answer has such a chunk: it may end with io.EOF alone.
	Last bool
	// More says that the next chunk has arrived as well, or that Call.Waiting is called before it is waited for. A sink may then send
	// the two together. A stage that delays chunks clears it.
	More bool
}

// Meta is what is known about an answer.
type Meta struct {
	StatusCode  int
	ContentType string
	UpstreamID  string // the upstream's own request id, for support cases
	Usage       penstock.Usage
	UsageKnown  bool // false while the upstream has not reported all of it; Usage then holds the part that it reported
	// UsageInvalid says that the upstream reported invalid counts, such as strings or numbers below zero. UsageKnown is then false.
	UsageInvalid bool
	// Owed says that the upstream may have charged for more than Usage, although the call failed with an error that is not charged for: it
	// is one of several calls. Package fan sets it.
	Owed bool
	// SearchUnits are those that the upstream reported for a ranking, 0 for none.
	SearchUnits int64
	Limits      RateLimits // as of the answer's beginning
	Sent        bool       // the whole request was sent: nothing reads Call.Body any more. Otherwise that holds once the answer is closed
	Note        string     // a remark on how it came about, such as the key that was used; "" for none
	Traced      *Traced    // nil unless the call asked for it
	// Dropped names the members of the request that the upstream has no equivalent for, and that were left out; "" for none.
	Dropped string
	// Skipped names the targets whose turn it was and that could not serve the call, with the reasons; "" for none.
	// Package attempt sets it.
	Skipped string
}

// Traced are the facts of an answer that only traces show, in the upstream's own words as far as they are plain ones.
type Traced struct {
	Model         string   // that answered, "" if unknown
	FinishReasons []string // one for each choice, as far as it came
}
