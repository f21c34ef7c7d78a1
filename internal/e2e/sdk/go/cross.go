package main

import (
	"context"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

// crossChat calls a target that speaks Anthropic's dialect with OpenAI's SDK.
func crossChat(ctx context.Context) (any, error) {
	client := openai.NewClient(option.WithMaxRetries(0))
	plain, err := client.Chat.Completions.New(ctx, askModel("claude", "Hi across"))
	if err != nil {
		return nil, err
	}
	question := askModel("claude", "Hi across")
	question.StreamOptions.IncludeUsage = openai.Bool(true)
	streamed, _, err := gather(ctx, client, question)
	if err != nil {
		return nil, err
	}
	calls, err := useTools(ctx, "played-claude", "Look both up [play:calls]")
	if err != nil {
		return nil, err
	}
	thinking := askModel("played-claude", "Think first [play:thinking]")
	thinking.ReasoningEffort = shared.ReasoningEffortLow
	thought, err := client.Chat.Completions.New(ctx, thinking)
	if err != nil {
		return nil, err
	}
	thoughtInPieces, _, err := gather(ctx, client, thinking)
	if err != nil {
		return nil, err
	}
	_, refused := client.Chat.Completions.New(ctx, askModel("played-claude", "No [play:refused]"))
	_, _, broken := gather(ctx, client, askModel("played-claude", "Cut [play:cut]"))
	return object{
		"plain": object{"content": plain.Choices[0].Message.Content, "finish_reason": plain.Choices[0].FinishReason,
			"tokens": plain.Usage.TotalTokens},
		"streamed": streamed,
		"tools":    calls,
		"thinking": object{"content": thought.Choices[0].Message.Content, "prompt_tokens": thought.Usage.PromptTokens,
			"cached_tokens": thought.Usage.PromptTokensDetails.CachedTokens, "completion_tokens": thought.Usage.CompletionTokens},
		"thinking_in_pieces": thoughtInPieces,
		"refused":            met(refused),
		"cut":                met(broken),
	}, nil
}

// crossMessages calls a target that speaks OpenAI's dialect with Anthropic's SDK.
func crossMessages(ctx context.Context) (any, error) {
	client := anthropic.NewClient()
	plain, err := client.Messages.New(ctx, say("chats", "Hi across"))
	if err != nil {
		return nil, err
	}
	streamed, err := join(ctx, client, say("chats", "Hi across"))
	if err != nil {
		return nil, err
	}
	calls, err := useMessageTools(ctx, "played-chats", "Look both up [play:calls]")
	if err != nil {
		return nil, err
	}
	thinking := say("played-chats", "Think first [play:thinking]")
	thinking.MaxTokens, thinking.Thinking = 2048, anthropic.ThinkingConfigParamOfEnabled(1024)
	thought, err := client.Messages.New(ctx, thinking)
	if err != nil {
		return nil, err
	}
	thoughtInPieces, err := join(ctx, client, thinking)
	if err != nil {
		return nil, err
	}
	pictures := say("chats", "What is on this?")
	pictures.Messages[0].Content = append(pictures.Messages[0].Content, anthropic.NewImageBlockBase64("image/png", pixel))
	shown, err := client.Messages.New(ctx, pictures)
	if err != nil {
		return nil, err
	}
	_, refused := client.Messages.New(ctx, say("played-chats", "No [play:refused]"))
	_, broken := join(ctx, client, say("played-chats", "Cut [play:cut]"))
	return object{
		"plain": told(*plain), "streamed": told(streamed), "tools": calls, "thinking": told(*thought),
		"thinking_in_pieces": told(thoughtInPieces), "pictures": shown.Usage.InputTokens / 256,
		"refused": metMessage(refused), "cut": metMessage(broken),
	}, nil
}
