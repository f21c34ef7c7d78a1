package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Bounds and sizes of a call for reranking.
const (
	maxDocuments       = 10_000
	documentsPerSearch = 100
	shortWord          = 4         // words with fewer characters say little: a, the, is
	scoreUnits         = 1_000_000 // a score has six decimals
)

type rerankRequest struct {
	Model           string           `json:"model"`
	Query           string           `json:"query"`
	Documents       []rerankDocument `json:"documents"`
	TopN            *int             `json:"top_n"`
	ReturnDocuments bool             `json:"return_documents"`
}

// rerankDocument is a text, or an object with one.
type rerankDocument struct{ text string }

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (d *rerankDocument) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '"' {
		return json.UnmarshalDecode(dec, &d.text)
	}
	var object struct {
		Text string `json:"text"`
	}
	err := json.UnmarshalDecode(dec, &object)
	d.text = object.Text
	return err
}

func decodeRerank(body []byte) (*call, error) {
	r := new(rerankRequest)
	if err := decodeBody(body, r); err != nil {
		return nil, err
	}
	switch n := len(r.Documents); {
	case r.Model == "":
		return nil, required("model")
	case r.Query == "":
		return nil, required("query")
	case n == 0:
		return nil, required("documents")
	case n > maxDocuments:
		return nil, invalid("documents", fmt.Sprintf("Invalid 'documents': expected at most %d items.", maxDocuments))
	case r.TopN != nil && *r.TopN < 1:
		return nil, invalid("top_n", "Invalid 'top_n': expected at least 1.")
	}
	p := new(prompt)
	for _, d := range r.Documents { // the model reads the query again with each document
		p.turns = append(p.turns, turn{role: "user", text: d.text, size: len(r.Query) + len(d.text)})
	}
	p.turns = append(p.turns, turn{role: "user", text: r.Query})
	return &call{model: r.Model, prompt: p, silent: true, responder: r}, nil
}

type (
	rerankList struct {
		ID      string         `json:"id"`
		Model   string         `json:"model"`
		Results []rerankResult `json:"results"`
		Usage   rerankUsage    `json:"usage"`
		Meta    rerankMeta     `json:"meta"`
	}
	rerankResult struct {
		Index          int         `json:"index"`
		RelevanceScore float64     `json:"relevance_score"`
		Document       *rerankText `json:"document,omitzero"`
	}
	rerankText struct {
		Text string `json:"text"`
	}
	rerankUsage struct {
		PromptTokens int `json:"prompt_tokens"`
		TotalTokens  int `json:"total_tokens"`
	}
	rerankMeta struct {
		BilledUnits struct {
			SearchUnits int `json:"search_units"`
		} `json:"billed_units"`
	}
)

func (r *rerankRequest) plain(a *answer) []byte {
	used := a.reported(a.inputTokens)
	list := rerankList{ID: "rerank-" + a.id, Model: a.model, Usage: rerankUsage{used, used}}
	list.Meta.BilledUnits.SearchUnits = (len(r.Documents) + documentsPerSearch - 1) / documentsPerSearch
	wanted := wordSet(r.Query)
	for i, d := range r.Documents {
		one := rerankResult{Index: i, RelevanceScore: relevance(wanted, wordSet(d.text))}
		if r.ReturnDocuments {
			one.Document = &rerankText{d.text}
		}
		list.Results = append(list.Results, one)
	}
	slices.SortStableFunc(list.Results, func(a, b rerankResult) int { return cmp.Compare(b.RelevanceScore, a.RelevanceScore) })
	if r.TopN != nil {
		list.Results = list.Results[:min(*r.TopN, len(list.Results))]
	}
	return encode(list)
}

// relevance is the part of the query's words that a document has, from 0 to 1. Long words count more.
func relevance(query, document map[string]bool) float64 {
	var all, found int
	for word := range query {
		weight := 1
		if n := len(word); n >= shortWord {
			weight = n
		}
		all += weight
		if document[word] {
			found += weight
		}
	}
	if all == 0 {
		return 0
	}
	return float64(found*scoreUnits/all) / scoreUnits
}

// wordSet are the words of a text in lower case, without the s of a plural.
func wordSet(text string) map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(word) > shortWord {
			word = strings.TrimSuffix(word, "s")
		}
		words[word] = true
	}
	return words
}
