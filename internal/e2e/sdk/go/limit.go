package main

import (
	"context"
	"errors"
	"os"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// limited meets a tenant's own limit with either SDK: the model takes a call a minute, and the tenant may
// queue one item.
func limited(ctx context.Context) (any, error) {
	key := os.Getenv("PENSTOCK_SMALL_KEY")
	body := object{"model": "narrow", "input": "One too many"}
	chats := openai.NewClient(option.WithAPIKey(key), option.WithMaxRetries(0))
	messages := anthropic.NewClient(anthropicoption.WithAPIKey(key), anthropicoption.WithMaxRetries(0))
	var job object
	chat, ok := errors.AsType[*openai.Error](fill(func() error { return chats.Post(ctx, "jobs", body, &job) }))
	if !ok {
		return nil, errors.New("OpenAI's SDK met no limit")
	}
	message, ok := errors.AsType[*anthropic.Error](fill(func() error { return messages.Post(ctx, "v1/jobs", body, &job) }))
	if !ok {
		return nil, errors.New("Anthropic's SDK met no limit")
	}
	return object{
		"openai": object{"status": chat.StatusCode, "code": chat.Code, "type": chat.Type,
			"should_retry": chat.Response.Header.Get("x-should-retry"), "says_when": chat.Response.Header.Get("retry-after") != "",
			"has_id": chat.Response.Header.Get("x-request-id") != ""},
		"anthropic": object{"status": message.StatusCode, "type": message.Type(),
			"should_retry": message.Response.Header.Get("x-should-retry"), "says_when": message.Response.Header.Get("retry-after") != ""},
	}, nil
}

// fill submits until it is refused, and returns why.
func fill(submit func() error) error {
	for range 10 {
		if err := submit(); err != nil {
			return err
		}
	}
	return nil
}
