package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"penstock"
	"penstock/internal/provider"
)

// noop is an upstream in this process: it answers at once, or after a service time, with what a small
// answer looks like, so that the figures are the queue's and not HTTP's. Everything around it, from
// routing to metering, is real.
type noop struct {
	// started is called when a call begins; nil for none.
	started func(body []byte)
	service time.Duration
}

func (n *noop) Provider(string) (provider.Provider, bool) { return n, true }

func (n *noop) Speaks(penstock.Endpoint) bool { return true }

func (n *noop) Call(ctx context.Context, call provider.Call) (provider.Answer, error) {
	if n.started != nil {
		n.started(call.Body)
	}
	if n.service > 0 {
		sleep(ctx, n.service)
	}
	return &noopAnswer{usage: usageOf(call.Body)}, nil
}

type noopAnswer struct {
	usage penstock.Usage
	read  bool
}

func (a *noopAnswer) Next() (provider.Chunk, error) {
	if a.read {
		return provider.Chunk{}, io.EOF
	}
	a.read = true
	return provider.Chunk{Wire: answerWire}, nil
}

func (a *noopAnswer) Meta() provider.Meta {
	return provider.Meta{StatusCode: 200, ContentType: "application/json", UsageKnown: true, Usage: a.usage}
}

func (a *noopAnswer) Close() error { return nil }

// answerWire is what every answer consists of; readers copy what they keep.
var answerWire = []byte(answerBody)

const answerBody = `{"id":"chatcmpl-1","object":"chat.completion","created":1760000000,"model":"noop","choices":[{"index":0,` +
	`"message":{"role":"assistant","content":"The gate is open and the water runs."},"finish_reason":"stop"}],` +
	`"usage":{"prompt_tokens":64,"completion_tokens":9,"total_tokens":73}}`

// usageOf is what a model would have charged for a prompt, which is less than its bytes: what an item
// uses differs from what it was estimated at.
func usageOf(body []byte) penstock.Usage {
	return penstock.Usage{InputTokens: int64(len(body) / 4), OutputTokens: 9}
}

const (
	promptHead = `{"model":"noop","max_tokens":64,"messages":[{"role":"user","content":"`
	promptTail = `"}]}`
	// promptWords makes a prompt of about 256 bytes.
	promptWords = 35
	// maxOutput is what an item is estimated at beyond the bytes of its prompt.
	maxOutput = 64
)

// label distinguishes prompts.
type label struct {
	tenant penstock.TenantID
	serial int64
}

// prompt is a request that carries its label.
func prompt(l label, words int) []byte {
	const word, digits = "weir ", 20
	b := make([]byte, 0, len(promptHead)+len(l.tenant)+digits+2+words*len(word)+len(promptTail))
	b = append(append(b, promptHead...), l.tenant...)
	b = append(fmt.Appendf(append(b, ' '), "%08d", l.serial), ' ')
	for range words {
		b = append(b, word...)
	}
	return append(b, promptTail...)
}

// labelOf reads the label of a prompt.
func labelOf(body []byte) label {
	var l label
	text := strings.TrimPrefix(string(body[:min(len(body), 160)]), promptHead)
	tenant, rest, _ := strings.Cut(text, " ")
	serial, _, _ := strings.Cut(rest, " ")
	l.tenant = penstock.TenantID(tenant)
	l.serial, _ = strconv.ParseInt(serial, 10, 64)
	return l
}
