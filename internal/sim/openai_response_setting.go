package sim

import (
	"maps"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// requestSettings are the members of a request that its response repeats.
type requestSettings map[string]jsontext.Value

// defaultSettings are those of a request that sets none of them.
var defaultSettings = requestSettings{
	"background": jsontext.Value(`false`), "instructions": jsontext.Value(`null`), "max_output_tokens": jsontext.Value(`null`), "max_tool_calls": jsontext.Value(`null`),
	"metadata": jsontext.Value(`{}`), "parallel_tool_calls": jsontext.Value(`true`), "previous_response_id": jsontext.Value(`null`), "prompt_cache_key": jsontext.Value(`null`),
	"reasoning": jsontext.Value(`{"effort":null,"summary":null}`), "safety_identifier": jsontext.Value(`null`), "service_tier": jsontext.Value(`"default"`), "store": jsontext.Value(`true`),
	"temperature": jsontext.Value(`1`), "text": jsontext.Value(`{"format":{"type":"text"},"verbosity":"medium"}`), "tool_choice": jsontext.Value(`"auto"`), "tools": jsontext.Value(`[]`),
	"top_logprobs": jsontext.Value(`0`), "top_p": jsontext.Value(`1`), "truncation": jsontext.Value(`"disabled"`), "user": jsontext.Value(`null`),
}

// readSettings reads the settings of a request, with the default of each that the request does not set.
func readSettings(body []byte) (requestSettings, error) {
	var given requestSettings
	if err := decodeBody(body, &given); err != nil {
		return nil, err
	}
	all := maps.Clone(defaultSettings)
	for name, standard := range defaultSettings {
		value := given[name]
		if value == nil || value.Kind() == 'n' {
			continue
		}
		all[name] = value
		if standard.Kind() == '{' && value.Kind() == '{' {
			all[name] = merged(standard, value)
		}
	}
	if string(all["service_tier"]) == `"auto"` { // a response names the tier that served it
		all["service_tier"] = defaultSettings["service_tier"]
	}
	return all, nil
}

// merged is an object with the members of another object that it lacks.
func merged(standard, object jsontext.Value) jsontext.Value {
	var all requestSettings
	for _, text := range []jsontext.Value{standard, object} { // the later members win
		if json.Unmarshal(text, &all, jsontext.AllowDuplicateNames(true)) != nil {
			return object
		}
	}
	return encode(all)
}
