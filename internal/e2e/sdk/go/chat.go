package main

import (
	"context"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

// ask is a chat of one question to the model that every development server has.
func ask(content string) openai.ChatCompletionNewParams { return askModel("sim", content) }

func askModel(model, content string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(content)}}
}

func chat(ctx context.Context) (any, error) {
	client := openai.NewClient()
	var raw *http.Response
	completion, err := client.Chat.Completions.New(ctx, ask("Hi from the SDK"), option.WithResponseInto(&raw))
	if err != nil {
		return nil, err
	}
	choice := completion.Choices[0]
	return object{
		"message":       object{"role": choice.Message.Role, "content": choice.Message.Content},
		"finish_reason": choice.FinishReason,
		"usage":         object{"prompt_tokens": completion.Usage.PromptTokens, "completion_tokens": completion.Usage.CompletionTokens},
		"request_id":    raw.Header.Get("x-request-id"),
		"target":        raw.Header.Get("x-penstock-target"),
	}, nil
}

// gathered is what was read of a stream of chunks.
type gathered struct {
	Pieces   []string `json:"pieces"`
	Finished string   `json:"finished"`
	Tokens   int64    `json:"tokens"` // 0: the stream told no usage
	Joined   string   `json:"joined"` // by the SDK's own helper
}

func gather(ctx context.Context, client openai.Client, params openai.ChatCompletionNewParams) (gathered, *openai.ChatCompletionAccumulator, error) {
	chunks := client.Chat.Completions.NewStreaming(ctx, params)
	defer chunks.Close()
	var seen gathered
	joined := &openai.ChatCompletionAccumulator{}
	for chunks.Next() {
		chunk := chunks.Current()
		joined.AddChunk(chunk)
		seen.Tokens += chunk.Usage.TotalTokens
		for _, choice := range chunk.Choices {
			if choice.FinishReason != "" {
				seen.Finished = choice.FinishReason
			}
			if choice.Delta.Content != "" {
				seen.Pieces = append(seen.Pieces, choice.Delta.Content)
			}
		}
	}
	if len(joined.Choices) > 0 {
		seen.Joined = joined.Choices[0].Message.Content
	}
	return seen, joined, chunks.Err()
}

func stream(ctx context.Context) (any, error) {
	client := openai.NewClient()
	plain, _, err := gather(ctx, client, ask("Count for me"))
	if err != nil {
		return nil, err
	}
	question := ask("Count for me")
	question.StreamOptions.IncludeUsage = openai.Bool(true)
	withUsage, _, err := gather(ctx, client, question)
	return object{"plain": plain, "with_usage": withUsage}, err
}

func endpoints(ctx context.Context) (any, error) {
	client := openai.NewClient()
	embedded, err := client.Embeddings.New(ctx, openai.EmbeddingNewParams{
		Model: "sim", Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"Hi", "from the SDK"}},
	})
	if err != nil {
		return nil, err
	}
	var vectors []object
	for _, e := range embedded.Data {
		vectors = append(vectors, object{"index": e.Index, "numbers": len(e.Embedding)})
	}
	question := openai.CompletionNewParams{
		Model: "sim", Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String("Hi from the SDK")}, MaxTokens: openai.Int(3),
	}
	completed, err := client.Completions.New(ctx, question)
	if err != nil {
		return nil, err
	}
	var text string
	chunks := client.Completions.NewStreaming(ctx, question)
	for chunks.Next() {
		for _, choice := range chunks.Current().Choices {
			text += choice.Text
		}
	}
	return object{
		"embeddings":         vectors,
		"usage":              object{"prompt_tokens": embedded.Usage.PromptTokens, "total_tokens": embedded.Usage.TotalTokens},
		"completion":         object{"text": completed.Choices[0].Text, "finish_reason": completed.Choices[0].FinishReason},
		"stream_is_the_same": text == completed.Choices[0].Text,
	}, chunks.Err()
}

func response(ctx context.Context) (any, error) {
	client := openai.NewClient()
	question := responses.ResponseNewParams{
		Model: "sim", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Hi from the SDK")},
	}
	created, err := client.Responses.New(ctx, question)
	if err != nil {
		return nil, err
	}
	var deltas int
	var kinds []string
	var completed responses.Response
	events := client.Responses.NewStreaming(ctx, question)
	for events.Next() {
		event := events.Current()
		switch event.Type {
		case "response.output_text.delta":
			deltas++
		case "response.completed":
			completed = event.Response
			fallthrough
		default:
			kinds = append(kinds, event.Type)
		}
	}
	if err := events.Err(); err != nil {
		return nil, err
	}
	question.Tools = []responses.ToolUnionParam{responses.ToolParamOfFunction("look", object{"type": "object", "properties": object{}}, false)}
	question.ToolChoice.OfToolChoiceMode = param.NewOpt(responses.ToolChoiceOptionsRequired)
	used, err := client.Responses.New(ctx, question)
	if err != nil {
		return nil, err
	}
	call := used.Output[0]
	question = responses.ResponseNewParams{Model: "sim", Input: question.Input, Store: openai.Bool(true)}
	_, refused := client.Responses.New(ctx, question, option.WithMaxRetries(0))
	return object{
		"created": object{"status": created.Status, "text": created.OutputText(),
			"usage": object{"input_tokens": created.Usage.InputTokens, "output_tokens": created.Usage.OutputTokens}},
		"streamed": object{"events": kinds, "deltas": deltas, "same_text": completed.OutputText() == created.OutputText()},
		"tool":     object{"type": call.Type, "name": call.Name, "arguments": call.Arguments.OfString},
		"refused":  met(refused),
	}, nil
}

