package openai

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/body"
)

// Echo has the members of a response that repeat its request. OpenAI sends them in every state of a response, with its defaults in the
// place of members that the request does not have.
type Echo struct {
	Instructions         jsontext.Value `json:"instructions"`
	MaxOutputTokens      jsontext.Value `json:"max_output_tokens"`
	MaxToolCalls         jsontext.Value `json:"max_tool_calls"`
	Metadata             jsontext.Value `json:"metadata"`
	ParallelToolCalls    jsontext.Value `json:"parallel_tool_calls"`
	PromptCacheKey       jsontext.Value `json:"prompt_cache_key,omitzero"`
	PromptCacheRetention jsontext.Value `json:"prompt_cache_retention,omitzero"`
	Reasoning            jsontext.Value `json:"reasoning"`
	SafetyIdentifier     jsontext.Value `json:"safety_identifier,omitzero"`
	ServiceTier          jsontext.Value `json:"service_tier,omitzero"`
	Temperature          jsontext.Value `json:"temperature"`
	Text                 jsontext.Value `json:"text"`
	ToolChoice           jsontext.Value `json:"tool_choice"`
	Tools                jsontext.Value `json:"tools"`
	TopP                 jsontext.Value `json:"top_p"`
	Truncation           jsontext.Value `json:"truncation"`
	User                 jsontext.Value `json:"user,omitzero"`
}

// NewEcho reads the body of a response. The values are copies. A value of the wrong type is left out: upstreams say more about it
// than an echo.
func NewEcho(text []byte) Echo {
	o, _ := body.Scan(text) // without members, all values are defaults
	// given is a member if it is of one of these kinds, each a byte of jsontext.Kind.
	given := func(name, kinds, otherwise string) jsontext.Value {
		if raw := jsontext.Value(o.Raw(name)); len(raw) > 0 && strings.IndexByte(kinds, byte(raw.Kind())) >= 0 {
			return raw.Clone()
		}
		if otherwise == "" {
			return nil
		}
		return jsontext.Value(otherwise)
	}
	const null, str, number, list, object = "null", `"`, "0", "[", "{"
	return Echo{
		Instructions: given("instructions", str, null), MaxOutputTokens: given("max_output_tokens", number, null), MaxToolCalls: given("max_tool_calls", number, null),
		Metadata: given("metadata", object, "{}"), ParallelToolCalls: given("parallel_tool_calls", "tf", "true"),
		PromptCacheKey: given("prompt_cache_key", str, ""), PromptCacheRetention: given("prompt_cache_retention", str, ""),
		Reasoning: given("reasoning", object, `{"effort":null,"summary":null}`), SafetyIdentifier: given("safety_identifier", str, ""),
		ServiceTier: given("service_tier", str, ""), Temperature: given("temperature", number, null), Text: given("text", object, `{"format":{"type":"text"}}`),
		ToolChoice: given("tool_choice", str+object, `"auto"`), Tools: given("tools", list, "[]"), TopP: given("top_p", number, null),
		Truncation: given("truncation", str, `"disabled"`), User: given("user", str, ""),
	}
}
