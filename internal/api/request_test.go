package api

import (
	"reflect"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/dialect/openai"
	"penstock/internal/rest"
)

// requestSamples are pages of calls, and answers of upstreams.
func requestSamples() []any {
	failed := penstock.Request{Status: penstock.StatusFailed, ErrorCode: penstock.CodeOverloaded, Labels: penstock.Labels{Tags: map[string]string{"team": "search"}, Subject: "ann"}}
	value, word := jsontext.Value(`"x"`), "x"
	return []any{
		chatAnswer{Choices: []chatChoice{{Message: chatReply{Content: &word, ToolCalls: []jsontext.Value{value}}, FinishReason: &word}}, Usage: &chatUsage{}}, chatAnswer{Choices: []chatChoice{{}}},
		embeddingAnswer{Data: []embeddingVector{{Embedding: value}}}, messageAnswer{Content: []messageBlock{{Type: word, Text: word}}, StopReason: &word},
		completionAnswer{Choices: []completionChoice{{Text: word, FinishReason: &word}}, Usage: &chatUsage{}}, completionAnswer{Choices: []completionChoice{{}}},
		responseAnswer{Output: []responseOutput{}}, responseAnswer{
			Output: []responseOutput{{Type: word, ID: word, Status: word, Role: word, Content: []responseContent{{Type: word, Text: word}}, Summary: []responseContent{{Type: word}}, CallID: word, Name: word, Arguments: word, Input: word}},
			Usage:  &responseUsage{}, Error: &responseError{}, IncompleteDetails: &incompleteDetails{}, PreviousResponseID: &word, Metadata: &map[string]string{word: word},
		},
		rerankAnswer{Results: []rerankResult{{RelevanceScore: -0.5, Document: &rankedText{Text: word}}}, Usage: &rerankUsage{}, Meta: &rerankMeta{}}, rerankAnswer{Results: []rerankResult{}},
		requestPageView{Object: "list", Data: []requestSummaryView{}},
		requestPageView{Object: "list", Data: []requestSummaryView{newRequestSummary(failed)}, HasMore: true, NextAfter: text("req_01JQ0000000000000000000000")},
	}
}

// The states of a stored response, which Penstock writes itself, fit the description of the upstream's answer.
func TestKeptResponsesAreDescribed(t *testing.T) {
	t.Parallel()
	_, doc := openAPI(t)
	compiled := schemaCompiler(t, doc)(schemasAt.AppendToken(rest.SchemaName(reflect.TypeFor[responseAnswer]())))
	failed := newKeptView(penstock.Job{ID: "01JQ0000000000000000000000", Model: "fast", Resolved: penstock.Resolved{Previous: "01JQ0000000000000000000001"}}, "failed", openai.NewEcho([]byte(`{"temperature":0.5,"tools":[{"type":"function","name":"f"}],"metadata":{"k":"v"}}`)))
	failed.Error = &responseError{Code: "server_error", Message: "It broke."}
	for _, view := range []keptView{failed, newKeptView(penstock.Job{ID: "01JQ0000000000000000000000"}, "queued", openai.NewEcho(nil))} {
		for _, text := range encodings(t, view) {
			if err := validate(compiled, text); err != nil {
				t.Errorf("%#v\nof %s", err, text)
			}
		}
	}
}
