// Package openai is OpenAI's dialect as callers speak it to Penstock: what a body asks for, and how
// answers and errors look. It only reads and writes bytes; the calls themselves are package api's.
package openai

import (
	"encoding/json"
	"errors"
	"strings"

	"penstock"
	"penstock/internal/body"
)

// Call is what Penstock has to know about a body. The rest is the upstream's business.
type Call struct {
	Object          body.Object
	Model           string
	Stream          bool
	MaxOutputTokens int64 // of one answer, 0 when the caller set no bound
	Choices         int64 // answers asked for at once
}

// Bounds of what a body may ask for, so that what is reserved for it stays a number.
const (
	MaxChoices      = 128
	MaxOutputTokens = 1 << 24
)

// ReadChat reads the body of a chat completion. Codes: invalid_request.
func ReadChat(text []byte) (Call, error) {
	o, err := body.Scan(text)
	if err != nil {
		return Call{}, penstock.InvalidParam("body", "The body %v.", err)
	}
	c := Call{Object: o}
	var errs [5]error
	var completion int64
	c.Model, errs[0] = o.String("model")
	c.Stream, errs[1] = o.Bool("stream")
	c.MaxOutputTokens, errs[2] = o.Count("max_tokens")
	completion, errs[3] = o.Count("max_completion_tokens")
	c.Choices, errs[4] = o.Count("n")
	c.MaxOutputTokens, c.Choices = max(c.MaxOutputTokens, completion), max(c.Choices, 1)
	if err := errors.Join(errs[:]...); err != nil {
		message, _, _ := strings.Cut(err.Error(), "\n")
		param, _, _ := strings.Cut(message, " ")
		return Call{}, penstock.InvalidParam(param, "%s.", message)
	}
	if c.MaxOutputTokens > MaxOutputTokens {
		return Call{}, penstock.InvalidParam("max_tokens", "max_tokens must be at most %d.", MaxOutputTokens)
	}
	if c.Choices > MaxChoices {
		return Call{}, penstock.InvalidParam("n", "n must be at most %d.", MaxChoices)
	}
	return c, nil
}

// UserMessage is the body that asks one question.
func UserMessage(text string) ([]byte, error) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	return json.Marshal(map[string][]message{"messages": {{Role: "user", Content: text}}})
}

// Model is an entry of the list of models.
type Model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

// ModelList is the answer of GET /v1/models.
type ModelList struct {
	Object string  `json:"object"`
	Data   []Model `json:"data"`
}

// NewModelList lists models by name.
func NewModelList(names []string) ModelList {
	list := ModelList{Object: "list", Data: make([]Model, len(names))}
	for i, name := range names {
		list.Data[i] = NewModel(name)
	}
	return list
}

// NewModel describes one model.
func NewModel(name string) Model { return Model{ID: name, Object: "model", OwnedBy: "penstock"} }
