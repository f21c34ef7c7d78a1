package sim

import "iter"

// responseEvent is any event of a stream; each kind fills its own fields.
type responseEvent struct {
	Type           string          `json:"type"`
	SequenceNumber int             `json:"sequence_number"`
	Response       *response       `json:"response,omitzero"`
	ItemID         string          `json:"item_id,omitempty"`
	OutputIndex    *int            `json:"output_index,omitzero"`
	ContentIndex   *int            `json:"content_index,omitzero"`
	SummaryIndex   *int            `json:"summary_index,omitzero"`
	Item           *responseItem   `json:"item,omitzero"`
	Part           *responsePart   `json:"part,omitzero"`
	Delta          *string         `json:"delta,omitzero"`
	Text           *string         `json:"text,omitzero"`
	Arguments      *string         `json:"arguments,omitzero"`
	Input          *string         `json:"input,omitzero"`
	Logprobs       *[]tokenLogprob `json:"logprobs,omitzero"`

	hidden int // tokens that were generated before it and that no event carries
}

func (r *responseRequest) frames(a *answer) iter.Seq[frame] {
	return func(yield func(frame) bool) {
		n := 0
		for event := range r.events(a) {
			event.SequenceNumber = n
			n++
			if !yield(frame{data: namedEvent(event.Type, encode(event)), token: event.Delta != nil, hidden: event.hidden}) {
				return
			}
		}
	}
}

// events yields the events of a stream.
func (r *responseRequest) events(a *answer) iter.Seq[responseEvent] {
	items := r.items(a)
	begun, whole := r.response(a), r.finishedResponse(a, items)
	return func(yield func(responseEvent) bool) {
		if !yield(responseEvent{Type: "response.created", Response: &begun}) || !yield(responseEvent{Type: "response.in_progress", Response: &begun}) {
			return
		}
		for i := range items {
			item := &items[i]
			if !yield(responseEvent{Type: "response.output_item.added", OutputIndex: &i, Item: &item.opened}) {
				return
			}
			for event := range r.itemEvents(item, i) {
				if !yield(event) {
					return
				}
			}
			done := responseEvent{Type: "response.output_item.done", OutputIndex: &i, Item: &item.whole}
			if item.hides() {
				done.hidden = item.text.length
			}
			if !yield(done) {
				return
			}
		}
		yield(responseEvent{Type: "response." + whole.Status, Response: &whole})
	}
}

// hides reports whether the text of an item is not shown.
func (i *outputItem) hides() bool { return i.whole.Type == "reasoning" && len(i.whole.Summary) == 0 }

// itemEvents are the events between the beginning and the end of an item. Each begins as what all of them
// have in common.
func (r *responseRequest) itemEvents(item *outputItem, index int) iter.Seq[responseEvent] {
	inside := responseEvent{ItemID: item.whole.ID, OutputIndex: &index}
	switch {
	case item.hides():
		return func(func(responseEvent) bool) {}
	case item.whole.Type == "function_call":
		done := inside
		done.Type, done.Arguments = "response.function_call_arguments.done", item.whole.Arguments
		return r.textEvents(item.text, textForm{inside: inside, delta: "response.function_call_arguments.delta", after: []responseEvent{done}})
	case item.whole.Type == customCall:
		done := inside
		done.Type, done.Input = "response.custom_tool_call_input.done", item.whole.Input
		return r.textEvents(item.text, textForm{inside: inside, delta: "response.custom_tool_call_input.delta", after: []responseEvent{done}})
	case item.whole.Type == "reasoning":
		inside.SummaryIndex = new(int)
		return r.textEvents(item.text, inside.parted("response.reasoning_summary_part", "response.reasoning_summary_text", [2]responsePart{summaryPart(""), item.whole.Summary[0]}))
	}
	inside.ContentIndex = new(int)
	form := inside.parted("response.content_part", "response.output_text", [2]responsePart{r.textPart(text{}), item.whole.Content[0]})
	form.logprobs = r.logprobs()
	return r.textEvents(item.text, form)
}

// textForm is how the events of a text look: what all have in common, those before and after it, and the
// name of those that carry it.
type textForm struct {
	inside   responseEvent
	before   []responseEvent
	delta    string
	after    []responseEvent
	logprobs bool
}

// parted is the form of a text that is a part of its item. The parts given are the empty one and the whole.
func (e responseEvent) parted(part, text string, states [2]responsePart) textForm {
	added, done, closed := e, e, e
	added.Type, added.Part = part+".added", &states[0]
	done.Type, done.Text = text+".done", &states[1].Text
	closed.Type, closed.Part = part+".done", &states[1]
	if states[1].Logprobs != nil {
		done.Logprobs = &states[1].Logprobs
	}
	return textForm{inside: e, before: []responseEvent{added}, delta: text + ".delta", after: []responseEvent{done, closed}}
}

func (r *responseRequest) textEvents(t text, form textForm) iter.Seq[responseEvent] {
	return func(yield func(responseEvent) bool) {
		for _, event := range form.before {
			if !yield(event) {
				return
			}
		}
		n := 0
		for token := range t.tokens() {
			event := form.inside
			event.Type, event.Delta = form.delta, &token
			if form.logprobs {
				event.Logprobs = &[]tokenLogprob{likelihood(token, n, r.alternatives().count())}
			}
			if n++; !yield(event) {
				return
			}
		}
		for _, event := range form.after {
			if !yield(event) {
				return
			}
		}
	}
}
