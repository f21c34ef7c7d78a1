package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

func openaiClient() openai.Client { return openai.NewClient(option.WithMaxRetries(0)) }

func briefChat(model, content string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(briefly), openai.UserMessage(content)}}
}

func openaiChat(ctx context.Context, model string) error {
	client := openaiClient()
	c, err := client.Chat.Completions.New(ctx, briefChat(model, question))
	if err != nil {
		return err
	}
	if c.Choices[0].Message.Content == "" || c.Choices[0].FinishReason != "stop" ||
		c.Usage.PromptTokens == 0 || c.Usage.TotalTokens != c.Usage.PromptTokens+c.Usage.CompletionTokens {
		return fmt.Errorf("the answer is %s", c.RawJSON())
	}
	return nil
}

func openaiStream(ctx context.Context, model string) error {
	client, asked := openaiClient(), briefChat(model, question)
	plain, err := client.Chat.Completions.New(ctx, asked)
	if err != nil {
		return err
	}
	asked.StreamOptions.IncludeUsage = openai.Bool(true)
	seen, joined, err := gather(ctx, client, asked)
	if err != nil {
		return err
	}
	text := plain.Choices[0].Message.Content
	if joined.Choices[0].Message.Content != text || seen.Tokens != plain.Usage.TotalTokens {
		return fmt.Errorf("the stream makes %q of %d tokens, the plain answer is %s", joined.Choices[0].Message.Content, seen.Tokens, plain.RawJSON())
	}
	return inPieces(seen.Pieces, text)
}

func openaiTools(ctx context.Context, model string) error {
	client, asked := openaiClient(), briefChat(model, lookup)
	for _, name := range toolNames {
		asked.Tools = append(asked.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: name, Description: openai.String("Looks something up."), Parameters: citySchema, Strict: openai.Bool(true),
		}))
	}
	first, err := client.Chat.Completions.New(ctx, asked)
	if err != nil {
		return err
	}
	_, joined, err := gather(ctx, client, asked)
	if err != nil {
		return err
	}
	message := first.Choices[0].Message
	if err := errors.Join(calledBoth(chatCalls(message)), calledBoth(chatCalls(joined.Choices[0].Message))); err != nil {
		return err
	}
	asked.Messages = append(asked.Messages, message.ToParam())
	for _, call := range message.ToolCalls {
		asked.Messages = append(asked.Messages, openai.ToolMessage("12", call.ID))
	}
	last, err := client.Chat.Completions.New(ctx, asked)
	if err != nil {
		return err
	}
	if last.Choices[0].FinishReason != "stop" || last.Choices[0].Message.Content == "" {
		return fmt.Errorf("the last answer is %s", last.RawJSON())
	}
	return nil
}

func chatCalls(m openai.ChatCompletionMessage) (calls []toolCall) {
	for _, call := range m.ToolCalls {
		calls = append(calls, toolCall{call.Function.Name, call.Function.Arguments})
	}
	return calls
}

func openaiStructured(ctx context.Context, model string) error {
	client, asked := openaiClient(), briefChat(model, "Who is it?")
	asked.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
		Name: "person", Strict: openai.Bool(true), Schema: personSchema,
	}}
	chatted, err := client.Chat.Completions.New(ctx, asked)
	if err != nil {
		return err
	}
	responded, err := client.Responses.New(ctx, responses.ResponseNewParams{
		Model: model, Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Who is it?")},
		Text: responses.ResponseTextConfigParam{Format: responses.ResponseFormatTextConfigParamOfJSONSchema("person", personSchema)},
	})
	if err != nil {
		return err
	}
	return errors.Join(new(person).check(chatted.Choices[0].Message.Content), new(person).check(responded.OutputText()))
}

func openaiImage(ctx context.Context, model string) error {
	return openaiSees(ctx, model, "data:image/png;base64,"+pixel, seesPixel)
}

func openaiImageAddress(ctx context.Context, model string) error {
	return openaiSees(ctx, model, address, seesLink)
}

func openaiSees(ctx context.Context, model, url, says string) error {
	client, asked := openaiClient(), briefChat(model, "")
	asked.Messages[1] = openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
		openai.TextContentPart(picture), openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: url}),
	})
	c, err := client.Chat.Completions.New(ctx, asked)
	if err != nil {
		return err
	}
	if text := c.Choices[0].Message.Content; !strings.Contains(text, says) {
		return fmt.Errorf("the model says %q", text)
	}
	return nil
}

