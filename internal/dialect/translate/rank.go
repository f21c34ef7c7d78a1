package translate

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
	"penstock/internal/dialect/rerank"
	"penstock/internal/provider"
)

// rerankToRank is for calls that rank documents. Servers accept the same body, as long as documents are strings, and differ in their
// answers. So callers get one form of answer from all servers, and the documents in it are those that the caller sent.
var rerankToRank = &whole{request: rankFromRerank, answer: rerankFromRank, envelope: chatError}

// rankLeft are the members of a caller's body that no server of rankings reads, and whether the attempt records them.
var rankLeft = map[string]bool{rerank.ReturnDocuments: false, "stream": false, "user": true, "metadata": true}

// rankFromRerank writes the body for the upstream: documents become strings. Members that are not known are the upstream's to read.
func rankFromRerank(text []byte) ([]byte, []string, error) {
	top, err := body.Scan(text)
	if err != nil {
		return nil, nil, penstock.InvalidParam("body", "The body %v.", err)
	}
	var dropped []string
	out := []byte{'{'}
	for _, m := range top.Members {
		value := text[m.Value.Start:m.Value.End]
		if recorded, left := rankLeft[m.Name]; left || string(value) == "null" {
			if recorded {
				dropped = append(dropped, m.Name)
			}
			continue
		}
		if m.Name == rerank.Documents {
			value = documentTexts(value)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		if out, err = jsontext.AppendQuote(out, m.Name); err != nil {
			return nil, nil, penstock.InvalidParam("body", "The body has a name that is not valid UTF-8.")
		}
		out = append(append(out, ':'), value...)
	}
	return append(out, '}'), dropped, nil
}

// documentTexts is a list of documents as a list of strings. Most lists are that already.
func documentTexts(documents []byte) []byte {
	out := []byte{'['}
	for n, text := range rerank.Texts(documents) {
		if n > 0 {
			out = append(out, ',')
		}
		out = append(out, text...)
	}
	return append(out, ']')
}

// ranked is a document in an upstream's order. Servers give the score two names.
type ranked struct {
	Index          *int     `json:"index"`
	RelevanceScore *float64 `json:"relevance_score"`
	Score          *float64 `json:"score"`
}

// score is the relevance of a document; nil if the server gave none.
func (r ranked) score() *float64 { return cmp.Or(r.RelevanceScore, r.Score) }

// rerankFromRank writes the answer. Its order is by relevance, whatever order the server gave.
func rerankFromRank(text []byte, asked dialect.Asked, meta provider.Meta) ([]byte, error) {
	results, err := readRanking(text)
	if err != nil {
		return nil, err
	}
	question, err := readQuestion(asked.Body)
	if err != nil {
		return nil, err
	}
	if err := checkRanking(results, len(question.Documents)); err != nil {
		return nil, err
	}
	slices.SortStableFunc(results, func(a, b ranked) int { return cmp.Compare(*b.score(), *a.score()) })
	if n := question.TopN; n > 0 {
		results = results[:min(n, len(results))]
	}
	out := rerankAnswer{ID: "rerank-" + asked.ID, Model: asked.Model, Results: make([]rerankResult, len(results))}
	for i, r := range results {
		out.Results[i] = rerankResult{Index: *r.Index, RelevanceScore: *r.score()}
		if question.ReturnDocuments {
			out.Results[i].Document = documentOf(question.Documents[*r.Index])
		}
	}
	if meta.UsageKnown {
		out.Usage = &rerankUsage{meta.Usage.InputTokens, meta.Usage.InputTokens}
	}
	if meta.SearchUnits > 0 {
		out.Meta = &rerankMeta{billedUnits{meta.SearchUnits}}
	}
	return encode(out), nil
}

// The answer that callers get. It is Cohere's, with the usage that Jina reports.
type (
	rerankAnswer struct {
		ID      string         `json:"id"`
		Model   string         `json:"model"`
		Results []rerankResult `json:"results"`
		Usage   *rerankUsage   `json:"usage,omitzero"`
		Meta    *rerankMeta    `json:"meta,omitzero"`
	}
	rerankResult struct {
		Index          int            `json:"index"`
		RelevanceScore float64        `json:"relevance_score"`
		Document       jsontext.Value `json:"document,omitzero"`
	}
	rerankUsage struct {
		PromptTokens int64 `json:"prompt_tokens"`
		TotalTokens  int64 `json:"total_tokens"`
	}
	rerankMeta struct {
		BilledUnits billedUnits `json:"billed_units"`
	}
	billedUnits struct {
		SearchUnits int64 `json:"search_units"`
	}
)

// readRanking reads the results of an answer: a list, or an object that has one.
func readRanking(text []byte) (results []ranked, err error) {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		err = json.Unmarshal(text, &results, lenient)
	} else {
		var top struct {
			Results []ranked `json:"results"`
			Data    []ranked `json:"data"`
		}
		err = json.Unmarshal(text, &top, lenient)
		if results = top.Results; len(results) == 0 {
			results = top.Data
		}
	}
	if err != nil {
		return nil, malformed(err, "it is not a ranking of documents")
	}
	return results, nil
}

// checkRanking refuses results that are not an order of the caller's documents.
func checkRanking(results []ranked, documents int) error {
	if len(results) == 0 {
		return malformed(nil, "it ranks no document")
	}
	seen := make([]bool, documents)
	for i, r := range results {
		switch {
		case r.Index == nil || r.score() == nil:
			return malformed(nil, fmt.Sprintf("results[%d] has no index or no relevance_score", i))
		case *r.Index < 0 || *r.Index >= documents:
			return malformed(nil, fmt.Sprintf("results[%d] has the index %d of %d documents", i, *r.Index, documents))
		case seen[*r.Index]:
			return malformed(nil, fmt.Sprintf("it ranks the document %d twice", *r.Index))
		}
		seen[*r.Index] = true
	}
	return nil
}

// rerankQuestion is the part of a caller's body that its answer depends on.
type rerankQuestion struct {
	Documents       []jsontext.Value `json:"documents"`
	TopN            int              `json:"top_n"`
	ReturnDocuments bool             `json:"return_documents"`
}

func readQuestion(text []byte) (q rerankQuestion, err error) {
	if err := json.Unmarshal(text, &q, lenient); err != nil {
		return q, penstock.Internal(fmt.Errorf("reading a body that was admitted: %w", err))
	}
	return q, nil
}

// documentOf is a document as callers get it back: an object with its text, or the object that they sent.
func documentOf(sent jsontext.Value) jsontext.Value {
	if sent.Kind() == '{' {
		return sent
	}
	return slices.Concat(jsontext.Value(`{"text":`), sent, jsontext.Value(`}`))
}
