package sim

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// responses is OpenAI's dialect on the responses endpoint, where events have names and errors of a stream are
// not wrapped.
type responses struct{ openAI }

func (responses) errorEvent(f *failure, _ string) []byte {
	wire := openAIErrors[f.class]
	code := wire.code
	if code == "" {
		code = wire.kind
	}
	return namedEvent("error", encode(struct {
		Type    string  `json:"type"`
		Code    string  `json:"code"`
		Message string  `json:"message"`
		Param   *string `json:"param"`
	}{"error", code, f.message, nullable(f.param)}))
}

type responseRequest struct {
	Model             string         `json:"model"`
	Instructions      *content       `json:"instructions"`
	Input             responseInput  `json:"input"`
	MaxOutputTokens   *int           `json:"max_output_tokens"`
	Temperature       *float64       `json:"temperature"`
	Stream            bool           `json:"stream"`
	Tools             []responseTool `json:"tools"`
	ToolChoice        toolChoice     `json:"tool_choice"`
	ParallelToolCalls *bool          `json:"parallel_tool_calls"`
	TopLogprobs       *int           `json:"top_logprobs"`
	Include           []string       `json:"include"`
	Previous          *string        `json:"previous_response_id"`
	Conversation      jsontext.Value `json:"conversation"`
	Reasoning         struct {
		Effort  string `json:"effort"`
		Summary string `json:"summary"`
	} `json:"reasoning"`
	Text struct {
		Format responseFormat `json:"format"`
	} `json:"text"`

	settings requestSettings
}

func decodeResponse(body []byte) (*call, error) {
	r := new(responseRequest)
	if err := decodeBody(body, r); err != nil {
		return nil, err
	}
	var err error
	if r.settings, err = readSettings(body); err != nil {
		return nil, err
	}
	switch {
	case r.Model == "":
		return nil, required("model")
	case len(r.Input.items) == 0:
		return nil, required("input")
	case r.MaxOutputTokens != nil && *r.MaxOutputTokens < 1:
		return nil, invalid("max_output_tokens", "Invalid 'max_output_tokens': expected a value of at least 1.")
	case r.Temperature != nil && (*r.Temperature < 0 || *r.Temperature > 2):
		return nil, invalid("temperature", "Invalid 'temperature': expected a value between 0 and 2.")
	}
	if err := r.alternatives().check(); err != nil {
		return nil, err
	}
	p := new(prompt)
	if r.Instructions != nil {
		p.add("system", *r.Instructions)
	}
	if err := r.Input.addTo(p); err != nil {
		return nil, err
	}
	if r.Previous == nil && len(r.Conversation) == 0 { // the simulator stores no items, so it does not know those of earlier turns
		if err := r.Input.checkResults(); err != nil {
			return nil, err
		}
	}
	c := &call{model: r.Model, prompt: p, stream: r.Stream, responder: r}
	if r.MaxOutputTokens != nil {
		c.maxTokens = *r.MaxOutputTokens
	}
	return c, r.understand(c)
}

// understand reads how the answer is to be made.
func (r *responseRequest) understand(c *call) error {
	var err error
	if c.effort, err = effortOf("reasoning.effort", r.Reasoning.Effort); err != nil {
		return err
	}
	if err = r.Text.Format.checkResponse(); err != nil {
		return err
	}
	if c.format, err = r.Text.Format.read("text.format"); err != nil {
		return err
	}
	for i := range r.Tools {
		if err := r.Tools[i].offer(&c.tools, element("tools", i)); err != nil {
			return err
		}
	}
	c.tools.sequential = r.ParallelToolCalls != nil && !*r.ParallelToolCalls
	return r.ToolChoice.apply(&c.tools)
}

// includes reports whether the request asks for a part of the answer that is left out by default.
func (r *responseRequest) includes(part string) bool { return slices.Contains(r.Include, part) }

// logprobs reports whether the request asks how likely tokens were.
func (r *responseRequest) logprobs() bool { return r.includes("message.output_text.logprobs") }

// alternatives is what the request asks about the probability of tokens.
func (r *responseRequest) alternatives() alternatives {
	return alternatives{r.logprobs(), r.TopLogprobs}
}

// response is a whole answer; events of a stream carry it too, while it grows.
type response struct {
	ID                string             `json:"id"`
	Object            string             `json:"object"`
	CreatedAt         int64              `json:"created_at"`
	Status            string             `json:"status"`
	Error             *openAIError       `json:"error"`
	IncompleteDetails *incompleteDetails `json:"incomplete_details"`
	Model             string             `json:"model"`
	Output            []responseItem     `json:"output"`
	Usage             *responseUsage     `json:"usage"`
	Settings          requestSettings    `json:",embed"` // of the request
}

type incompleteDetails struct {
	Reason string `json:"reason"`
}

type responseUsage struct {
	InputTokens  int `json:"input_tokens"`
	InputDetails struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputTokens  int `json:"output_tokens"`
	OutputDetails struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	TotalTokens int `json:"total_tokens"`
}

// response is the answer before anything of it is there.
func (r *responseRequest) response(a *answer) response {
	return response{
		Settings: r.settings,
		ID:       "resp_" + a.id, Object: "response", CreatedAt: a.created.Unix(), Status: "in_progress", Model: a.model, Output: []responseItem{},
	}
}

// finishedResponse is the answer when all of its items are there.
func (r *responseRequest) finishedResponse(a *answer, items []outputItem) response {
	whole := r.response(a)
	whole.Status = "completed"
	for _, item := range items {
		whole.Output = append(whole.Output, item.whole)
	}
	if a.only().stop == stopLength {
		whole.Status, whole.IncompleteDetails = "incomplete", &incompleteDetails{"max_output_tokens"}
	}
	whole.Usage = &responseUsage{InputTokens: a.reported(a.inputTokens), OutputTokens: a.reported(a.outputTokens), TotalTokens: a.reported(a.inputTokens + a.outputTokens)}
	whole.Usage.InputDetails.CachedTokens, whole.Usage.OutputDetails.ReasoningTokens = a.parts.cached, a.parts.reasoning
	return whole
}

func (r *responseRequest) plain(a *answer) []byte { return encode(r.finishedResponse(a, r.items(a))) }
