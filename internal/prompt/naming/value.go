package naming

import (
	"maps"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/prompt/content"
)

// Values reads the variables. In OpenAI's form a value may be a part of an input: a text, or an image by its URL. Codes:
// invalid_request, too_large.
func (u Use) Values() (map[string]any, error) {
	values, err := content.ParseVariables(u.Variables)
	if err != nil || u.ID == "" {
		return values, err
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if part, ok := values[name].(map[string]any); ok {
			if values[name], err = valueOf(name, part); err != nil {
				return nil, err
			}
		}
	}
	return values, nil
}

// valueOf is the value of a part. An object that is no part is a value itself.
func valueOf(name string, part map[string]any) (any, error) {
	kind, _ := part["type"].(string)
	where := "variables." + clip(name)
	switch kind {
	case "input_text":
		if text, ok := part["text"].(string); ok {
			return text, nil
		}
		return nil, penstock.InvalidParam(where, "%s: an input_text has a text.", where)
	case "input_image":
		if url, ok := part["image_url"].(string); ok && url != "" {
			return url, nil
		}
		return nil, penstock.InvalidParam(where, "%s: an input_image must have an image_url; files in variables are not supported. Use the URL of the image, or a data: URL.", where)
	}
	if strings.HasPrefix(kind, "input_") {
		return nil, penstock.InvalidParam(where, "%s: a variable cannot be an %s; it can be any JSON value, an input_text or an input_image.", where, clip(kind))
	}
	return part, nil
}
