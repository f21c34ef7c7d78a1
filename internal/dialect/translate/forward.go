package translate

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect/openai"
)

// Forward is a body for an upstream that uses the caller's dialect: unchanged, but for reasoning of a response that a translation
// sealed. An upstream of responses cannot read it and would refuse the call; items that it was sent with stay.
func Forward(e penstock.Endpoint, text []byte) (forwarded []byte, dropped []string) {
	if e != penstock.EndpointResponses || !mentionsSeal(text) {
		return text, nil
	}
	o, err := body.Scan(text)
	if err != nil {
		return text, nil // the upstream says more about it
	}
	var items []jsontext.Value
	input := jsontext.Value(o.Raw("input"))
	if input.Kind() != '[' || json.Unmarshal(input, &items, lenient) != nil {
		return text, nil
	}
	kept := items[:0]
	for _, item := range items {
		var sealed struct {
			Type    string         `json:"type"`
			Content jsontext.Value `json:"encrypted_content"`
		}
		content := ""
		if mentionsSeal(item) && json.Unmarshal(item, &sealed, lenient) == nil && sealed.Type == "reasoning" &&
			json.Unmarshal(sealed.Content, &content, lenient) == nil && isForeign(content) {
			continue
		}
		kept = append(kept, item)
	}
	if len(kept) == len(items) {
		return text, nil
	}
	return body.Apply(text, o.Replace("input", openai.JoinItems(kept))), []string{"input[].reasoning"}
}
