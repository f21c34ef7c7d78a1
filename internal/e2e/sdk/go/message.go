package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

// say is a message that asks one question.
func say(model, content string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: anthropic.Model(model), MaxTokens: 16,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(content))},
	}
}

// blocks are those of a message, as far as scripts look at them.
func blocks(m anthropic.Message) []object {
	var seen []object
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			seen = append(seen, object{"type": b.Type, "text": b.Text})
		case "thinking":
			seen = append(seen, object{"type": b.Type, "thinking": b.Thinking, "signature": b.Signature})
		case "redacted_thinking":
			seen = append(seen, object{"type": b.Type, "data": b.Data})
		case "tool_use":
			seen = append(seen, object{"type": b.Type, "name": b.Name, "input": b.Input, "has_id": b.ID != ""})
		default:
			seen = append(seen, object{"type": b.Type})
		}
	}
	return seen
}

// told is what a message says, with how it ended and what it used.
func told(m anthropic.Message) object {
	return object{"content": blocks(m), "stop_reason": m.StopReason, "usage": object{
		"input_tokens": m.Usage.InputTokens, "output_tokens": m.Usage.OutputTokens,
		"cache_read_input_tokens": m.Usage.CacheReadInputTokens, "cache_creation_input_tokens": m.Usage.CacheCreationInputTokens,
	}}
}

// join reads a stream of events into the message that it makes.
func join(ctx context.Context, client anthropic.Client, params anthropic.MessageNewParams) (anthropic.Message, error) {
	var m anthropic.Message
	events := client.Messages.NewStreaming(ctx, params)
	defer events.Close()
	for events.Next() {
		if err := m.Accumulate(events.Current()); err != nil {
			return m, err
		}
	}
	return m, events.Err()
}

func messages(ctx context.Context) (any, error) {
	client := anthropic.NewClient()
	var raw *http.Response
	plain, err := client.Messages.New(ctx, say("claude", "Hi from the SDK"), option.WithResponseInto(&raw))
	if err != nil {
		return nil, err
	}
	streamed, err := join(ctx, client, say("claude", "Hi in pieces"))
	if err != nil {
		return nil, err
	}
	pictures := say("claude", "What is on these?")
	pictures.Messages[0].Content = append(pictures.Messages[0].Content,
		anthropic.NewImageBlock(anthropic.URLImageSourceParam{URL: "https://example.com/cat.png"}),
		anthropic.NewImageBlockBase64("image/png", pixel))
	shown, err := client.Messages.New(ctx, pictures)
	if err != nil {
		return nil, err
	}
	counted, err := client.Messages.CountTokens(ctx, anthropic.MessageCountTokensParams{
		Model: "chats", Messages: say("chats", "How long is this?").Messages,
	})
	if err != nil {
		return nil, err
	}
	var listed []string
	pages := client.Models.ListAutoPaging(ctx, anthropic.ModelListParams{Limit: anthropic.Int(1)})
	for pages.Next() {
		listed = append(listed, pages.Current().ID)
	}
	one, err := client.Models.Get(ctx, "claude", anthropic.ModelGetParams{})
	if err != nil {
		return nil, err
	}
	return object{
		"plain": told(*plain), "request_id": raw.Header.Get("request-id"), "target": raw.Header.Get("x-penstock-target"),
		"streamed": told(streamed), "pictures": shown.Usage.InputTokens / 256, "counted": counted.InputTokens,
		"listed": listed, "model": object{"id": one.ID, "display_name": one.DisplayName},
	}, pages.Err()
}

func messageTools(ctx context.Context) (any, error) {
	one, err := useMessageTools(ctx, "claude", "Look it up")
	if err != nil {
		return nil, err
	}
	several, err := useMessageTools(ctx, "played-claude", "Look both up [play:calls]")
	return object{"one": one, "several": several}, err
}

