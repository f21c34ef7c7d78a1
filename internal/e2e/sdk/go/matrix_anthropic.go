package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

func anthropicClient() anthropic.Client { return anthropic.NewClient(option.WithMaxRetries(0)) }

func briefMessage(model string, content ...anthropic.ContentBlockParamUnion) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: anthropic.Model(model), MaxTokens: 256, System: []anthropic.TextBlockParam{{Text: briefly}},
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(content...)},
	}
}

// messageText is the text of a message.
func messageText(m anthropic.Message) (text string) {
	for _, b := range m.Content {
		text += b.Text
	}
	return text
}

func anthropicChat(ctx context.Context, model string) error {
	client := anthropicClient()
	m, err := client.Messages.New(ctx, briefMessage(model, anthropic.NewTextBlock(question)))
	if err != nil {
		return err
	}
	if messageText(*m) == "" || m.StopReason != anthropic.StopReasonEndTurn || m.Usage.InputTokens == 0 || m.Usage.OutputTokens == 0 {
		return fmt.Errorf("the answer is %s", m.RawJSON())
	}
	return nil
}

func anthropicStream(ctx context.Context, model string) error {
	client, asked := anthropicClient(), briefMessage(model, anthropic.NewTextBlock(question))
	plain, err := client.Messages.New(ctx, asked)
	if err != nil {
		return err
	}
	var pieces []string
	var joined anthropic.Message
	events := client.Messages.NewStreaming(ctx, asked)
	defer events.Close()
	for events.Next() {
		e := events.Current()
		if err := joined.Accumulate(e); err != nil {
			return err
		}
		if e.Delta.Text != "" {
			pieces = append(pieces, e.Delta.Text)
		}
	}
	if messageText(joined) != messageText(*plain) || joined.Usage.OutputTokens != plain.Usage.OutputTokens {
		return errors.Join(events.Err(), fmt.Errorf("the stream makes %+v", joined))
	}
	return errors.Join(events.Err(), inPieces(pieces, messageText(*plain)))
}

func anthropicTools(ctx context.Context, model string) error {
	client, asked := anthropicClient(), briefMessage(model, anthropic.NewTextBlock(lookup))
	for _, name := range toolNames {
		asked.Tools = append(asked.Tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
			Name: name, Description: anthropic.String("Looks something up."),
			InputSchema: anthropic.ToolInputSchemaParam{Properties: citySchema["properties"], Required: []string{"city"}},
		}})
	}
	first, err := client.Messages.New(ctx, asked)
	if err != nil {
		return err
	}
	joined, err := join(ctx, client, asked)
	if err != nil {
		return err
	}
	calls, results := messageCalls(*first)
	streamed, _ := messageCalls(joined)
	if err := calledBoth(calls); err != nil {
		return err
	}
	if !slices.Equal(calls, streamed) {
		return fmt.Errorf("the stream calls %v, the plain answer %v", streamed, calls)
	}
	asked.Messages = append(asked.Messages, first.ToParam(), anthropic.NewUserMessage(results...))
	last, err := client.Messages.New(ctx, asked)
	if err != nil {
		return err
	}
	if last.StopReason != anthropic.StopReasonEndTurn || messageText(*last) == "" {
		return fmt.Errorf("the last answer is %s", last.RawJSON())
	}
	return nil
}

// messageCalls are the calls of a message, with their results.
func messageCalls(m anthropic.Message) (calls []toolCall, results []anthropic.ContentBlockParamUnion) {
	for _, b := range m.Content {
		if b.Type == "tool_use" {
			calls = append(calls, toolCall{b.Name, string(b.Input)})
			results = append(results, anthropic.NewToolResultBlock(b.ID, "12", false))
		}
	}
	return calls, results
}

// anthropicStructured has the SDK make the schema of a struct, and read the answer into it.
func anthropicStructured(ctx context.Context, model string) error {
	client, asked := anthropicClient(), briefMessage(model, anthropic.NewTextBlock("Who is it?"))
	asked.OutputConfig.Format.Schema = personSchema
	m, err := client.Messages.New(ctx, asked)
	if err != nil {
		return err
	}
	var read person
	beta, err := client.Beta.Messages.New(ctx, anthropic.BetaMessageNewParams{
		Model: anthropic.Model(model), MaxTokens: 256, OutputConfig: anthropic.BetaOutputConfigParam{Format: anthropic.BetaJSONOutputFormatParam{Schema: &read}},
		Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("Who is it?"))},
	})
	if err != nil {
		return err
	}
	if read.Name == "" {
		return fmt.Errorf("the SDK read %+v of %s", read, beta.RawJSON())
	}
	return errors.Join(new(person).check(messageText(*m)), new(person).check(beta.Content[0].Text))
}

func anthropicImage(ctx context.Context, model string) error {
	return anthropicSees(ctx, model, anthropic.NewImageBlockBase64("image/png", pixel), seesPixel)
}

func anthropicImageAddress(ctx context.Context, model string) error {
	return anthropicSees(ctx, model, anthropic.NewImageBlock(anthropic.URLImageSourceParam{URL: address}), seesLink)
}

func anthropicSees(ctx context.Context, model string, image anthropic.ContentBlockParamUnion, says string) error {
	client := anthropicClient()
	m, err := client.Messages.New(ctx, briefMessage(model, anthropic.NewTextBlock(picture), image))
	if err != nil {
		return err
	}
	if !strings.Contains(messageText(*m), says) {
		return fmt.Errorf("the model says %q", messageText(*m))
	}
	return nil
}

func anthropicBatches(ctx context.Context, model string) error {
	client := anthropicClient()
	batch, rows, err := messageBatch(ctx, client, []anthropic.MessageBatchNewParamsRequest{
		messageRequest("good", model, "Hi [sim:tokens=3]"), messageRequest("bad", model, "Hi [sim:fault=bad_request]"),
	})
	if err != nil {
		return err
	}
	if batch.RequestCounts.Succeeded != 1 || batch.RequestCounts.Errored != 1 || len(rows) != 2 {
		return fmt.Errorf("the batch ended with %+v and %v", batch.RequestCounts, rows)
	}
	return nil
}
