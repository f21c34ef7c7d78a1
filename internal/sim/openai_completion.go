package sim

import (
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

type completionRequest struct {
	generation
	Prompt inputs `json:"prompt"`
}

func decodeCompletion(body []byte) (*call, error) {
	r := new(completionRequest)
	if err := decodeBody(body, r); err != nil {
		return nil, err
	}
	if err := r.validate(); err != nil {
		return nil, err
	}
	switch len(r.Prompt.turns) {
	case 0:
		return nil, required("prompt")
	case 1:
	default:
		return nil, invalid("prompt", "Invalid 'prompt': this server completes one prompt for each request.")
	}
	c := &call{model: r.Model, prompt: &r.Prompt.prompt, stream: r.Stream, responder: r}
	if r.MaxTokens != nil {
		c.maxTokens = *r.MaxTokens
	}
	return c, nil
}

// completion is a whole answer, and also each chunk of a streamed one.
type completion struct {
	ID                string             `json:"id"`
	Object            string             `json:"object"`
	Created           int64              `json:"created"`
	Model             string             `json:"model"`
	Choices           []completionChoice `json:"choices"`
	Usage             jsontext.Value     `json:"usage,omitzero"`
	SystemFingerprint string             `json:"system_fingerprint"`
}

type completionChoice struct {
	Text         string         `json:"text"`
	Index        int            `json:"index"`
	Logprobs     jsontext.Value `json:"logprobs"`
	FinishReason *string        `json:"finish_reason"`
}

func (a *answer) completion() completion {
	return completion{
		ID:                "cmpl-" + a.id,
		Object:            "text_completion",
		Created:           a.created.Unix(),
		Model:             a.model,
		SystemFingerprint: systemFingerprint,
	}
}

func (r *completionRequest) plain(a *answer) []byte {
	c := a.completion()
	c.Choices = []completionChoice{{Text: a.script.String(), FinishReason: a.finishReason()}}
	c.Usage = encode(a.openAIUsage())
	return encode(c)
}

func (r *completionRequest) frames(a *answer) iter.Seq[frame] {
	return func(yield func(frame) bool) {
		chunk := a.completion()
		if r.includeUsage() {
			chunk.Usage = jsontext.Value("null")
		}
		for token := range a.script.tokens() {
			chunk.Choices = []completionChoice{{Text: token}}
			if !yield(frame{data: dataEvent(encode(chunk)), token: true}) {
				return
			}
		}
		chunk.Choices = []completionChoice{{FinishReason: a.finishReason()}}
		if !yield(frame{data: dataEvent(encode(chunk))}) {
			return
		}
		if r.includeUsage() {
			chunk.Choices, chunk.Usage = []completionChoice{}, encode(a.openAIUsage())
			if !yield(frame{data: dataEvent(encode(chunk))}) {
				return
			}
		}
		yield(frame{data: doneEvent()})
	}
}
