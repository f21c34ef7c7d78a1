package main

import (
	"context"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

// conversation goes on from earlier responses, which are kept here: the upstream is sent all of it.
func conversation(ctx context.Context) (any, error) {
	client := openai.NewClient(option.WithMaxRetries(0))
	ask := func(input, previous string) (*responses.Response, error) {
		p := responses.ResponseNewParams{Model: "sim", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(input)}, Store: openai.Bool(true)}
		if previous != "" {
			p.PreviousResponseID = openai.String(previous)
		}
		return client.Responses.New(ctx, p)
	}
	first, err := ask("One two three four five six seven", "")
	if err != nil {
		return nil, err
	}
	second, err := ask("Go on", first.ID)
	if err != nil {
		return nil, err
	}
	third, err := ask("And on", second.ID)
	if err != nil {
		return nil, err
	}
	_, unknown := ask("Go on", "resp_01JQ0000000000000000000000")
	_, none := ask("Go on", "chatcmpl-1")
	return object{
		"second": second.PreviousResponseID == first.ID, "third": third.PreviousResponseID == second.ID,
		"grows": second.Usage.InputTokens >= first.Usage.InputTokens+first.Usage.OutputTokens &&
			third.Usage.InputTokens >= second.Usage.InputTokens+second.Usage.OutputTokens,
		"unknown": met(unknown), "none": met(none),
	}, nil
}
