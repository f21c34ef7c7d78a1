package openai

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
)

// The kinds of items that Penstock treats by their kind.
const (
	kindMessage    = "message"
	kindCall       = "function_call"
	kindCallOutput = "function_call_output"
	kindReasoning  = "reasoning"
	kindReference  = "item_reference"
)

// References are the ids of items that a caller's items leave to the server: references, and reasoning without its content. The member
// of the body that has the items is named in errors. Codes: invalid_request.
func References(member string, items []jsontext.Value) (ids []string, err error) {
	for i, item := range items {
		id, needed := reference(item)
		if needed && id == "" {
			param := fmt.Sprintf("%s[%d].id", member, i)
			return nil, penstock.InvalidParam(param, "%s is missing; an item_reference needs the id of the item that it stands for.", param)
		}
		if id != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// reference is the id of the item that an item stands for, "" for an item that stands for itself. A reference without its item is an
// error; reasoning without its content can be left out.
func reference(item jsontext.Value) (id string, needed bool) {
	if item.Kind() != '{' || !bytes.Contains(item, []byte(`id"`)) && !bytes.Contains(item, []byte(kindReference)) {
		return "", false
	}
	o, err := body.Scan(item)
	if err != nil {
		return "", false
	}
	kind, _ := o.String("type")
	id, _ = o.String("id")
	switch kind {
	case kindReference:
		return id, true
	case "":
		if id != "" && !o.Value("role").Found() && len(o.Members) <= 2 { // the type of a reference may be null
			return id, true
		}
	case kindReasoning:
		if secret, err := o.String("encrypted_content"); err == nil && secret == "" {
			return id, false
		}
	}
	return "", false
}

// Resolve puts the items that callers refer to in the place of their references. Reasoning whose content nobody has is left out.
// The member of the body that has the items is named in errors. Codes: not_found.
func Resolve(member string, items []jsontext.Value, found map[string]jsontext.Value) (resolved []jsontext.Value, err error) {
	for i, item := range items {
		id, needed := reference(item)
		if id == "" {
			resolved = append(resolved, item)
			continue
		}
		stored, ok := found[id]
		if !ok && needed {
			param := fmt.Sprintf("%s[%d].id", member, i)
			return nil, &penstock.Error{Code: penstock.CodeNotFound, Param: param, Message: param + ": no stored response or conversation has the item " +
				strconv.Quote(clip(id)) + ". Send the item itself, or store the response that has it."}
		}
		if !ok {
			continue
		}
		repeated, err := Repeated([]jsontext.Value{stored})
		if err != nil {
			return nil, penstock.Internal(err)
		}
		resolved = append(resolved, repeated...)
	}
	return resolved, nil
}

func clip(id string) string {
	const most = 80
	return strings.ToValidUTF8(id[:min(len(id), most)], "")
}

// Output are the items of the output of a response.
func Output(object []byte) ([]jsontext.Value, error) {
	o, err := body.Scan(object)
	if err != nil {
		return nil, err
	}
	var items []jsontext.Value
	raw := o.Raw("output")
	if len(raw) == 0 {
		return nil, nil
	}
	return items, json.Unmarshal(raw, &items, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// ItemID is the id of an item, "" for an item without one.
func ItemID(item jsontext.Value) string {
	if o, err := body.Scan(item); err == nil {
		id, _ := o.String("id")
		return id
	}
	return ""
}

// CheckItem says why a value is no item that can be stored, "" for an item. A message must have a role that every target knows: a
// conversation sends its items to all later responses.
func CheckItem(item jsontext.Value) (problem string) {
	const noItem = "must be an item: an object with a role or a type."
	if item.Kind() != '{' {
		return noItem
	}
	o, err := body.Scan(item)
	if err != nil {
		return noItem
	}
	kind, _ := o.String("type")
	role, _ := o.String("role")
	switch {
	case kind != "" && kind != kindMessage:
		return ""
	case kind == "" && role == "":
		return noItem
	case !slices.Contains([]string{"user", "assistant", "system", "developer"}, role):
		return "must have the role user, assistant, system or developer."
	}
	return ""
}

// ListedItem is an item as lists show it: with an id, its type, and the text of a message as a part.
func ListedItem(item jsontext.Value, id string) jsontext.Value {
	o, err := body.Scan(item)
	if err != nil {
		return item
	}
	quoted, err := json.Marshal(id)
	if err != nil {
		return item
	}
	edits := []body.Edit{o.Replace("id", string(quoted))}
	kind, _ := o.String("type")
	role, _ := o.String("role")
	if kind == "" && role != "" {
		kind = kindMessage
		edits = append(edits, o.Replace("type", strconv.Quote(kind)))
	}
	if kind == kindMessage {
		if !o.Value("status").Found() {
			edits = append(edits, o.Replace("status", `"completed"`))
		}
		if raw := jsontext.Value(o.Raw("content")); raw.Kind() == '"' {
			part := `[{"type":"input_text","text":` + string(raw) + `}]`
			if role == "assistant" {
				part = `[{"type":"output_text","text":` + string(raw) + `,"annotations":[]}]`
			}
			edits = append(edits, o.Replace("content", part))
		}
	}
	return body.Apply(item, edits...)
}

// contains reports whether a list of strings has a string, both as they are written.
func contains(list jsontext.Value, quoted string) bool {
	var all []jsontext.Value
	return json.Unmarshal(list, &all) == nil && slices.ContainsFunc(all, func(v jsontext.Value) bool { return string(v) == quoted })
}

// comma separates a new first element of a list from the others.
func comma(list jsontext.Value) string {
	if len(bytes.TrimSpace(list[1:len(list)-1])) == 0 {
		return ""
	}
	return ","
}
