package main

import (
	"context"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

// inBackground asks for a response that is answered later.
func inBackground(input string) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: "sim", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(input)}, Background: openai.Bool(true),
	}
}

// poll waits for a response to end.
func poll(ctx context.Context, client openai.Client, r *responses.Response) (*responses.Response, error) {
	for r.Status == "queued" || r.Status == "in_progress" {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
		var err error
		if r, err = client.Responses.Get(ctx, r.ID, responses.ResponseGetParams{}); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// heard is what a reader of events saw, over one connection or several.
type heard struct {
	id     string
	kinds  []string
	last   int64
	gaps   int
	text   string
	deltas int
	whole  responses.Response
}

func (h *heard) take(e responses.ResponseStreamEventUnion) {
	if h.id == "" {
		h.id = e.Response.ID
	}
	if e.SequenceNumber != h.last+1 {
		h.gaps++
	}
	h.last = e.SequenceNumber
	if n := len(h.kinds); n == 0 || h.kinds[n-1] != e.Type {
		h.kinds = append(h.kinds, e.Type)
	}
	switch e.Type {
	case "response.output_text.delta":
		h.text += e.Delta
		h.deltas++
	case "response.completed":
		h.whole = e.Response
	}
}

func background(ctx context.Context) (any, error) {
	client := openai.NewClient(option.WithMaxRetries(0))
	const input = "Hi from the background"
	queued, err := client.Responses.New(ctx, inBackground(input))
	if err != nil {
		return nil, err
	}
	done, err := poll(ctx, client, queued)
	if err != nil {
		return nil, err
	}
	hanging, err := client.Responses.New(ctx, inBackground("Hi [sim:fault=hang]"))
	if err != nil {
		return nil, err
	}
	cancelled, err := client.Responses.Cancel(ctx, hanging.ID)
	if err != nil {
		return nil, err
	}
	failed, err := client.Responses.New(ctx, inBackground("Hi [sim:fault=context_length]"))
	if err == nil {
		failed, err = poll(ctx, client, failed)
	}
	if err != nil {
		return nil, err
	}
	expired, err := client.Responses.New(ctx, inBackground("Hi, too late [sim:fault=hang]"), option.WithHeader("x-penstock-window", "1s"))
	if err == nil {
		expired, err = poll(ctx, client, expired)
	}
	if err != nil {
		return nil, err
	}
	h, err := streamAndResume(ctx, client, input)
	if err != nil {
		return nil, err
	}
	question := responses.ResponseNewParams{Model: "sim", Input: inBackground(input).Input, Store: openai.Bool(true)}
	stored, err := client.Responses.New(ctx, question)
	if err != nil {
		return nil, err
	}
	if err := client.Responses.Delete(ctx, stored.ID); err != nil {
		return nil, err
	}
	_, gone := client.Responses.Get(ctx, stored.ID, responses.ResponseGetParams{})
	return object{
		"queued":    object{"prefix": queued.ID[:5], "status": queued.Status},
		"done":      object{"same_id": done.ID == queued.ID, "status": done.Status, "text": done.OutputText()},
		"cancelled": cancelled.Status,
		"failed":    object{"status": failed.Status, "code": failed.Error.Code},
		"expired":   object{"status": expired.Status, "code": expired.Error.Code},
		"streamed":  object{"events": h.kinds, "gaps": h.gaps, "same_id": h.whole.ID == h.id, "whole": h.text == h.whole.OutputText()},
		"stored":    stored.OutputText() == done.OutputText(),
		"deleted":   met(gone),
	}, nil
}

// streamAndResume leaves a stream in the middle and takes it up again.
func streamAndResume(ctx context.Context, client openai.Client, input string) (heard, error) {
	h := heard{last: -1}
	events := client.Responses.NewStreaming(ctx, inBackground(input))
	for h.deltas < 2 && events.Next() {
		h.take(events.Current())
	}
	if err := events.Err(); err != nil {
		return h, err
	}
	if err := events.Close(); err != nil {
		return h, err
	}
	rest := client.Responses.GetStreaming(ctx, h.id, responses.ResponseGetParams{StartingAfter: openai.Int(h.last)})
	for rest.Next() {
		h.take(rest.Current())
	}
	return h, rest.Err()
}