// looks are the tools that scripts offer to a model.
func looks() []openai.ChatCompletionToolUnionParam {
	return []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
		Name: "look", Description: openai.String("Looks something up."),
		Parameters: shared.FunctionParameters{"type": "object", "properties": object{"what": object{"type": "string"}}},
	})}
}

// called are the calls of a message.
func called(message openai.ChatCompletionMessage) []object {
	var calls []object
	for _, call := range message.ToolCalls {
		calls = append(calls, object{"name": call.Function.Name, "arguments": call.Function.Arguments, "has_id": call.ID != ""})
	}
	return calls
}

func tools(ctx context.Context) (any, error) {
	one, err := useTools(ctx, "chats", "Look it up")
	if err != nil {
		return nil, err
	}
	several, err := useTools(ctx, "played-chats", "Look both up [play:calls]")
	return object{"one": one, "several": several}, err
}

// useTools has a model call tools, plainly and in a stream, and gives it the results.
func useTools(ctx context.Context, model, prompt string) (any, error) {
	client := openai.NewClient()
	question := askModel(model, prompt)
	question.Tools = looks()
	question.ToolChoice.OfAuto = openai.String("required")
	plain, err := client.Chat.Completions.New(ctx, question)
	if err != nil {
		return nil, err
	}
	seen, joined, err := gather(ctx, client, question)
	if err != nil {
		return nil, err
	}
	message := plain.Choices[0].Message
	answered := openai.ChatCompletionNewParams{Model: model, Tools: question.Tools, Messages: append(question.Messages, message.ToParam())}
	for _, call := range message.ToolCalls {
		answered.Messages = append(answered.Messages, openai.ToolMessage("It is 7.", call.ID))
	}
	// What it says now is another part of the play.
	answered.Messages = append(answered.Messages, openai.UserMessage("And so? [play:text]"))
	answer, err := client.Chat.Completions.New(ctx, answered)
	if err != nil {
		return nil, err
	}
	return object{
		"plain":    object{"calls": called(message), "finish_reason": plain.Choices[0].FinishReason},
		"streamed": object{"calls": called(joined.Choices[0].Message), "finish_reason": seen.Finished},
		"answered": answer.Choices[0].Message.Content,
	}, nil
}

func images(ctx context.Context) (any, error) {
	client := openai.NewClient()
	seen := object{}
	for _, model := range []string{"chats", "claude"} {
		question := openai.ChatCompletionNewParams{Model: model, MaxTokens: openai.Int(16), Messages: []openai.ChatCompletionMessageParamUnion{
			openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
				openai.TextContentPart("What is on these?"),
				openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: "https://example.com/cat.png"}),
				openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: "data:image/png;base64," + pixel}),
			}),
		}}
		completion, err := client.Chat.Completions.New(ctx, question)
		if err != nil {
			return nil, err
		}
		// The upstream counts 256 tokens for every picture that reached it.
		seen[model] = object{"pictures": completion.Usage.PromptTokens / 256, "finish_reason": completion.Choices[0].FinishReason}
	}
	return seen, nil
}

func models(ctx context.Context) (any, error) {
	client := openai.NewClient()
	var listed []string
	pages := client.Models.ListAutoPaging(ctx)
	for pages.Next() {
		listed = append(listed, pages.Current().ID)
	}
	if err := pages.Err(); err != nil {
		return nil, err
	}
	one, err := client.Models.Get(ctx, "sim")
	if err != nil {
		return nil, err
	}
	return object{"listed": listed, "one": object{"id": one.ID, "object": one.Object, "owned_by": one.OwnedBy}}, nil
}

func jobs(ctx context.Context) (any, error) {
	client := openai.NewClient()
	submit := func(input string) (job struct {
		ID, Status string
	}, err error) {
		err = client.Post(ctx, "jobs", object{"model": "sim", "input": input}, &job,
			option.WithHeader("Prefer", "wait=30"), option.WithHeader("Idempotency-Key", "sdk-job"))
		return job, err
	}
	first, err := submit("Hi from an SDK's job")
	if err != nil {
		return nil, err
	}
	again, err := submit("Hi from an SDK's job")
	if err != nil {
		return nil, err
	}
	_, other := submit("Something else")
	return object{"status": first.Status, "same": first.ID == again.ID, "other": met(other)}, nil
}
