package sim

import (
	"errors"
	"iter"
	"strings"

	"github.com/go-json-experiment/json"
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
	Model           string        `json:"model"`
	Instructions    *content      `json:"instructions"`
	Input           responseInput `json:"input"`
	MaxOutputTokens *int          `json:"max_output_tokens"`
	Stream          bool          `json:"stream"`
	Tools           []struct {
		Type string `json:"type"`
		Name string `json:"name"`
	} `json:"tools"`
	ToolChoice toolChoice `json:"tool_choice"`
}

// responseInput is a text, or a list of messages and other items.
type responseInput struct {
	items []chatMessage
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (in *responseInput) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case 'n':
		return dec.SkipValue()
	case '"':
		in.items = []chatMessage{{Role: "user"}}
		return json.UnmarshalDecode(dec, &in.items[0].Content)
	case '[':
		var items []struct {
			chatMessage
			Output content `json:"output"` // of a function_call_output
		}
		if err := json.UnmarshalDecode(dec, &items); err != nil {
			return err
		}
		for _, item := range items {
			if item.Role == "" {
				item.chatMessage = chatMessage{Role: "tool", Content: item.Output}
			}
			in.items = append(in.items, item.chatMessage)
		}
		return nil
	}
	return errors.New("input is a text or a list of items")
}

func decodeResponse(body []byte) (*call, error) {
	r := new(responseRequest)
	if err := decodeBody(body, r); err != nil {
		return nil, err
	}
	switch {
	case r.Model == "":
		return nil, required("model")
	case len(r.Input.items) == 0:
		return nil, required("input")
	case r.MaxOutputTokens != nil && *r.MaxOutputTokens < 1:
		return nil, invalid("max_output_tokens", "Invalid 'max_output_tokens': expected a value of at least 1.")
	}
	p := new(prompt)
	if r.Instructions != nil {
		p.add("system", *r.Instructions)
	}
	for _, item := range r.Input.items {
		p.add(item.Role, item.Content)
	}
	tool, err := r.demandedTool()
	if err != nil {
		return nil, err
	}
	c := &call{model: r.Model, prompt: p, tool: tool, stream: r.Stream, responder: r}
	if r.MaxOutputTokens != nil {
		c.maxTokens = *r.MaxOutputTokens
	}
	return c, nil
}

// demandedTool returns the function that the request insists on, or "".
func (r *responseRequest) demandedTool() (string, error) {
	switch r.ToolChoice.mode {
	case "required", "function":
		for _, tool := range r.Tools {
			if tool.Name != "" && (r.ToolChoice.mode == "required" || tool.Name == r.ToolChoice.name) {
				return tool.Name, nil
			}
		}
		return "", invalid("tool_choice", "Tool choice '"+abridge(r.ToolChoice.name)+"' not found in 'tools'.")
	}
	return "", nil
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
}

type incompleteDetails struct {
	Reason string `json:"reason"`
}

// responseItem is a message, or the call of a function.
type responseItem struct {
	Type      string         `json:"type"`
	ID        string         `json:"id"`
	Status    string         `json:"status"`
	Role      string         `json:"role,omitempty"`
	Content   []responsePart `json:"content,omitzero"`
	CallID    string         `json:"call_id,omitempty"`
	Name      string         `json:"name,omitempty"`
	Arguments *string        `json:"arguments,omitzero"`
}

