package api

import (
	"net/http"

	"penstock"
)

// headerTruncated says what was dropped of a conversation that was too long for its model.
const headerTruncated = "x-penstock-truncated"

// truncationView is what was dropped of a conversation.
type truncationView struct {
	Policy        penstock.OnOverflow `json:"policy" about:"The on_overflow of the model: truncate_oldest or truncate_middle."`
	TurnsDropped  int64               `json:"turns_dropped"`
	TokensDropped int64               `json:"tokens_dropped"`
	TokensBefore  int64               `json:"tokens_before" about:"Tokens of the whole input, by Penstock's tokenizer; an estimate if the input is much longer than the context."`
	TokensAfter   int64               `json:"tokens_after" about:"Tokens of the input that was sent."`
	ContextTokens int64               `json:"context_tokens" about:"The context that the input was shortened for."`
}

// newTruncationView returns nil for nothing, as for nearly all inputs.
func newTruncationView(t *penstock.Truncation) *truncationView {
	if t == nil {
		return nil
	}
	return &truncationView{
		Policy: t.Policy, TurnsDropped: t.Turns, TokensDropped: t.TokensDropped(), TokensBefore: t.TokensBefore, TokensAfter: t.TokensAfter, ContextTokens: t.ContextTokens,
	}
}

// setTruncatedHeader says in an answer what was dropped of its call.
func setTruncatedHeader(h http.Header, t *penstock.Truncation) {
	if t != nil {
		h.Set(headerTruncated, t.String())
	}
}
