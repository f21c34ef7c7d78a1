package api

import (
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
)

// requestSamples are pages of calls, and answers of upstreams.
func requestSamples() []any {
	failed := penstock.Request{Status: penstock.StatusFailed, ErrorCode: penstock.CodeOverloaded, Labels: penstock.Labels{Tags: map[string]string{"team": "search"}, Subject: "ann"}}
	value, word := jsontext.Value(`"x"`), "x"
	return []any{
		chatAnswer{Choices: []chatChoice{{Message: chatReply{Content: &word, ToolCalls: []jsontext.Value{value}}, FinishReason: &word}}, Usage: &chatUsage{}}, chatAnswer{Choices: []chatChoice{{}}},
		embeddingAnswer{Data: []embeddingVector{{Embedding: value}}}, rerankAnswer{Results: []rerankResult{{RelevanceScore: -0.5, Document: &rankedText{Text: word}}}, Usage: &rerankUsage{}, Meta: &rerankMeta{}}, rerankAnswer{Results: []rerankResult{}}, messageAnswer{Content: []messageBlock{{Type: word, Text: word}}, StopReason: &word},
		requestPageView{Object: "list", Data: []requestSummaryView{}},
		requestPageView{Object: "list", Data: []requestSummaryView{newRequestSummary(failed)}, HasMore: true, NextAfter: text("req_01JQ0000000000000000000000")},
	}
}