// openaiResponses has three turns: a call of tools, their results, and a question that goes on from there, plainly and as a stream.
func openaiResponses(ctx context.Context, model string) error {
	client := openaiClient()
	asked := responses.ResponseNewParams{Model: model, Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(lookup)}}
	for _, name := range toolNames {
		asked.Tools = append(asked.Tools, responses.ToolParamOfFunction(name, citySchema, true))
	}
	first, err := client.Responses.New(ctx, asked)
	if err != nil {
		return err
	}
	var calls []toolCall
	var results responses.ResponseInputParam
	for _, item := range first.Output {
		if item.Type == "function_call" {
			calls = append(calls, toolCall{item.Name, item.Arguments.OfString})
			result := responses.ResponseInputItemParamOfFunctionCallOutput("12")
			result.OfFunctionCallOutput.CallID = openai.String(item.CallID)
			results = append(results, result)
		}
	}
	if err := calledBoth(calls); err != nil {
		return err
	}
	asked.PreviousResponseID, asked.Input = openai.String(first.ID), responses.ResponseNewParamsInputUnion{OfInputItemList: results}
	second, err := client.Responses.New(ctx, asked)
	if err != nil {
		return err
	}
	next := responses.ResponseNewParams{Model: model, PreviousResponseID: openai.String(second.ID), Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("And so?")}}
	third, err := client.Responses.New(ctx, next)
	if err != nil {
		return err
	}
	if third.Usage.InputTokens <= second.Usage.InputTokens {
		return fmt.Errorf("turns of %d and %d tokens", second.Usage.InputTokens, third.Usage.InputTokens)
	}
	var pieces []string
	events := client.Responses.NewStreaming(ctx, next)
	defer events.Close()
	for events.Next() {
		if e := events.Current(); e.Type == "response.output_text.delta" {
			pieces = append(pieces, e.Delta)
		}
	}
	return errors.Join(events.Err(), inPieces(pieces, third.OutputText()))
}

func openaiEmbeddings(ctx context.Context, model string) error {
	client := openaiClient()
	embedded, err := client.Embeddings.New(ctx, openai.EmbeddingNewParams{
		Model: model, Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"one", "two"}}, Dimensions: openai.Int(8),
	})
	if err != nil {
		return err
	}
	if len(embedded.Data) != 2 || len(embedded.Data[1].Embedding) != 8 || embedded.Usage.PromptTokens == 0 {
		return fmt.Errorf("the answer is %s", embedded.RawJSON())
	}
	return nil
}

func openaiFiles(ctx context.Context, _ string) error {
	client := openaiClient()
	content := row("a", "Hi") + row("b", "Hi")
	made, err := upload(ctx, client, "rows.jsonl", content)
	if err != nil {
		return err
	}
	listed := false
	pages := client.Files.ListAutoPaging(ctx, openai.FileListParams{Limit: openai.Int(1)})
	for pages.Next() {
		listed = listed || pages.Current().ID == made.ID
	}
	got, err := fileContent(ctx, client, made.ID)
	if err := errors.Join(err, pages.Err()); err != nil {
		return err
	}
	if !listed || got != content {
		return fmt.Errorf("the file is listed: %t; its content is %q", listed, got)
	}
	deleted, err := client.Files.Delete(ctx, made.ID)
	if err != nil {
		return err
	}
	_, gone := client.Files.Get(ctx, made.ID)
	if !deleted.Deleted || status(gone) != http.StatusNotFound {
		return fmt.Errorf("after its end the file has the status %d", status(gone))
	}
	return nil
}

func openaiBatches(ctx context.Context, model string) error {
	client := openaiClient()
	rows := strings.ReplaceAll(row("good", "Hi [sim:tokens=3]")+row("bad", "Hi [sim:fault=bad_request]"), `"model":"sim"`, fmt.Sprintf(`"model":%q`, model))
	file, err := upload(ctx, client, "rows.jsonl", rows)
	if err != nil {
		return err
	}
	batch, err := client.Batches.New(ctx, openai.BatchNewParams{
		InputFileID: file.ID, Endpoint: openai.BatchNewParamsEndpointV1ChatCompletions, CompletionWindow: openai.BatchNewParamsCompletionWindow24h,
	})
	if err == nil {
		batch, err = awaitBatch(ctx, client, batch, openai.BatchStatusCompleted)
	}
	if err != nil {
		return err
	}
	good, err := fileContent(ctx, client, batch.OutputFileID)
	if err != nil {
		return err
	}
	bad, err := fileContent(ctx, client, batch.ErrorFileID)
	if err != nil {
		return err
	}
	for text, part := range map[string]string{`"custom_id":"good"`: good, `"chat.completion"`: good, `"custom_id":"bad"`: bad, `"status_code":400`: bad} {
		if !strings.Contains(part, text) {
			return fmt.Errorf("the batch ended with %s, which lacks %s", part, text)
		}
	}
	return nil
}
