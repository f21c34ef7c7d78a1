package openai

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
)

// previous is the member by which a response goes on from an earlier one.
const previous = "previous_response_id"

// PreviousResponse is the id of the response that the body of another goes on from, "" for none. Codes:
// invalid_request.
func PreviousResponse(text []byte) (string, error) {
	f, err := dialect.Scan(text, responseFormat)
	if err != nil || !f.Given(previous) {
		return "", err
	}
	id := f.String(previous)
	return id, f.Err()
}

// Turn is one exchange of a conversation: a body that was sent, with all that went before it, and what came back.
type Turn struct{ Asked, Answered []byte }

// GoOn puts an earlier turn in front of the input of a body, which then says everything itself: the upstream is told
// nothing of the earlier response, and need not have kept it. As with OpenAI, instructions are not carried over.
// Codes: invalid_request.
func GoOn(text []byte, earlier Turn) ([]byte, error) {
	now, err := body.Scan(text)
	if err != nil {
		return nil, penstock.InvalidParam("body", "The body %v.", err)
	}
	asked, err := body.Scan(earlier.Asked)
	if err != nil {
		return nil, penstock.Internal(err)
	}
	answered, err := body.Scan(earlier.Answered)
	if err != nil {
		return nil, penstock.Internal(err)
	}
	items, err := inputItems(asked.Raw("input"))
	if err != nil {
		return nil, err
	}
	said, err := outputItems(answered.Raw("output"))
	if err != nil {
		return nil, penstock.Internal(err)
	}
	input, err := inputItems(now.Raw("input"))
	if err != nil {
		return nil, err
	}
	var all []string
	for _, item := range append(append(items, said...), input...) {
		all = append(all, string(item))
	}
	return body.Apply(text, now.Replace("input", "["+strings.Join(all, ",")+"]"), now.Replace(previous, "null")), nil
}

// inputItems is what an input is made of. A string is the user's message.
func inputItems(raw jsontext.Value) (items []jsontext.Value, err error) {
	switch raw.Kind() {
	case '"':
		return []jsontext.Value{jsontext.Value(`{"role":"user","content":` + string(raw) + `}`)}, nil
	case '[':
		err = json.Unmarshal(raw, &items, jsontext.AllowDuplicateNames(true))
	case 'n', 0: // null, or none
	default:
		err = penstock.InvalidParam("input", "input must be a string or a list of items.")
	}
	return items, err
}

// outputItems is what an upstream said, as input. Ids name what it was told not to keep, so they are left out, and so
// is reasoning that it did not hand over.
func outputItems(raw jsontext.Value) ([]jsontext.Value, error) {
	var items []jsontext.Value
	if len(raw) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &items, jsontext.AllowDuplicateNames(true)); err != nil {
		return nil, err
	}
	var kept []jsontext.Value
	for _, item := range items {
		o, err := body.Scan(item)
		if err != nil {
			return nil, err
		}
		kind, err := o.String("type")
		if err != nil {
			return nil, err
		}
		if secret, err := o.String("encrypted_content"); kind == "reasoning" && (err != nil || secret == "") {
			continue
		}
		kept = append(kept, without(o, "id"))
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