type responsePart struct {
	Type        string           `json:"type"`
	Text        string           `json:"text"`
	Annotations []jsontext.Value `json:"annotations"`
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
func (a *answer) response() response {
	return response{
		ID: "resp_" + a.id, Object: "response", CreatedAt: a.created.Unix(), Status: "in_progress", Model: a.model, Output: []responseItem{},
	}
}

// finishedResponse is the answer when all of it is there.
func (a *answer) finishedResponse() response {
	r := a.response()
	r.Status, r.Output = "completed", []responseItem{a.item(finishedItem)}
	if a.cut {
		r.Status, r.IncompleteDetails = "incomplete", &incompleteDetails{"max_output_tokens"}
	}
	r.Usage = &responseUsage{InputTokens: a.reported(a.inputTokens), OutputTokens: a.reported(a.outputTokens), TotalTokens: a.reported(a.inputTokens + a.outputTokens)}
	r.Usage.InputDetails.CachedTokens, r.Usage.OutputDetails.ReasoningTokens = a.parts.cached, a.parts.reasoning
	return r
}

// itemState is how far the one item of an answer has come.
type itemState string

const (
	openItem     itemState = "in_progress"
	finishedItem itemState = "completed"
)

// item returns the answer's one item.
func (a *answer) item(state itemState) responseItem {
	if a.tool != "" {
		arguments := ""
		if state == finishedItem {
			arguments = strings.Join(toolArguments(), "")
		}
		return responseItem{Type: "function_call", ID: "fc_" + a.id, Status: string(state), CallID: "call_" + a.id, Name: a.tool, Arguments: &arguments}
	}
	item := responseItem{Type: "message", ID: "msg_" + a.id, Status: string(state), Role: "assistant", Content: []responsePart{}}
	if state == finishedItem {
		item.Content = []responsePart{textPart(a.script.String())}
	}
	return item
}

func textPart(text string) responsePart {
	return responsePart{Type: "output_text", Text: text, Annotations: []jsontext.Value{}}
}

func (r *responseRequest) plain(a *answer) []byte { return encode(a.finishedResponse()) }

// responseEvent is any event of a stream; each kind fills its own fields.
type responseEvent struct {
	Type           string        `json:"type"`
	SequenceNumber int           `json:"sequence_number"`
	Response       *response     `json:"response,omitzero"`
	ItemID         string        `json:"item_id,omitempty"`
	OutputIndex    *int          `json:"output_index,omitzero"`
	ContentIndex   *int          `json:"content_index,omitzero"`
	Item           *responseItem `json:"item,omitzero"`
	Part           *responsePart `json:"part,omitzero"`
	Delta          *string       `json:"delta,omitzero"`
	Text           *string       `json:"text,omitzero"`
	Arguments      *string       `json:"arguments,omitzero"`
}

func (r *responseRequest) frames(a *answer) iter.Seq[frame] {
	return func(yield func(frame) bool) {
		n := 0
		for event, token := range responseEvents(a) {
			event.SequenceNumber = n
			n++
			if !yield(frame{data: namedEvent(event.Type, encode(event)), token: token}) {
				return
			}
		}
	}
}

// responseEvents yields the events of a stream, each with whether it carries a token.
func responseEvents(a *answer) iter.Seq2[responseEvent, bool] {
	begun, whole := a.response(), a.finishedResponse()
	opened, closed := a.item(openItem), a.item(finishedItem)
	first := new(int)
	inside := responseEvent{ItemID: opened.ID, OutputIndex: first}
	var pieces iter.Seq[responseEvent]
	if a.tool != "" {
		pieces = callEvents(inside, closed)
	} else {
		inside.ContentIndex = first
		pieces = textEvents(inside, a)
	}
	return func(yield func(responseEvent, bool) bool) {
		for _, event := range []responseEvent{
			{Type: "response.created", Response: &begun},
			{Type: "response.in_progress", Response: &begun},
			{Type: "response.output_item.added", OutputIndex: first, Item: &opened},
		} {
			if !yield(event, false) {
				return
			}
		}
		for event := range pieces {
			if !yield(event, event.Delta != nil) {
				return
			}
		}
		if yield(responseEvent{Type: "response.output_item.done", OutputIndex: first, Item: &closed}, false) {
			yield(responseEvent{Type: "response." + whole.Status, Response: &whole}, false)
		}
	}
}

// textEvents are the events inside a message. Each begins as what all of them have in common.
func textEvents(inside responseEvent, a *answer) iter.Seq[responseEvent] {
	event := func(kind string) responseEvent {
		e := inside
		e.Type = kind
		return e
	}
	empty, text := textPart(""), a.script.String()
	full := textPart(text)
	added, done, part := event("response.content_part.added"), event("response.output_text.done"), event("response.content_part.done")
	added.Part, done.Text, part.Part = &empty, &text, &full
	return func(yield func(responseEvent) bool) {
		if !yield(added) {
			return
		}
		for token := range a.script.tokens() {
			delta := event("response.output_text.delta")
			delta.Delta = &token
			if !yield(delta) {
				return
			}
		}
		if yield(done) {
			yield(part)
		}
	}
}

// callEvents are the events inside the call of a function.
func callEvents(inside responseEvent, call responseItem) iter.Seq[responseEvent] {
	return func(yield func(responseEvent) bool) {
		for _, piece := range toolArguments() {
			delta := inside
			delta.Type, delta.Delta = "response.function_call_arguments.delta", &piece
			if !yield(delta) {
				return
			}
		}
		done := inside
		done.Type, done.Arguments = "response.function_call_arguments.done", call.Arguments
		yield(done)
	}
}
