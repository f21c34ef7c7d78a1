package openai

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
)

// The members by which a response goes on from an earlier one, or from a conversation.
const previous, conversation = "previous_response_id", "conversation"

// Turn is one exchange of a conversation: a body that was sent, with all that went before it, and what came back.
type Turn struct{ Asked, Answered []byte }

// Items are the items of the exchange: the input, and the output as input of a later one. Ids of messages and of calls name
// what the upstream was told not to keep, so they are left out, and so is reasoning that it did not hand over.
func (t Turn) Items() ([]jsontext.Value, error) {
	asked, err := body.Scan(t.Asked)
	if err != nil {
		return nil, penstock.Internal(err)
	}
	answered, err := body.Scan(t.Answered)
	if err != nil {
		return nil, penstock.Internal(err)
	}
	items, err := InputItems(asked.Raw("input"))
	if err != nil {
		return nil, err
	}
	said, err := outputItems(answered.Raw("output"))
	if err != nil {
		return nil, penstock.Internal(err)
	}
	return append(items, said...), nil
}

// GoOn puts the items of earlier turns in front of the input of a body, which then says everything itself: the upstream is told
// nothing of the earlier response, and need not have kept it. As with OpenAI, instructions are not carried over. own are the items
// of the body itself. Codes: invalid_request.
func GoOn(text []byte, earlier, own []jsontext.Value) ([]byte, error) {
	now, err := body.Scan(text)
	if err != nil {
		return nil, penstock.InvalidParam("body", "The body %v.", err)
	}
	edits := []body.Edit{now.Replace("input", JoinItems(append(earlier[:len(earlier):len(earlier)], own...)))}
	for _, name := range []string{previous, conversation} {
		if now.Value(name).Found() {
			edits = append(edits, now.Replace(name, "null"))
		}
	}
	return body.Apply(text, edits...), nil
}

// Behind is a body without the first items of its input.
func Behind(text []byte, n int64) ([]byte, error) {
	o, err := body.Scan(text)
	if err != nil {
		return nil, penstock.Internal(err)
	}
	items, err := InputItems(o.Raw("input"))
	if err != nil {
		return nil, err
	}
	return body.Apply(text, o.Replace("input", JoinItems(items[min(n, int64(len(items))):]))), nil
}

// JoinItems writes items as a list.
func JoinItems(items []jsontext.Value) string {
	all := make([]string, len(items))
	for i, item := range items {
		all[i] = string(item)
	}
	return "[" + strings.Join(all, ",") + "]"
}

// InputItems are the items of an input. A string is the user's message. Codes: invalid_request.
func InputItems(raw jsontext.Value) (items []jsontext.Value, err error) {
	switch raw.Kind() {
	case '"':
		return []jsontext.Value{jsontext.Value(`{"role":"user","content":` + string(raw) + `}`)}, nil
	case '[':
		if json.Unmarshal(raw, &items, jsontext.AllowDuplicateNames(true)) != nil {
			err = penstock.InvalidParam("input", "input must be a string or a list of items.")
		}
	case 'n', 0: // null, or none
	default:
		err = penstock.InvalidParam("input", "input must be a string or a list of items.")
	}
	return items, err
}

// outputItems is what an upstream said, as input.
func outputItems(raw jsontext.Value) ([]jsontext.Value, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var items []jsontext.Value
	if err := json.Unmarshal(raw, &items, jsontext.AllowDuplicateNames(true)); err != nil {
		return nil, err
	}
	return Repeated(items)
}

// Repeated are items of earlier turns as they are sent again.
func Repeated(items []jsontext.Value) (kept []jsontext.Value, err error) {
	for _, item := range items {
		o, err := body.Scan(item)
		if err != nil {
			return nil, err
		}
		kind, err := o.String("type")
		if err != nil {
			return nil, err
		}
		switch kind {
		case kindReasoning:
			if secret, err := o.String("encrypted_content"); err != nil || secret == "" {
				continue
			}
			fallthrough
		case "", kindMessage, kindCall, kindCallOutput:
			item = without(o, "id")
		}
		kept = append(kept, item)
	}
	return kept, nil
}

// without is an object that lacks a member.
func without(o body.Object, name string) jsontext.Value {
	var members []string
	for _, m := range o.Members {
		if m.Name != name {
			members = append(members, strconv.Quote(m.Name)+":"+string(o.Text[m.Value.Start:m.Value.End]))
		}
	}
	return jsontext.Value("{" + strings.Join(members, ",") + "}")
}