// useMessageTools has a model call tools, plainly and in a stream, and gives it the results.
func useMessageTools(ctx context.Context, model, prompt string) (any, error) {
	client := anthropic.NewClient()
	question := say(model, prompt)
	question.MaxTokens = 64
	question.Tools = []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
		Name: "look", Description: anthropic.String("Looks something up."),
		InputSchema: anthropic.ToolInputSchemaParam{Properties: object{"what": object{"type": "string"}}},
	}}}
	question.ToolChoice = anthropic.ToolChoiceUnionParam{OfAny: &anthropic.ToolChoiceAnyParam{}}
	plain, err := client.Messages.New(ctx, question)
	if err != nil {
		return nil, err
	}
	streamed, err := join(ctx, client, question)
	if err != nil {
		return nil, err
	}
	var results []anthropic.ContentBlockParamUnion
	for _, b := range plain.Content {
		if b.Type == "tool_use" {
			results = append(results, anthropic.NewToolResultBlock(b.ID, "It is 7.", false))
		}
	}
	question.ToolChoice = anthropic.ToolChoiceUnionParam{}
	question.Messages = append(question.Messages, plain.ToParam(),
		anthropic.NewUserMessage(append(results, anthropic.NewTextBlock("And so? [play:text]"))...))
	answered, err := client.Messages.New(ctx, question)
	if err != nil {
		return nil, err
	}
	return object{"plain": told(*plain), "streamed": told(streamed), "answered": blocks(*answered)}, nil
}

// metMessage is an error as callers of Anthropic's SDK can tell it from others.
func metMessage(err error) any {
	if e, ok := errors.AsType[*anthropic.Error](err); ok {
		seen := object{"status": e.StatusCode, "type": e.Type(), "request_id": e.RequestID}
		if e.Response != nil {
			seen["should_retry"], seen["retry_after"] = e.Response.Header.Get("x-should-retry"), e.Response.Header.Get("retry-after")
		}
		return seen
	}
	if err == nil {
		return "no error"
	}
	return fmt.Sprintf("%T: %v", err, err)
}

func messageErrors(ctx context.Context) (any, error) {
	client := anthropic.NewClient(option.WithMaxRetries(0))
	plain := func(params anthropic.MessageNewParams) func() error {
		return func() error { _, err := client.Messages.New(ctx, params); return err }
	}
	streamed := func(content string) func() error {
		return func() error { _, err := join(ctx, client, say("claude", content)); return err }
	}
	unbounded, empty := say("claude", "Hi"), say("claude", "Hi")
	unbounded.MaxTokens, empty.Messages = -1, []anthropic.MessageParam{}
	seen := object{}
	for name, attempt := range map[string]func() error{
		"an unknown key": func() error {
			_, err := client.Models.List(ctx, anthropic.ModelListParams{}, option.WithAPIKey("psk_unknown"))
			return err
		},
		"an unknown model":                              plain(say("nobody", "Hi")),
		"a body that we refuse":                         plain(unbounded),
		"a body that the upstream refuses":              plain(empty),
		"an upstream that fails":                        plain(say("claude", "SDK [sim:fault=server_error]")),
		"an upstream that is busy":                      plain(say("claude", "SDK [sim:fault=overloaded]")),
		"an upstream that fails before the first event": streamed("SDK [sim:fault=error_in_200]"),
		"an upstream that fails in the middle":          streamed("SDK [sim:tokens=2 fault=disconnect]"),
	} {
		seen[name] = metMessage(attempt())
	}
	patient, err := client.Messages.New(ctx, say("claude", "SDK messages busy [sim:fault=overloaded times=1]"), option.WithMaxRetries(1))
	if err != nil {
		return nil, err
	}
	seen["an upstream that is busy once"] = patient.StopReason
	_, err = client.Messages.New(ctx, say("claude", "SDK messages vain [sim:fault=final]"), option.WithMaxRetries(2))
	seen["an upstream that calls it in vain"] = metMessage(err)
	return seen, nil
}

func messageAbort(ctx context.Context) (any, error) {
	client := anthropic.NewClient(option.WithMaxRetries(0))
	var raw *http.Response
	leaving, leave := context.WithCancel(ctx)
	defer leave()
	events := client.Messages.NewStreaming(leaving, say("claude", "SDK messages abort [sim:fault=stall]"), option.WithResponseInto(&raw))
	defer events.Close()
	for events.Next() && events.Current().Type != "content_block_delta" {
	}
	if err := events.Err(); err != nil {
		return nil, err
	}
	leave()
	_, err := client.Messages.New(ctx, say("claude", "SDK messages wait [sim:fault=hang]"), option.WithRequestTimeout(2*time.Second))
	return object{"request_id": raw.Header.Get("request-id"), "impatient": errors.Is(err, context.DeadlineExceeded)}, nil
}
