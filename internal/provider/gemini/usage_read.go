package gemini

import (
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/provider/wire"
)

// usageMetadata are the counts of an answer; each event of a stream reports those so far. The prompt includes what was read from a cache,
// and the candidates exclude thoughts.
type usageMetadata struct {
	PromptTokenCount        *int64  `json:"promptTokenCount"`
	CachedContentTokenCount int64   `json:"cachedContentTokenCount"`
	ToolUsePromptTokenCount int64   `json:"toolUsePromptTokenCount"`
	CandidatesTokenCount    int64   `json:"candidatesTokenCount"`
	ThoughtsTokenCount      int64   `json:"thoughtsTokenCount"`
	PromptTokensDetails     []modal `json:"promptTokensDetails"`
	CandidatesTokensDetails []modal `json:"candidatesTokensDetails"`
}

// modal is a count of one kind of data.
type modal struct {
	Modality   string `json:"modality"`
	TokenCount int64  `json:"tokenCount"`
}

// count takes over the counts that were reported last. Counts that make no sense count as not reported.
func (r *contentReader) count(raw jsontext.Value) {
	if !wire.IsSet(raw) {
		return
	}
	var u usageMetadata
	if wire.Decode(raw, &u) != nil {
		r.invalid()
		return
	}
	if u.PromptTokenCount == nil {
		return
	}
	audioIn, audioOut := audio(u.PromptTokensDetails), audio(u.CandidatesTokensDetails)
	counts := []int64{*u.PromptTokenCount, u.CachedContentTokenCount, u.ToolUsePromptTokenCount, u.CandidatesTokenCount, u.ThoughtsTokenCount, audioIn, audioOut}
	for i, n := range counts {
		if n < 0 {
			r.invalid()
			return
		}
		counts[i] = min(n, penstock.MaxTokens)
	}
	r.usage, r.reported = r.usage.Most(penstock.Usage{
		InputTokens: min(counts[0]+counts[2], penstock.MaxTokens), CachedInputTokens: counts[1],
		OutputTokens: min(counts[3]+counts[4], penstock.MaxTokens), ReasoningTokens: counts[4],
		AudioInputTokens: counts[5], AudioOutputTokens: counts[6],
	}), wire.ReportedAll
}

func (r *contentReader) invalid() {
	if r.reported == wire.ReportedPart {
		r.reported = wire.ReportedInvalid
	}
}

func audio(all []modal) (n int64) {
	for _, m := range all {
		if m.Modality == "AUDIO" {
			n += m.TokenCount
		}
	}
	return n
}
