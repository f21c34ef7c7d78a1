// Package catalog is the table of the endpoints that inferences come in by: the format of their bodies, and how it differs from one
// to the other. It reads bytes and holds no state.
package catalog

import (
	"maps"
	"slices"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
	"penstock/internal/dialect/anthropic"
	"penstock/internal/dialect/openai"
	"penstock/internal/dialect/rerank"
)

// Entry is one endpoint of inferences.
type Entry struct {
	Name   penstock.Endpoint
	Format *dialect.Format
	// Read reads a body. Codes: invalid_request.
	Read func(text []byte) (dialect.Inference, error)
	// ReadDefaults reads members that a job's bodies get where they lack them; nil where Read does. Codes: invalid_request.
	ReadDefaults func(text []byte) (dialect.Inference, error)
	// Question is the body that asks one question; nil where no job can name the endpoint.
	Question func(string) ([]byte, error)
	// Conversation is the member that holds the messages of a conversation, "" where bodies have none.
	Conversation string
	// Needs are members that a job's bodies get when they and its defaults leave them out, as a JSON object; "" for none.
	Needs string
	// Forward are headers of the caller's that are meant for the upstream.
	Forward []string
	// Beta is the one of them that asks for behaviour that is not released; "" for none.
	Beta   string
	Free   bool // upstreams do not charge for it
	Silent bool // its answers are never streamed
}

var all = map[penstock.Endpoint]Entry{
	penstock.EndpointChat:        {Name: penstock.EndpointChat, Format: openai.ChatFormat, Read: openai.ReadChat, Question: openai.ChatQuestion, Conversation: "messages"},
	penstock.EndpointCompletions: {Name: penstock.EndpointCompletions, Format: openai.CompletionFormat, Read: openai.ReadCompletion, Question: openai.CompletionQuestion},
	penstock.EndpointEmbeddings:  {Name: penstock.EndpointEmbeddings, Format: openai.EmbeddingFormat, Read: openai.ReadEmbedding, Question: openai.InputQuestion, Silent: true},
	penstock.EndpointResponses:   {Name: penstock.EndpointResponses, Format: openai.ResponseFormat, Read: openai.ReadResponse, Question: openai.InputQuestion, Conversation: "input"},
	penstock.EndpointMessages: {Name: penstock.EndpointMessages, Format: anthropic.MessageFormat, Read: anthropic.ReadMessage, Question: anthropic.Question, Conversation: "messages", Needs: anthropic.Needs,
		Forward: anthropicHeaders, Beta: anthropic.HeaderBeta},
	penstock.EndpointRerank:      {Name: penstock.EndpointRerank, Format: rerank.Format, Read: rerank.Read, ReadDefaults: rerank.ReadDefaults, Question: rerank.NoQuestion, Silent: true},
	penstock.EndpointCountTokens: {Name: penstock.EndpointCountTokens, Format: anthropic.CountFormat, Read: anthropic.ReadCount, Forward: anthropicHeaders, Beta: anthropic.HeaderBeta, Free: true},
}

var anthropicHeaders = []string{anthropic.HeaderVersion, anthropic.HeaderBeta}

// Of returns an endpoint, and false for one that no inference comes in by.
func Of(name penstock.Endpoint) (Entry, bool) {
	e, ok := all[name]
	return e, ok
}

// All returns every endpoint, in no particular order.
func All() []Entry { return slices.Collect(maps.Values(all)) }

// Read reads a body of an endpoint. Codes: invalid_request.
func Read(name penstock.Endpoint, text []byte) (dialect.Inference, error) {
	e, ok := all[name]
	if !ok {
		return dialect.Inference{}, penstock.InvalidParam("endpoint", "endpoint %q is not served.", name)
	}
	return e.Read(text)
}

// Complete adds the members that the format needs to a body that does not have them.
func (e Entry) Complete(text []byte) ([]byte, error) {
	if e.Needs == "" {
		return text, nil
	}
	object, err := body.Scan(text)
	if err != nil {
		return nil, err
	}
	needs, err := body.Scan([]byte(e.Needs))
	return object.WithDefaults(needs), err
}
