package sim

import "github.com/go-json-experiment/json/jsontext"

// responseItem is reasoning, a message, or the call of a tool.
type responseItem struct {
	Type      string         `json:"type"`
	ID        string         `json:"id"`
	Status    string         `json:"status,omitempty"`
	Role      string         `json:"role,omitempty"`
	Content   []responsePart `json:"content,omitzero"`
	CallID    string         `json:"call_id,omitempty"`
	Name      string         `json:"name,omitempty"`
	Arguments *string        `json:"arguments,omitzero"`
	Input     *string        `json:"input,omitzero"` // of a custom tool
	Summary   []responsePart `json:"summary,omitzero"`
	Encrypted string         `json:"encrypted_content,omitempty"`
}

// responsePart is a part of a message, or of the summary of reasoning.
type responsePart struct {
	Type        string           `json:"type"`
	Text        string           `json:"text"`
	Annotations []jsontext.Value `json:"annotations,omitzero"`
	Logprobs    []tokenLogprob   `json:"logprobs,omitzero"`
}

// customCall is the type of an item that calls a custom tool.
const customCall = "custom_tool_call"

// States of an item.
const (
	openItem     = "in_progress"
	finishedItem = "completed"
)

// outputItem is one item of an answer: how it begins, what it is in the end, and the text in between.
type outputItem struct {
	opened, whole responseItem
	text          text
}

// items are the items of an answer, in their order.
func (r *responseRequest) items(a *answer) []outputItem {
	c := a.only()
	var all []outputItem
	if c.thoughts.length > 0 {
		all = append(all, r.reasoningItem(a))
	}
	for _, called := range c.calls {
		arguments := called.arguments.String()
		whole := responseItem{Type: "function_call", ID: "fc_" + called.id, Status: finishedItem, CallID: "call_" + called.id, Name: called.name, Arguments: &arguments}
		opened := whole
		opened.Status, opened.Arguments = openItem, new("")
		if called.custom {
			whole = responseItem{Type: customCall, ID: "ctc_" + called.id, Status: finishedItem, CallID: "call_" + called.id, Name: called.name, Input: &arguments}
			opened = whole
			opened.Status, opened.Input = openItem, new("")
		}
		all = append(all, outputItem{opened: opened, whole: whole, text: called.arguments})
	}
	if c.text.length > 0 || len(all) == 0 {
		all = append(all, r.messageItem(a))
	}
	return all
}

func (r *responseRequest) messageItem(a *answer) outputItem {
	c := a.only()
	item := responseItem{Type: "message", ID: "msg_" + a.id, Status: finishedItem, Role: "assistant", Content: []responsePart{r.textPart(c.text)}}
	opened := item
	opened.Status, opened.Content = openItem, []responsePart{}
	return outputItem{opened: opened, whole: item, text: c.text}
}

// textPart is a text that the model said, or the beginning of one.
func (r *responseRequest) textPart(t text) responsePart {
	part := responsePart{Type: "output_text", Text: t.String(), Annotations: []jsontext.Value{}}
	if r.logprobs() {
		part.Logprobs = t.logprobs(r.alternatives().count())
	}
	return part
}

// reasoningItem has the thoughts as its summary where the request asks for one. Otherwise it has nothing to read.
func (r *responseRequest) reasoningItem(a *answer) outputItem {
	thoughts := a.only().thoughts
	item := responseItem{Type: "reasoning", ID: "rs_" + a.id, Summary: []responsePart{}}
	opened := item
	if r.Reasoning.Summary != "" {
		item.Summary = []responsePart{summaryPart(thoughts.String())}
	}
	if r.includes("reasoning.encrypted_content") {
		item.Encrypted = sealed(thoughts.String())
	}
	return outputItem{opened: opened, whole: item, text: thoughts}
}

func summaryPart(text string) responsePart { return responsePart{Type: "summary_text", Text: text} }
