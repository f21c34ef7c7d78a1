package translate

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/provider"
	"penstock/internal/sse"
)

const prefixResponse = "resp_"

// writtenResponse is a response as a whole. Strict clients want its members in every state.
type writtenResponse struct {
	ID                string             `json:"id"`
	Object            string             `json:"object"`
	CreatedAt         int64              `json:"created_at"`
	Status            string             `json:"status"`
	Background        bool               `json:"background"`
	Error             *struct{}          `json:"error"`
	IncompleteDetails *incompleteDetails `json:"incomplete_details"`
	Instructions      *string            `json:"instructions"`
	Metadata          struct{}           `json:"metadata"`
	Model             string             `json:"model"`
	Output            []*writtenItem     `json:"output"`
	ParallelToolCalls bool               `json:"parallel_tool_calls"`
	Previous          *string            `json:"previous_response_id"`
	Store             bool               `json:"store"`
	Temperature       *float64           `json:"temperature"`
	ToolChoice        string             `json:"tool_choice"`
	Tools             []struct{}         `json:"tools"`
	TopP              *float64           `json:"top_p"`
	Usage             *responseUsage     `json:"usage"`
}

type incompleteDetails struct {
	Reason string `json:"reason"`
}

// responseUsage is usage in a response, whose input includes what was read from and written to a cache.
type responseUsage struct {
	InputTokens  int64        `json:"input_tokens"`
	Input        promptDetail `json:"input_tokens_details"`
	OutputTokens int64        `json:"output_tokens"`
	Output       outputDetail `json:"output_tokens_details"`
	TotalTokens  int64        `json:"total_tokens"`
}

func (t tokens) response() *responseUsage {
	u := t.chat()
	return &responseUsage{InputTokens: u.PromptTokens, Input: u.Prompt, OutputTokens: u.CompletionTokens, Output: u.Completion, TotalTokens: u.TotalTokens}
}

// writtenItem is a message, the call of a function, or reasoning.
type writtenItem struct {
	ID        string         `json:"id"`
	Type      string         `json:"type"`
	Status    string         `json:"status,omitzero"`
	Role      string         `json:"role,omitzero"`
	Content   []*writtenPart `json:"content,omitzero"`
	CallID    string         `json:"call_id,omitzero"`
	Name      string         `json:"name,omitzero"`
	Arguments *string        `json:"arguments,omitzero"`
	Summary   []*writtenPart `json:"summary,omitzero"`
}

// writtenPart is a text of a message, or of a summary of reasoning.
type writtenPart struct {
	Type        string           `json:"type"`
	Text        string           `json:"text"`
	Annotations []jsontext.Value `json:"annotations,omitzero"`
}

// responseEvent is an event of a stream; each type has its own fields.
type responseEvent struct {
	Type           string           `json:"type"`
	SequenceNumber int              `json:"sequence_number"`
	Response       *writtenResponse `json:"response,omitzero"`
	OutputIndex    *int             `json:"output_index,omitzero"`
	Item           *writtenItem     `json:"item,omitzero"`
	ItemID         string           `json:"item_id,omitzero"`
	ContentIndex   *int             `json:"content_index,omitzero"`
	SummaryIndex   *int             `json:"summary_index,omitzero"`
	Part           *writtenPart     `json:"part,omitzero"`
	Delta          *string          `json:"delta,omitzero"`
	Text           *string          `json:"text,omitzero"`
	Name           string           `json:"name,omitzero"`
	Arguments      *string          `json:"arguments,omitzero"`
	Logprobs       []struct{}       `json:"logprobs,omitzero"`
}

// The types of items.
const (
	itemMessage   = "message"
	itemCall      = "function_call"
	itemReasoning = "reasoning"
)

// responseWriter writes a response, in one piece or as a stream. A stream ends with the whole response too, so both gather it.
type responseWriter struct {
	asked    Asked
	response writtenResponse
	stream   bool
	buf      []byte
	said     strings.Builder
	number   int
	open     *writtenItem    // the item that is being written, nil for none
	gathered strings.Builder // of that item
	size     int
}

func newResponseWriter(asked Asked) writer { return &responseWriter{asked: asked} }

func newResponseStream(asked Asked) writer { return &responseWriter{asked: asked, stream: true} }

func (w *responseWriter) begin(id string) {
	w.response = writtenResponse{
		ID: w.id(prefixResponse, id), Object: "response", CreatedAt: w.asked.created(), Status: "in_progress", Model: w.asked.Model, Output: []*writtenItem{},
		ParallelToolCalls: true, ToolChoice: "auto", Tools: []struct{}{},
	}
	w.event(responseEvent{Type: "response.created", Response: &w.response})
	w.event(responseEvent{Type: "response.in_progress", Response: &w.response})
}

// id is the id of the response. Ids of items are made of the id of the call, because some upstreams repeat their own.
func (w *responseWriter) id(prefix, upstream string) string {
	if w.asked.ID != "" {
		return prefix + w.asked.ID
	}
	return answerID(prefix, upstream)
}

// nextID is the id of the next item. It ends the item before.
func (w *responseWriter) nextID(prefix string) string {
	w.endItem("completed")
	return fmt.Sprintf("%s%s_%d", prefix, strings.TrimPrefix(w.response.ID, prefixResponse), len(w.response.Output))
}

