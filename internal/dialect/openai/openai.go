// Package openai is OpenAI's dialect as callers speak it to Penstock: what the bodies of its endpoints
// ask for, and how lists of models look. It only reads and writes bytes; the calls themselves are
// package api's.
package openai

import (
	"penstock/internal/body"
	"penstock/internal/dialect"
)

// ReadChat reads the body of a chat completion. Codes: invalid_request.
func ReadChat(text []byte) (dialect.Inference, error) {
	f, err := dialect.Scan(text, ChatFormat)
	if err != nil {
		return dialect.Inference{}, err
	}
	inf := generating(f)
	inf.IncludeUsage = wantsUsage(f)
	inf.Choices = max(f.Choices("n", 1), inf.Further.Answers)
	inf.Prompt = f.Prompt()
	return inf, f.Err()
}

// ReadCompletion reads the body of a completion, which may hold several prompts. Codes: invalid_request.
func ReadCompletion(text []byte) (dialect.Inference, error) {
	f, err := dialect.Scan(text, CompletionFormat)
	if err != nil {
		return dialect.Inference{}, err
	}
	inf := generating(f)
	inf.IncludeUsage = wantsUsage(f)
	// best_of answers are generated, and paid for, of which n are shown.
	inf.Choices = max(f.Choices("n", 1), f.Choices("best_of", 0), inf.Further.Answers)
	prompts := body.Prompts(f.Raw("prompt"))
	if prompts > dialect.MaxPrompts {
		f.Refuse("prompt", "prompt holds %d prompts; at most %d are taken at once.", prompts, dialect.MaxPrompts)
	}
	inf.Choices *= prompts
	return inf, f.Err()
}

// ReadEmbedding reads the body of a call for embeddings. Codes: invalid_request.
func ReadEmbedding(text []byte) (dialect.Inference, error) {
	f, err := dialect.Scan(text, EmbeddingFormat)
	if err == nil && f.Given("modality") && string(f.Raw("modality")) != `"text"` {
		f, err = dialect.Scan(text, mediaEmbeddingFormat)
	}
	if err != nil {
		return dialect.Inference{}, err
	}
	inf := f.Inference()
	inf.Choices, inf.Silent = 1, true
	f.CheckModel()
	if f.Bool("stream") {
		f.Refuse("stream", "stream: embeddings come in one piece; leave it out.")
	}
	return inf, f.Err()
}

// ReadResponse reads the body of a response that says everything itself. Upstreams keep responses unless they are told otherwise,
// so they are told. Codes: invalid_request.
func ReadResponse(text []byte) (dialect.Inference, error) {
	f, err := dialect.Scan(text, ResponseFormat)
	if err != nil {
		return dialect.Inference{}, err
	}
	inf := generating(f)
	inf.Choices = max(inf.Further.Answers, 1)
	inf.Prompt = f.Prompt()
	for _, option := range []string{"store", "background"} {
		if f.Bool(option) {
			f.Refuse(option, "%s is for POST /v1/responses: the body of a job is kept with its job. Leave it out.", option)
		}
	}
	if f.Given(previous) {
		f.Refuse(previous, "%s is for POST /v1/responses; in the body of a job, send the whole conversation as input.", previous)
	}
	if f.Given(conversation) {
		f.Refuse(conversation, "conversation is for POST /v1/responses; in the body of a job, send the whole conversation as input.")
	}
	if err := f.Err(); err != nil || f.Given("store") {
		return inf, err
	}
	inf.Object, err = body.ScanAs(body.Apply(text, f.Replace("store", "false")), responseShape)
	return inf, err
}

// generating reads the members of a body whose answer is generated.
func generating(f *dialect.Fields) dialect.Inference {
	inf := f.Inference()
	inf.Stream, inf.MaxOutputTokens, inf.Further = f.Bool("stream"), f.OutputTokens(), f.Further()
	return inf
}

// wantsUsage reports whether a stream's caller asks for usage. What is no proper wish is the upstream's
// to complain about.
func wantsUsage(f *dialect.Fields) bool {
	raw := f.Raw("stream_options")
	if len(raw) == 0 || raw[0] != '{' {
		return false
	}
	options, err := body.Scan(raw)
	return err == nil && string(options.Raw("include_usage")) == "true"
}

// ChatQuestion is the chat that asks one question.
func ChatQuestion(question string) ([]byte, error) {
	return dialect.Question(`{"messages":[{"role":"user","content":%s}]}`, question)
}

// CompletionQuestion is the completion of one prompt.
func CompletionQuestion(prompt string) ([]byte, error) {
	return dialect.Question(`{"prompt":%s}`, prompt)
}

// InputQuestion is the body of one input: of a response, or of an embedding.
func InputQuestion(input string) ([]byte, error) { return dialect.Question(`{"input":%s}`, input) }

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
