package openai

import (
	"errors"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/provider/wire"
)

// readUsage reads the counts that a server reported, in the names of completions (prompt, completion) or
// of responses (input, output). Usage that makes no sense counts as not reported: code that charges for it
// must then assume the worst, and not what is cheapest.
func readUsage(reported jsontext.Value) (penstock.Usage, wire.Reported) {
	if !wire.IsSet(reported) {
		return penstock.Usage{}, wire.ReportedPart
	}
	var completions, responses usage
	in := body.NewCursor(reported)
	for name := range in.Members {
		switch string(name) {
		case "prompt_tokens":
			completions.readInput(&in)
		case "completion_tokens":
			completions.OutputTokens = readCount(&in)
		case "prompt_tokens_details":
			completions.readInputDetails(&in)
		case "prompt_cache_hit_tokens": // DeepSeek's name for cached_tokens
			completions.CachedInputTokens = readCount(&in)
		case "completion_tokens_details":
			completions.readOutputDetails(&in)
		case "input_tokens":
			responses.readInput(&in)
		case "output_tokens":
			responses.OutputTokens = readCount(&in)
		case "input_tokens_details":
			responses.readInputDetails(&in)
		case "output_tokens_details":
			responses.readOutputDetails(&in)
		default:
			in.Skip()
		}
	}
	if in.End() != nil {
		return penstock.Usage{}, wire.ReportedInvalid
	}
	if responses.reported && !completions.reported {
		return responses.sensible()
	}
	return completions.sensible()
}

// usage is what was reported in one vocabulary.
type usage struct {
	penstock.Usage
	reported bool // without the input there is no usage
}

func (u *usage) readInput(in *body.Cursor) {
	u.reported = in.Kind() != 'n'
	u.InputTokens = readCount(in)
}

func (u *usage) readInputDetails(in *body.Cursor) {
	if in.Kind() == 'n' {
		in.Skip()
		return
	}
	for name := range in.Members {
		switch string(name) {
		case "cached_tokens":
			u.CachedInputTokens = readCount(in)
		case "cache_write_tokens": // not OpenAI's own, but widely reported
			u.CacheWriteTokens = readCount(in)
		case "audio_tokens":
			u.AudioInputTokens = readCount(in)
		default:
			in.Skip()
		}
	}
}

func (u *usage) readOutputDetails(in *body.Cursor) {
	if in.Kind() == 'n' {
		in.Skip()
		return
	}
	for name := range in.Members {
		switch string(name) {
		case "reasoning_tokens":
			u.ReasoningTokens = readCount(in)
		case "audio_tokens":
			u.AudioOutputTokens = readCount(in)
		default:
			in.Skip()
		}
	}
}

// readCount reads a count of tokens, up to the most that is believed. What is no count, such as a fraction, a string or a number
// below zero, comes back as -1 and makes the whole usage senseless.
func readCount(in *body.Cursor) int64 {
	raw := in.Raw()
	if len(raw) == 0 || raw[0] == 'n' {
		return 0
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	switch {
	case err == nil && n >= 0:
		return min(n, penstock.MaxTokens)
	case errors.Is(err, strconv.ErrRange) && raw[0] != '-':
		return penstock.MaxTokens
	}
	return -1
}

func (u *usage) sensible() (penstock.Usage, wire.Reported) {
	counts := u.Counts()
	switch {
	case slices.ContainsFunc(counts[:], func(n *int64) bool { return *n < 0 }):
		return penstock.Usage{}, wire.ReportedInvalid
	case !u.reported:
		return penstock.Usage{}, wire.ReportedPart
	}
	return u.Usage, wire.ReportedAll
}
