package translate

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/dialect"
)

// stop is why an answer ended.
type stop int

const (
	stopTurn     stop = iota // the model was done
	stopSequence             // it generated a stop sequence of the caller
	stopLength               // it reached its token limit
	stopTools                // it waits for the results of tools
	stopRefusal              // it was not allowed to go on
)

// chatWords are the finish reasons of chat completions.
var chatWords = [...]string{stopTurn: "stop", stopSequence: "stop", stopLength: "length", stopTools: "tool_calls", stopRefusal: "content_filter"}

// messageWords are the stop reasons of messages.
var messageWords = [...]string{stopTurn: "end_turn", stopSequence: "stop_sequence", stopLength: "max_tokens", stopTools: "tool_use", stopRefusal: "refusal"}

// responseReasons are the reasons why a response is incomplete. One that ended otherwise is complete.
var responseReasons = map[stop]string{stopLength: "max_output_tokens", stopRefusal: "content_filter"}

// stopFromChat reads a finish reason. An unknown reason means that the model was done.
func stopFromChat(word string) stop {
	switch word {
	case "length":
		return stopLength
	case "tool_calls", "function_call":
		return stopTools
	case "content_filter":
		return stopRefusal
	}
	return stopTurn
}

// stopFromMessage reads a stop reason. An unknown reason means that the model was done.
func stopFromMessage(word string) stop {
	switch word {
	case "stop_sequence":
		return stopSequence
	case "max_tokens", "model_context_window_exceeded":
		return stopLength
	case "tool_use":
		return stopTools
	case "refusal":
		return stopRefusal
	}
	return stopTurn
}

// ending is what is known when an answer is complete.
type ending struct {
	stop     stop
	sequence string // the sequence it stopped at, "" when that is not known
	usage    tokens
}

// tokens counts an answer's tokens by class. No token is in two classes, but for reasoning, which is a
// part of the output.
type tokens struct {
	input, cacheRead, cacheWrite, output, reasoning int64
}

// chatUsage is usage in a chat completion, whose prompt includes what was read from and written to a
// cache.
type chatUsage struct {
	PromptTokens     int64        `json:"prompt_tokens"`
	CompletionTokens int64        `json:"completion_tokens"`
	TotalTokens      int64        `json:"total_tokens"`
	Prompt           promptDetail `json:"prompt_tokens_details"`
	Completion       outputDetail `json:"completion_tokens_details"`
}

type promptDetail struct {
	CachedTokens     int64 `json:"cached_tokens"`
	CacheWriteTokens int64 `json:"cache_write_tokens,omitzero"` // not OpenAI's own, but widely understood
}

type outputDetail struct {
	ReasoningTokens int64 `json:"reasoning_tokens"`
}

func (t tokens) chat() chatUsage {
	prompt := plus(plus(t.input, t.cacheRead), t.cacheWrite)
	return chatUsage{
		PromptTokens: prompt, CompletionTokens: t.output, TotalTokens: plus(prompt, t.output),
		Prompt:     promptDetail{CachedTokens: t.cacheRead, CacheWriteTokens: t.cacheWrite},
		Completion: outputDetail{ReasoningTokens: t.reasoning},
	}
}

// tokensFromChat reads usage; invalid counts are taken as not reported.
func tokensFromChat(raw jsontext.Value) (tokens, bool) {
	var u chatUsage
	if !isSet(raw) || json.Unmarshal(raw, &u, lenient) != nil {
		return tokens{}, false
	}
	t := tokens{cacheRead: u.Prompt.CachedTokens, cacheWrite: u.Prompt.CacheWriteTokens, output: u.CompletionTokens, reasoning: u.Completion.ReasoningTokens}
	t.input = u.PromptTokens - plus(max(0, t.cacheRead), max(0, t.cacheWrite))
	return t, min(t.cacheRead, t.cacheWrite, t.output, t.reasoning, t.input) >= 0
}

// messageUsage is usage in a message, whose input excludes what was read from and written to a cache.
// A stream reports it more than once, each time with the counts so far.
type messageUsage struct {
	InputTokens              *int64 `json:"input_tokens"`
	CacheCreationInputTokens *int64 `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     *int64 `json:"cache_read_input_tokens"`
	OutputTokens             *int64 `json:"output_tokens"`
}

func (t tokens) message() messageUsage {
	return messageUsage{InputTokens: &t.input, CacheCreationInputTokens: &t.cacheWrite, CacheReadInputTokens: &t.cacheRead, OutputTokens: &t.output}
}

// update takes over the latest counts that a message reports.
func (t *tokens) update(raw jsontext.Value) {
	var u messageUsage
	if !isSet(raw) || json.Unmarshal(raw, &u, lenient) != nil {
		return
	}
	for _, class := range []struct {
		count *int64
		told  *int64
	}{{&t.input, u.InputTokens}, {&t.cacheWrite, u.CacheCreationInputTokens}, {&t.cacheRead, u.CacheReadInputTokens}, {&t.output, u.OutputTokens}} {
		if class.told != nil && *class.told >= 0 {
			*class.count = *class.told
		}
	}
}

// plus adds reported counts, and saturates instead of overflowing.
func plus(a, b int64) int64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return 1<<63 - 1
}

// answerID is the id of an answer in a dialect: the upstream's own, behind the dialect's prefix. Gemini may send none; then it is made
// of the id of the call.
func answerID(prefix, id string, asked dialect.Asked) string {
	id = cmp.Or(id, asked.ID)
	for _, other := range []string{"chatcmpl-", "msg_"} {
		id = strings.TrimPrefix(id, other)
	}
	return prefix + clip(id, maxAnswerIDBytes)
}

// maxAnswerIDBytes bounds the id of an answer, which every chunk of a chat completion repeats.
const maxAnswerIDBytes = 128
