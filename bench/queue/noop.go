package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"penstock"
	"penstock/internal/provider"
)

// noop is an upstream in this process: it answers at once with what a small answer looks like, so that
// the figures are the queue's and not HTTP's. Everything around it, from routing to metering, is real.
type noop struct {
	// started is told of every call before it is answered; nil for nobody.
	started func(body []byte)
}

func (n noop) Provider(string) (provider.Provider, bool) { return n, true }

func (n noop) Call(_ context.Context, call provider.Call) (provider.Answer, error) {
	if n.started != nil {
		n.started(call.Body)
	}
	return new(noopAnswer), nil
}

type noopAnswer struct{ read bool }

func (a *noopAnswer) Next() (provider.Chunk, error) {
	if a.read {
		return provider.Chunk{}, io.EOF
	}
	a.read = true
	return provider.Chunk{Wire: []byte(answerBody)}, nil
}

func (a *noopAnswer) Meta() provider.Meta {
	return provider.Meta{StatusCode: 200, ContentType: "application/json", UsageKnown: true,
		Usage: penstock.Usage{InputTokens: 40, OutputTokens: 9}}
}

func (a *noopAnswer) Close() error { return nil }

const answerBody = `{"id":"chatcmpl-1","object":"chat.completion","created":1760000000,"model":"noop","choices":[{"index":0,` +
	`"message":{"role":"assistant","content":"The gate is open and the water runs."},"finish_reason":"stop"}],` +
	`"usage":{"prompt_tokens":40,"completion_tokens":9,"total_tokens":49}}`

// prompt is a request of about 256 bytes, each a different one.
func prompt(n int) []byte {
	const frame = `{"model":"noop","max_tokens":64,"messages":[{"role":"user","content":"%08d %s"}]}`
	return fmt.Appendf(nil, frame, n, strings.Repeat("weir ", 36))
}
