package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Message is a part of a conversation.
type Message struct {
	Role    string `json:"role"` // system, user or assistant
	Content string `json:"content"`
}

// ChatSpec is a synchronous call of /v1/chat/completions.
type ChatSpec struct {
	Model    string            // "" for that of the prompt
	Messages []Message         // behind those of the prompt
	Prompt   *PromptRef        // nil for none
	Tags     map[string]string // what the call is attributed to
	Subject  string            // the end user that it is about
}

// ChatDelta is a part of an answer.
type ChatDelta struct {
	Content string
	// RequestID is the id of the call, by which [Client.Request] explains it. All parts have it.
	RequestID string
}

// Chat makes a synchronous call and yields its answer while it arrives. The call is made once: a call that has begun to answer
// cannot be repeated without being charged twice. Codes: those of POST /v1/chat/completions.
func (c *Client) Chat(ctx context.Context, spec ChatSpec) iter.Seq2[ChatDelta, error] {
	return func(yield func(ChatDelta, error) bool) {
		if err := spec.stream(ctx, c, yield); err != nil {
			yield(ChatDelta{}, err)
		}
	}
}

func (spec ChatSpec) stream(ctx context.Context, c *Client, yield func(ChatDelta, error) bool) error {
	call, err := spec.call()
	if err != nil {
		return err
	}
	s, err := c.open(ctx, call)
	if err != nil {
		return err
	}
	defer s.close()
	for {
		data, err := s.event()
		if errors.Is(err, io.EOF) {
			return c.unreachable("reading the answer of", io.ErrUnexpectedEOF) // a whole answer ends with [DONE]
		}
		if err != nil {
			return err
		}
		if string(data) == "[DONE]" {
			return nil
		}
		delta, err := readDelta(call, data)
		if err != nil {
			return err
		}
		delta.RequestID = s.header.Get("x-request-id")
		if delta.Content != "" && !yield(delta, nil) {
			return nil
		}
	}
}

func (spec ChatSpec) call() (call, error) {
	body, err := encode(struct {
		Model    string     `json:"model,omitempty"`
		Messages []Message  `json:"messages,omitempty"`
		Prompt   *PromptRef `json:"prompt,omitempty"`
		Stream   bool       `json:"stream"`
	}{spec.Model, spec.Messages, spec.Prompt, true})
	if err != nil {
		return call{}, fmt.Errorf("encoding the call: %w", err)
	}
	header := http.Header{"Accept": {"text/event-stream"}}
	if len(spec.Tags) > 0 {
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(spec.Tags)) {
			pairs = append(pairs, url.QueryEscape(name)+"="+strings.ReplaceAll(url.QueryEscape(spec.Tags[name]), "+", "%20"))
		}
		header.Set("x-penstock-tags", strings.Join(pairs, ","))
	}
	if spec.Subject != "" {
		header.Set("x-penstock-subject", spec.Subject)
	}
	return call{method: http.MethodPost, path: "/v1/chat/completions", header: header, body: body}, nil
}

// readDelta reads an event of the stream, which is a part of the answer or an error.
func readDelta(call call, data []byte) (ChatDelta, error) {
	var event struct {
		Choices []struct {
			Delta struct {
				Content string `json:"content"`
			} `json:"delta"`
		} `json:"choices"`
		Error *Error `json:"error"`
	}
	if err := json.Unmarshal(data, &event); err != nil {
		return ChatDelta{}, fmt.Errorf("reading the answer to %s %s: %w", call.method, call.path, err)
	}
	if event.Error != nil {
		return ChatDelta{}, event.Error
	}
	var d ChatDelta
	for _, choice := range event.Choices {
		d.Content += choice.Delta.Content
	}
	return d, nil
}
