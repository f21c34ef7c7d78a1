// Package providertest holds every adapter to the contract of package provider.
//
// It owns the scripted upstream and the cases: what an adapter must do when an upstream answers, and
// when it fails in each of the ways that upstreams fail. It does not know any protocol. An adapter's
// test describes its own as a [Dialect], a handful of golden transcripts, and calls [Run].
//
// The upstream is a real HTTP server on loopback, so that what is tested is what runs: connections,
// their reuse and their end included. Every case runs on each road by which upstreams are reached: plain HTTP/1.1,
// and HTTP/1.1 and HTTP/2 over TLS. Cases run in parallel; each has an upstream and an adapter of its own.
package providertest

import (
	"crypto/x509"
	"net/http"
	"testing"
	"time"

	"penstock"
	"penstock/internal/provider"
)

// Harness ties the suite to an adapter.
type Harness struct {
	// New makes the adapter under test. It fails the test if it cannot, and registers a cleanup that
	// closes the adapter's pooled connections.
	New func(t testing.TB, upstream Config) provider.Provider
	// Dialect is the protocol that the adapter speaks.
	Dialect Dialect
	// Plain leaves out the roads with TLS, for a dialect of an adapter that has taken them with another one.
	Plain bool

	road road // to the upstream
}

// Config is what an adapter needs to know of the upstream.
type Config struct {
	URL            string // scheme and host
	APIKey         string
	RootCAs        *x509.CertPool // who vouches for it; nil without TLS
	MaxAnswerBytes int            // 0 for the adapter's default
}

// Dialect is a protocol by example.
type Dialect struct {
	Endpoint penstock.Endpoint
	// Path is where the upstream must see the call.
	Path string
	// Credentials returns the header by which the upstream must be shown the API key.
	Credentials func(apiKey string) (name, value string)

	// Plain is a call that wants its answer in one piece.
	Plain Transcript
	// Stream is a call that wants a stream and asks for all that the adapter needs to know.
	Stream Transcript
	// StreamHidden is a call whose stream holds chunks that only the adapter asked for. Leave it empty
	// for a protocol that has no such thing.
	StreamHidden Transcript

	// Framing is how the upstream sends an event, for a protocol whose streams are not server-sent events; frames are written as callers
	// get them. Nil for server-sent events.
	Framing *Framing

	// LargeFrame makes an event of a stream that carries the given text.
	LargeFrame func(text string) Frame
	// ErrorFrame is an error inside a stream, and ErrorBody one inside a good plain answer.
	ErrorFrame, ErrorBody InBandError
	// MalformedFrames are events that are not of the protocol, in good framing.
	MalformedFrames []string
	// MalformedBodies are plain answers that are not of the protocol.
	MalformedBodies []string
	// Failures are answers with a bad status. One of them must be a rate limit.
	Failures []Failure
	// EchoBody makes an error body in which the upstream repeats some text of the request. It comes
	// with status 400.
	EchoBody func(text string) string
}

// Framing is the form of a stream on the wire.
type Framing struct {
	Type   string                    // the content type
	Encode func(event string) string // an event as the upstream sends it
}

// onWire is a frame as the upstream sends it.
func (d Dialect) onWire(frame string) string {
	if d.Framing == nil {
		return frame
	}
	return d.Framing.Encode(frame)
}

// Transcript is a call and the complete answer to it.
type Transcript struct {
	// Body is what the caller sent, and UpstreamModel what its model is called upstream.
	Body          string
	UpstreamModel string
	// Sent is what the upstream must receive, to the byte.
	Sent string
	// Answer is the upstream's answer: one frame if it is plain. The last frame of a stream is its
	// terminator.
	Answer []Frame
	Usage  penstock.Usage
}

// Frame is a part of an answer.
type Frame struct {
	Wire   string
	Text   string // the generated text in it
	Hidden bool   // the caller must not get it
}

// InBandError is an error where an answer belongs, and what it must be taken for.
type InBandError struct {
	Wire string
	Kind provider.Kind
}

// Failure is an answer with a bad status, and what it must be taken for.
type Failure struct {
	Name   string
	Status int
	Header http.Header
	Body   string

	Kind provider.Kind
	// RetryAfter is how long the upstream asks to wait.
	RetryAfter time.Duration
	// Says must appear in the error's message.
	Says string
	// KeepsBody: the error carries Body, for callers of the same dialect.
	KeepsBody bool
}

// Run runs every case against the adapter, on every road to an upstream.
func Run(t *testing.T, h Harness) {
	t.Helper()
	for _, road := range roads {
		if h.Plain && road.scheme == "https" {
			continue
		}
		t.Run(road.name, func(t *testing.T) {
			t.Parallel()
			own := h // the roads run side by side
			own.road = road
			own.run(t)
		})
	}
}

func (h Harness) run(t *testing.T) {
	for _, group := range []struct {
		name  string
		cases []testCase
	}{
		{"answer", answerCases(h.Dialect)},
		{"failure", failureCases(h.Dialect)},
		{"timeout", timeoutCases(h.Dialect)},
		{"wait", waitCases(h.Dialect)},
		{"connection", connectionCases(h.Dialect)},
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(t, h)
				})
			}
		})
	}
}

// testCase is one thing that an adapter must do.
type testCase struct {
	name string
	run  func(t *testing.T, h Harness)
}

const testKey = "sk-test-0123456789abcdef"

// open starts an upstream with the given script and an adapter that calls it.
func (h Harness) open(t testing.TB, script ...Step) (provider.Provider, *Upstream) {
	t.Helper()
	up := h.road.upstream(t, script...)
	return h.New(t, Config{URL: up.URL, APIKey: testKey, RootCAs: up.rootCAs}), up
}

// call makes the provider call of a transcript.
func (d Dialect) call(tr Transcript) provider.Call {
	return provider.Call{
		Endpoint: d.Endpoint, Body: []byte(tr.Body), UpstreamModel: tr.UpstreamModel,
		Stream: len(tr.Answer) > 1,
	}
}
