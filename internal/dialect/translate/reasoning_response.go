package translate

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// reasoning takes up an item of reasoning. It never becomes text: it is sealed, and goes back to the service that sealed it, or is dropped.
func (t *responseBuilder) reasoning(where string, item responseItem) error {
	content := ""
	if isSet(item.EncryptedContent) && json.Unmarshal(item.EncryptedContent, &content) != nil {
		return errSeal(where)
	}
	s, err := unseal(where, content, t.origin)
	if err != nil {
		return err
	}
	if s != nil && s.Kind == sealThinking {
		s.text = summaryText(item.Summary)
	}
	switch {
	case s == nil, !slices.Contains(t.kinds, s.Kind), s.Kind == sealThinking && s.Sum != textSum(s.text):
		t.drop(where + ".reasoning")
		return nil
	case s.Kind == sealEnd: // belongs to what was said before
		if n := len(t.out.Messages); n > 0 && t.out.Messages[n-1].Role == "assistant" {
			t.think(*s)
		} else {
			t.drop(where + ".reasoning")
		}
		return nil
	}
	t.pending, t.dangling = append(t.pending, *s), where
	return nil
}

// summaryText is the text of a summary, "" if the value does not have the form of a summary.
func summaryText(raw jsontext.Value) (text string) {
	var parts []struct {
		Text string `json:"text"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &parts, lenient) != nil {
		return ""
	}
	for _, p := range parts {
		text += p.Text
	}
	return text
}

// think adds reasoning to the last message, after the text and the calls that the message has so far.
func (t *responseBuilder) think(s sealed) {
	at := len(t.out.Messages) - 1
	m := &t.out.Messages[at]
	texts := 0
	for _, part := range m.Content {
		if part.Text != "" { // others are left out
			texts++
		}
	}
	if t.thoughts == nil {
		t.thoughts = map[int][]thought{}
	}
	t.thoughts[at] = append(t.thoughts[at], thought{sealed: s, texts: texts, calls: len(m.ToolCalls)})
}

// dropPending drops reasoning that nothing of the assistant follows: services refuse it there.
func (t *responseBuilder) dropPending() {
	if len(t.pending) > 0 {
		t.drop(t.dangling + ".reasoning")
		t.pending = nil
	}
}