// begun begins an item, after the one before has ended.
func (w *responseWriter) begun(item *writtenItem) {
	w.open = item
	w.size += partBytes
	w.event(responseEvent{Type: "response.output_item.added", OutputIndex: w.index(), Item: item})
}

// index is the place of the open item.
func (w *responseWriter) index() *int {
	n := len(w.response.Output)
	return &n
}

// inside is an event about a part of the open item.
func (w *responseWriter) inside(kind string) responseEvent {
	e := responseEvent{Type: kind, OutputIndex: w.index(), ItemID: w.open.ID}
	switch w.open.Type {
	case itemMessage:
		e.ContentIndex = new(int)
	case itemReasoning:
		e.SummaryIndex = new(int)
	}
	return e
}

// add adds to the text of the open item.
func (w *responseWriter) add(kind, part string) {
	w.size += len(part)
	if w.size <= maxAnswerBytes {
		w.gathered.WriteString(part)
	}
	e := w.inside(kind)
	e.Delta = &part
	if w.open.Type == itemMessage {
		e.Logprobs = []struct{}{}
	}
	w.event(e)
}

func (w *responseWriter) text(part string) {
	if w.open == nil || w.open.Type != itemMessage {
		w.begun(&writtenItem{ID: w.nextID("msg_"), Type: itemMessage, Status: "in_progress", Role: "assistant", Content: []*writtenPart{}})
		e := w.inside("response.content_part.added")
		e.Part = outputText("")
		w.event(e)
	}
	w.said.WriteString(part)
	w.add("response.output_text.delta", part)
}

func outputText(text string) *writtenPart {
	return &writtenPart{Type: "output_text", Text: text, Annotations: []jsontext.Value{}}
}

func (w *responseWriter) thought(part string) {
	if w.open == nil || w.open.Type != itemReasoning {
		w.begun(&writtenItem{ID: w.nextID("rs_"), Type: itemReasoning, Summary: []*writtenPart{}})
		e := w.inside("response.reasoning_summary_part.added")
		e.Part = &writtenPart{Type: "summary_text"}
		w.event(e)
	}
	w.add("response.reasoning_summary_text.delta", part)
}

func (w *responseWriter) call(id, name string) {
	w.begun(&writtenItem{ID: w.nextID("fc_"), Type: itemCall, Status: "in_progress", CallID: id, Name: name, Arguments: new(string)})
}

// arguments belong to the call that began last. Readers refuse an upstream that returns to a call after something else.
func (w *responseWriter) arguments(part string) {
	if w.open != nil && w.open.Type == itemCall {
		w.add("response.function_call_arguments.delta", part)
	}
}

// endItem ends the open item.
func (w *responseWriter) endItem(status string) {
	if w.open == nil {
		return
	}
	text, item := w.gathered.String(), w.open
	w.gathered.Reset()
	switch item.Type {
	case itemMessage:
		item.Content = []*writtenPart{outputText(text)}
		done, part := w.inside("response.output_text.done"), w.inside("response.content_part.done")
		done.Text, done.Logprobs, part.Part = &text, []struct{}{}, item.Content[0]
		w.event(done)
		w.event(part)
	case itemReasoning:
		item.Summary = []*writtenPart{{Type: "summary_text", Text: text}}
		done, part := w.inside("response.reasoning_summary_text.done"), w.inside("response.reasoning_summary_part.done")
		done.Text, part.Part = &text, item.Summary[0]
		w.event(done)
		w.event(part)
	case itemCall:
		if text == "" {
			text = noArguments
			w.add("response.function_call_arguments.delta", text)
			w.gathered.Reset()
		}
		item.Arguments = &text
		done := w.inside("response.function_call_arguments.done")
		done.Name, done.Arguments = item.Name, &text
		w.event(done)
	}
	if item.Type != itemReasoning {
		item.Status = status
	}
	w.event(responseEvent{Type: "response.output_item.done", OutputIndex: w.index(), Item: item})
	w.response.Output = append(w.response.Output, item)
	w.open = nil
}

func (w *responseWriter) idle() {
	if w.stream {
		w.buf = sse.AppendComment(w.buf, "ping")
	}
}

func (w *responseWriter) end(e ending) error {
	w.response.Status = "completed"
	if reason := responseReasons[e.stop]; reason != "" {
		w.response.Status, w.response.IncompleteDetails = "incomplete", &incompleteDetails{reason}
	}
	w.endItem(w.response.Status)
	if w.size > maxAnswerBytes {
		return malformed(nil, "it is too large to be gathered")
	}
	w.response.Usage = e.usage.response()
	if w.stream {
		w.event(responseEvent{Type: "response." + w.response.Status, Response: &w.response})
	} else {
		w.buf = encode(&w.response)
	}
	return nil
}

func (w *responseWriter) event(e responseEvent) {
	if !w.stream {
		return
	}
	e.SequenceNumber = w.number
	w.number++
	w.buf = sse.AppendEvent(w.buf, sse.Event{Type: []byte(e.Type), Data: encode(e)})
}

// take gives nothing of a plain answer until everything is there.
func (w *responseWriter) take() provider.Chunk {
	if !w.stream && len(w.buf) == 0 {
		return provider.Chunk{}
	}
	return taken(&w.buf, &w.said)
}
