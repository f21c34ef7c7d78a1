package sim

import (
	"fmt"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

type completionRequest struct {
	generation
	Prompt   inputs `json:"prompt"`
	Echo     bool   `json:"echo"`
	Logprobs *int   `json:"logprobs"`
}

func decodeCompletion(body []byte) (*call, error) {
	r := new(completionRequest)
	if err := decodeBody(body, r); err != nil {
		return nil, err
	}
	if err := r.validate(); err != nil {
		return nil, err
	}
	n := r.choices()
	switch prompts := len(r.Prompt.turns); {
	case prompts == 0:
		return nil, required("prompt")
	case prompts*n > maxChoices:
		return nil, invalid("prompt", fmt.Sprintf("Invalid 'prompt': %d prompts of %d choices each are more than %d choices.", prompts, n, maxChoices))
	case r.Logprobs != nil && (*r.Logprobs < 0 || *r.Logprobs > maxLegacyLogprobs):
		return nil, invalid("logprobs", fmt.Sprintf("Invalid 'logprobs': expected a value between 0 and %d.", maxLegacyLogprobs))
	}
	c := &call{model: r.Model, prompt: &r.Prompt.prompt, apart: true, n: n, stops: r.Stop, stream: r.Stream, responder: r}
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
	for i := range a.choices {
		one := &a.choices[i]
		prefix := r.prefix(i)
		said := completionChoice{Index: i, Text: prefix + one.text.String(), FinishReason: one.finishReason()}
		if r.Logprobs != nil {
			said.Logprobs = encode(legacyLogprobsOf(one.text, len(prefix), *r.Logprobs))
		}
		c.Choices = append(c.Choices, said)
	}
	c.Usage = encode(a.openAIUsage())
	return encode(c)
}

// prefix is what the text of a choice begins with: its prompt, if the request asks for an echo.
func (r *completionRequest) prefix(i int) string {
	if !r.Echo {
		return ""
	}
	return r.Prompt.turns[i/r.choices()].text
}

func (r *completionRequest) frames(a *answer) iter.Seq[frame] {
	return func(yield func(frame) bool) {
		chunk := a.completion()
		if r.includeUsage() {
			chunk.Usage = jsontext.Value("null")
		}
		for i := range a.choices {
			for piece := range r.pieces(&a.choices[i], i) {
				chunk.Choices = []completionChoice{piece}
				if !yield(frame{data: dataEvent(encode(chunk)), token: true}) {
					return
				}
			}
			chunk.Choices = []completionChoice{{Index: i, FinishReason: a.choices[i].finishReason()}}
			if !yield(frame{data: dataEvent(encode(chunk))}) {
				return
			}
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

// pieces yields the tokens of the i-th choice. An echo comes with the first.
func (r *completionRequest) pieces(c *choice, i int) iter.Seq[completionChoice] {
	return func(yield func(completionChoice) bool) {
		prefix := r.prefix(i)
		offset, n := len(prefix), 0
		for token := range c.text.tokens() {
			piece := completionChoice{Index: i, Text: prefix + token}
			if r.Logprobs != nil {
				var one legacyLogprobs
				one.add(likelihood(token, n, *r.Logprobs), offset)
				piece.Logprobs = encode(one)
			}
			if !yield(piece) {
				return
			}
			prefix, offset, n = "", offset+len(token), n+1
		}
	}
}

// legacyLogprobs is how completions report how likely tokens were: as lists of the same length.
type legacyLogprobs struct {
	Tokens        []string             `json:"tokens"`
	TokenLogprobs []float64            `json:"token_logprobs"`
	TopLogprobs   []map[string]float64 `json:"top_logprobs"`
	TextOffset    []int                `json:"text_offset"`
}

func (l *legacyLogprobs) add(token tokenLogprob, offset int) {
	top := make(map[string]float64, len(token.TopLogprobs))
	for _, one := range token.TopLogprobs {
		top[one.Token] = one.Logprob
	}
	l.Tokens = append(l.Tokens, token.Token)
	l.TokenLogprobs = append(l.TokenLogprobs, token.Logprob)
	l.TopLogprobs = append(l.TopLogprobs, top)
	l.TextOffset = append(l.TextOffset, offset)
}

func legacyLogprobsOf(t text, offset, top int) legacyLogprobs {
	var all legacyLogprobs
	for _, token := range t.logprobs(top) {
		all.add(token, offset)
		offset += len(token.Token)
	}
	return all
}
