// Package rerank is the format of reranking as callers speak it to Penstock: a query and documents, which the model orders by their
// relevance to the query. The format is that of Cohere and Jina, which vLLM, llama.cpp, Together and others serve too.
//
// It owns the members of a body and their bounds. Package translate writes the body for the upstream and the answer for the caller.
// This package only reads bytes.
package rerank

import (
	"fmt"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
)

// The members that both the reader and the translation name.
const (
	Query           = "query"
	Documents       = "documents"
	TopN            = "top_n"
	ReturnDocuments = "return_documents"
	Text            = "text"
)

// MaxDocuments is how many documents one call may rank: more than any vendor accepts.
const MaxDocuments = 10_000

// Format is the format of bodies. The members max_chunks_per_doc and truncation make some upstreams read less, and never more.
var Format = &dialect.Format{
	Endpoint: penstock.EndpointRerank,
	Shape: dialect.NewTop(append(body.Names("model", "stream", "user", "metadata", Query, TopN, ReturnDocuments, "rank_fields", "max_tokens_per_doc", "max_chunks_per_doc",
		"truncation", "priority", "truncate_prompt_tokens"),
		body.Field{Name: Documents, Value: body.NewShape(body.Names(Text)...)})...),
	Priced: dialect.Passing("model", "stream", "user", "metadata", Query, Documents, TopN, ReturnDocuments, "rank_fields", "max_tokens_per_doc", "max_chunks_per_doc",
		"truncation", "priority", "truncate_prompt_tokens"),
}

// Read reads the body of a call. Codes: invalid_request.
func Read(text []byte) (dialect.Inference, error) {
	f, err := dialect.Scan(text, Format)
	if err != nil {
		return dialect.Inference{}, err
	}
	inf := f.Inference()
	inf.Choices, inf.Silent = 1, true
	if f.String(Query) == "" {
		f.Refuse(Query, "query is missing; it must be the text that the documents are ranked by.")
	}
	inf.Ranking = readDocuments(f)
	checkOptions(f)
	return inf, f.Err()
}

// ReadDefaults reads members that bodies get where they lack them. Codes: invalid_request.
func ReadDefaults(text []byte) (dialect.Inference, error) {
	f, err := dialect.Scan(text, Format)
	if err != nil {
		return dialect.Inference{}, err
	}
	inf := f.Inference()
	inf.Choices, inf.Silent = 1, true
	f.String(Query)
	if f.Given(Documents) {
		inf.Ranking = readDocuments(f)
	}
	checkOptions(f)
	return inf, f.Err()
}

// checkOptions refuses options that no upstream could honour.
func checkOptions(f *dialect.Fields) {
	f.CheckModel()
	if f.Bool("stream") {
		f.Refuse("stream", "stream: a ranking comes in one piece; leave it out.")
	}
	for _, name := range []string{TopN, "max_tokens_per_doc", "max_chunks_per_doc"} {
		if n := f.Count(name); f.Given(name) && n < 1 {
			f.Refuse(name, "%s must be at least 1; leave it out for no bound.", name)
		}
	}
	if n := f.Count(TopN); n > MaxDocuments {
		f.Refuse(TopN, "top_n is %d; at most %d documents are ranked, so that more cannot come back.", n, MaxDocuments)
	}
	f.Bool(ReturnDocuments)
	if f.Given("rank_fields") {
		f.Refuse("rank_fields", "rank_fields: a document is ranked by one text. Send it as a string, or as text, and leave rank_fields out.")
	}
}

// readDocuments checks the documents, and reads how much an upstream has to read.
func readDocuments(f *dialect.Fields) (r dialect.Ranking) {
	raw := f.Raw(Documents)
	if len(raw) == 0 || raw[0] != '[' {
		f.Refuse(Documents, "documents must be a list of texts, such as [\"first\", \"second\"].")
		return r
	}
	query := f.Raw(Query)
	r.QueryBytes = int64(len(query))
	for n, text := range Texts(raw) {
		if text == nil {
			f.Refuse(fmt.Sprintf("documents[%d]", n), "documents[%d] must be a string, or an object with the string text.", n)
			return r
		}
		r.Add(int64(len(text)))
	}
	switch {
	case r.Documents == 0:
		f.Refuse(Documents, "documents is empty; send at least one document.")
	case r.Documents > MaxDocuments:
		f.Refuse(Documents, "documents has %d entries; at most %d are allowed. Split the list into several calls.", r.Documents, MaxDocuments)
	}
	return r
}

// Texts are the texts of documents, as JSON strings; nil for a document that has none.
func Texts(documents []byte) func(yield func(n int, text []byte) bool) {
	return func(yield func(int, []byte) bool) {
		in := body.NewCursor(documents)
		for n := range in.Elements {
			if !yield(n, textOf(&in)) {
				return
			}
		}
	}
}

// textOf reads the text of the document that comes next.
func textOf(in *body.Cursor) (text []byte) {
	switch in.Kind() {
	case '"':
		return in.Raw()
	case '{':
		for name := range in.Members {
			if string(name) == Text && in.Kind() == '"' {
				text = in.Raw()
				continue
			}
			in.Skip()
		}
	default:
		in.Skip()
	}
	return text
}

// NoQuestion refuses a plain prompt in the place of a body: a ranking needs documents. Codes: invalid_request.
func NoQuestion(string) ([]byte, error) {
	return nil, penstock.InvalidParam("input", `%s takes no prompt; send a body with query and documents, such as {"query": "…", "documents": ["…"]}.`, penstock.EndpointRerank)
}
