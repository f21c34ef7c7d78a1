package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// met is an error as callers of OpenAI's SDK can tell it from others.
func met(err error) any {
	if e, ok := errors.AsType[*openai.Error](err); ok {
		return object{"status": e.StatusCode, "code": e.Code, "type": e.Type, "param": e.Param, "message": e.Message,
			"request_id": e.Response.Header.Get("x-request-id"), "should_retry": e.Response.Header.Get("x-should-retry"),
			"retry_after": e.Response.Header.Get("retry-after")}
	}
	if err == nil {
		return "no error"
	}
	return fmt.Sprintf("%T: %v", err, err)
}

func chatErrors(ctx context.Context) (any, error) {
	client := openai.NewClient(option.WithMaxRetries(0))
	plain := func(content string) func() error {
		return func() error { _, err := client.Chat.Completions.New(ctx, ask(content)); return err }
	}
	streamed := func(content string) func() error {
		return func() error { _, _, err := gather(ctx, client, ask(content)); return err }
	}
	seen := object{}
	for name, attempt := range map[string]func() error{
		"an unknown key": func() error {
			_, err := client.Models.List(ctx, option.WithAPIKey("psk_unknown"))
			return err
		},
		"an unknown model, which the fallback serves":   func() error { _, err := client.Models.Get(ctx, "nobody"); return err },
		"a body that we refuse":                         func() error { _, err := client.Chat.Completions.New(ctx, askModel("", "Hi")); return err },
		"a body that the upstream refuses":              plain("SDK [sim:fault=context_length]"),
		"a prompt that the upstream refuses":            plain("SDK [sim:fault=content_filter]"),
		"an upstream that fails":                        plain("SDK [sim:fault=server_error]"),
		"an upstream that is busy":                      plain("SDK [sim:fault=overloaded]"),
		"an upstream that fails before the first chunk": streamed("SDK [sim:fault=error_in_200]"),
		"an upstream that fails in the middle":          streamed("SDK [sim:tokens=2 fault=disconnect]"),
	} {
		seen[name] = met(attempt())
	}
	return seen, nil
}

func retries(ctx context.Context) (any, error) {
	client := openai.NewClient(option.WithMaxRetries(2))
	timed := func(content string) object {
		began := time.Now()
		completion, err := client.Chat.Completions.New(ctx, ask(content))
		if err != nil {
			return object{"outcome": met(err), "waited": waited(began)}
		}
		return object{"outcome": completion.Choices[0].FinishReason, "waited": waited(began)}
	}
	return object{
		"busy":    timed("SDK retries busy [sim:fault=overloaded times=1]"),
		"broken":  timed("SDK retries broken [sim:fault=server_error times=1]")["outcome"],
		"refused": timed("SDK retries refused [sim:fault=bad_request]"),
		"vain":    timed("SDK retries vain [sim:fault=final]"),
		"unpaid":  timed("SDK retries unpaid [sim:fault=quota]"),
	}, nil
}

// abort leaves a stream in the middle, and gives up waiting for an answer.
func abort(ctx context.Context) (any, error) {
	client := openai.NewClient(option.WithMaxRetries(0))
	var raw *http.Response
	leaving, leave := context.WithCancel(ctx)
	defer leave()
	chunks := client.Chat.Completions.NewStreaming(leaving, ask("SDK aborts [sim:fault=stall]"), option.WithResponseInto(&raw))
	defer chunks.Close()
	if !chunks.Next() {
		return nil, chunks.Err()
	}
	leave()
	_, err := client.Chat.Completions.New(ctx, ask("SDK waits [sim:fault=hang]"), option.WithRequestTimeout(2*time.Second))
	return object{"request_id": raw.Header.Get("x-request-id"), "impatient": errors.Is(err, context.DeadlineExceeded)}, nil
}
