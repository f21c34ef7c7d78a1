package translate

import (
	"fmt"
	"strings"

	"penstock/internal/dialect"
	"penstock/internal/dialect/openai"
	"penstock/internal/provider"
	"penstock/internal/sse"
)

// responseWriter writes a response, in one piece or as a stream. A stream ends with the whole response too, so both gather it.
type responseWriter struct {
	asked    dialect.Asked
	response writtenResponse
	stream   bool
	buf      []byte
	said     strings.Builder
	number   int
	open     *writtenItem    // the item that is being written, nil for none
	part     string          // the type of its part that is being written, "" for none
	gathered strings.Builder // of that item, or of its last part
	behind   []sealed        // the signatures that follow the open message
	items    int             // that have ended
	size     int
}

func newResponseWriter(asked dialect.Asked) writer {
	w := &responseWriter{asked: asked}
	w.response = writtenResponse{
		Object: "response", CreatedAt: asked.Created(), Status: "in_progress", Model: asked.Model, Output: []*writtenItem{}, Echo: openai.NewEcho(asked.Body),
	}
	w.asked.Body = nil // it may be gone before the answer begins
	return w
}

func newResponseStream(asked dialect.Asked) writer {
	w := newResponseWriter(asked).(*responseWriter)
	w.stream = true
	return w
}

func (w *responseWriter) begin(id string) {
	w.response.ID = w.id(prefixResponse, id)
	w.event(responseEvent{Type: "response.created", Response: &w.response})
	w.event(responseEvent{Type: "response.in_progress", Response: &w.response})
}

// id is the id of the response. Ids of items are made of the id of the call, because some upstreams repeat their own.
func (w *responseWriter) id(prefix, upstream string) string {
	if w.asked.ID != "" {
		return prefix + w.asked.ID
	}
	return answerID(prefix, upstream, w.asked)
}

// nextID is the id of the next item. It ends the item before.
func (w *responseWriter) nextID(prefix string) string {
	w.endItem("completed")
	return fmt.Sprintf("%s%s_%d", prefix, strings.TrimPrefix(w.response.ID, prefixResponse), w.items)
}

// begun begins an item, after the one before has ended.
func (w *responseWriter) begun(item *writtenItem) {
	w.open = item
	w.size += partBytes
	w.event(responseEvent{Type: "response.output_item.added", OutputIndex: w.index(), Item: item})
}

// index is the place of the open item.
func (w *responseWriter) index() *int {
	n := w.items
	return &n
}

// inside is an event about a part of the open item.
func (w *responseWriter) inside(kind string) responseEvent {
	e := responseEvent{Type: kind, OutputIndex: w.index(), ItemID: w.open.ID}
	switch w.open.Type {
	case itemMessage:
		e.ContentIndex = new(len(w.open.Content))
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
	if w.part == partOutputText {
		e.Logprobs = []struct{}{}
	}
	w.event(e)
}

func (w *responseWriter) text(part string) {
	w.speak(partOutputText)
	w.said.WriteString(part)
	w.add("response.output_text.delta", part)
}

// refuse implements [refuser].
func (w *responseWriter) refuse(part string) {
	w.speak(partRefusal)
	w.said.WriteString(part)
	w.add("response.refusal.delta", part)
}

// speak opens a message, and a part of a type in it.
func (w *responseWriter) speak(kind string) {
	if w.open == nil || w.open.Type != itemMessage {
		w.begun(&writtenItem{ID: w.nextID("msg_"), Type: itemMessage, Status: "in_progress", Role: "assistant", Content: []*writtenPart{}})
	}
	if w.part == kind {
		return
	}
	w.endPart()
	w.part = kind
	w.size += partBytes
	e := w.inside("response.content_part.added")
	e.Part = newPart(kind, "")
	w.event(e)
}

func (w *responseWriter) thought(part string) {
	if w.open == nil || w.open.Type != itemReasoning {
		w.begun(&writtenItem{ID: w.nextID("rs_"), Type: itemReasoning, Summary: []*writtenPart{}})
		w.part = partSummary
		e := w.inside("response.reasoning_summary_part.added")
		e.Part = newPart(partSummary, "")
		w.event(e)
	}
	w.add("response.reasoning_summary_text.delta", part)
}

// seal implements [sealer]. It ends the reasoning that it belongs to, or is an item of its own.
func (w *responseWriter) seal(s sealed) {
	w.size += len(s.Data)
	if w.size > maxAnswerBytes {
		return // the end reports it
	}
	if s.Kind == sealEnd && w.open != nil && w.open.Type == itemMessage {
		w.behind = append(w.behind, s)
		return
	}
	if s.Kind == sealRedacted || w.open == nil || w.open.Type != itemReasoning {
		w.begun(&writtenItem{ID: w.nextID("rs_"), Type: itemReasoning, Summary: []*writtenPart{}})
	}
	if s.Kind == sealThinking {
		s.Sum = textSum(w.gathered.String())
	}
	w.open.EncryptedContent = s.content(w.asked.Origin)
	w.size += len(w.open.EncryptedContent)
	w.endItem("completed")
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

// endPart ends the open part of a message or of reasoning, if there is one.
func (w *responseWriter) endPart() {
	text := w.gathered.String()
	done := newPart(w.part, text)
	switch w.part {
	case "":
		return
	case partSummary:
		w.open.Summary = append(w.open.Summary, done)
		w.endedPart("response.reasoning_summary_text.done", "response.reasoning_summary_part.done", done)
	case partRefusal:
		w.open.Content = append(w.open.Content, done)
		w.endedPart("response.refusal.done", "response.content_part.done", done)
	case partOutputText:
		w.open.Content = append(w.open.Content, done)
		w.endedPart("response.output_text.done", "response.content_part.done", done)
	}
	w.gathered.Reset()
	w.part = ""
}

// endedPart writes the events that end a part, the last of its item: one for its text, one for the part.
func (w *responseWriter) endedPart(textDone, partDone string, part *writtenPart) {
	text, whole := w.inside(textDone), w.inside(partDone)
	last := max(len(w.open.Content), len(w.open.Summary)) - 1
	for _, e := range []*responseEvent{&text, &whole} {
		if e.ContentIndex != nil {
			e.ContentIndex = &last
		}
	}
	text.Text, text.Refusal, whole.Part = part.Text, part.Refusal, part
	if part.Type == partOutputText {
		text.Logprobs = []struct{}{}
	}
	w.event(text)
	w.event(whole)
}

// endItem ends the open item.
func (w *responseWriter) endItem(status string) {
	if w.open == nil {
		return
	}
	w.endPart()
	item := w.open
	if item.Type == itemCall {
		w.endCall(item)
	}
	if item.Type != itemReasoning {
		item.Status = status
	}
	w.event(responseEvent{Type: "response.output_item.done", OutputIndex: w.index(), Item: item})
	if w.size <= maxAnswerBytes {
		w.response.Output = append(w.response.Output, item)
	}
	w.items++
	w.open = nil
	behind := w.behind
	w.behind = nil
	for _, s := range behind {
		w.seal(s)
	}
}

func (w *responseWriter) endCall(item *writtenItem) {
	text := w.gathered.String()
	w.gathered.Reset()
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
