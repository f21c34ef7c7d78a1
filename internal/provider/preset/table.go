package preset

import (
	"penstock"
	"penstock/internal/provider"
)

var (
	chatOnly        = []penstock.Endpoint{penstock.EndpointChat}
	chatAndResponse = []penstock.Endpoint{penstock.EndpointChat, penstock.EndpointResponses}
	chatAndEmbed    = []penstock.Endpoint{penstock.EndpointChat, penstock.EndpointEmbeddings}
	withoutRank     = []penstock.Endpoint{penstock.EndpointChat, penstock.EndpointCompletions, penstock.EndpointEmbeddings, penstock.EndpointResponses}
	older           = []penstock.Endpoint{penstock.EndpointChat, penstock.EndpointCompletions, penstock.EndpointEmbeddings, penstock.EndpointRank}
	rankOnly        = []penstock.Endpoint{penstock.EndpointRank}
	embedAndRank    = []penstock.Endpoint{penstock.EndpointEmbeddings, penstock.EndpointRank}

	// wholeDocuments are the members of rankings that most vendors ignore.
	wholeDocuments = map[string][]string{"max_tokens_per_doc": nil}
)

// All are the vendors, those with an account first, then the servers that operators run.
var All = []Preset{
	{
		Kind: "mistral", BaseURL: "https://api.mistral.ai/v1", Endpoints: chatAndEmbed,
		// Mistral answers 422 to every member that it does not know.
		OldBound: true, UsageUnasked: true, Renamed: map[string]string{"seed": "random_seed"},
		Dropped: []string{"user", "store", "service_tier", "safety_identifier"},
		Refused: map[string][]string{"logprobs": {"false"}, "top_logprobs": {"0"}, "logit_bias": {"{}"}},
		Limits:  provider.LimitNames{Requests: "Req-Minute", Tokens: "Tokens-Minute"},
	},
	{
		Kind: "groq", BaseURL: "https://api.groq.com/openai/v1", Endpoints: chatAndResponse, Reasoning: "reasoning",
		Refused: map[string][]string{"logprobs": {"false"}, "top_logprobs": {"0"}, "logit_bias": {"{}"}, "n": {"1"}},
		// The headers about requests count a day, those about tokens a minute.
		Limits: provider.LimitNames{Tokens: "Tokens"},
		Kinds: map[string]provider.Kind{
			"498": provider.KindOverloaded, "capacity_exceeded": provider.KindOverloaded,
			// The model wrote an invalid tool call or an answer that does not match the schema: another try may succeed.
			"tool_use_failed": provider.KindMalformed, "json_validate_failed": provider.KindMalformed,
		},
	},
	{
		Kind: "together", BaseURL: "https://api.together.xyz/v1", Endpoints: older, OldBound: true, OnePrompt: true, Reasoning: "reasoning", RankRefused: wholeDocuments,
		// Its headers x-ratelimit-limit and x-tokenlimit-limit count seconds.
		Limits: provider.LimitNames{},
	},
	{
		Kind: "xai", BaseURL: "https://api.x.ai/v1", Endpoints: chatAndResponse, ReasoningApart: true, Reasoning: "reasoning_content",
		Limits: provider.DefaultLimitNames,
	},
	{
		Kind: "deepseek", BaseURL: "https://api.deepseek.com/v1", Endpoints: chatOnly, OldBound: true, Reasoning: "reasoning_content",
		Refused: map[string][]string{"n": {"1"}, "logit_bias": {"{}"}, "parallel_tool_calls": {"true"}},
		Dropped: []string{"seed"},
	},
	{
		Kind: "openrouter", BaseURL: "https://openrouter.ai/api/v1", Reasoning: "reasoning", RankRefused: wholeDocuments,
	},
	{
		Kind: "fireworks", BaseURL: "https://api.fireworks.ai/inference/v1", Reasoning: "reasoning_content", RankRefused: wholeDocuments,
		Limits: provider.LimitNames{Requests: "Requests"},
		// An account over its monthly limit is suspended.
		Kinds: map[string]provider.Kind{"412": provider.KindSpendCap},
	},
	{
		Kind: "perplexity", BaseURL: "https://api.perplexity.ai", Bare: true, Endpoints: chatOnly, OldBound: true, UsageUnasked: true,
		Refused: map[string][]string{
			"tools": {"[]"}, "tool_choice": {`"auto"`, `"none"`}, "stop": {"[]", `""`}, "n": {"1"},
			"logprobs": {"false"}, "top_logprobs": {"0"}, "logit_bias": {"{}"},
		},
		Dropped: []string{"seed", "parallel_tool_calls", "service_tier"},
	},
	{Kind: "cohere", BaseURL: "https://api.cohere.com/v2", Endpoints: rankOnly},
	{Kind: "jina", BaseURL: "https://api.jina.ai/v1", Endpoints: embedAndRank, RankRefused: wholeDocuments},
	{Kind: "voyage", BaseURL: "https://api.voyageai.com/v1", Endpoints: rankOnly, TopN: "top_k", RankRefused: wholeDocuments},
	{Kind: "vllm", BaseURL: "http://127.0.0.1:8000/v1", Private: true, Reasoning: "reasoning"},
	{Kind: "sglang", BaseURL: "http://127.0.0.1:30000/v1", Private: true, Reasoning: "reasoning_content", RankRefused: wholeDocuments},
	{
		Kind: "ollama", BaseURL: "http://127.0.0.1:11434/v1", Private: true, Endpoints: withoutRank, OldBound: true, OnePrompt: true, Reasoning: "reasoning",
		Refused: map[string][]string{"n": {"1"}, "logit_bias": {"{}"}, "tool_choice": {`"auto"`}},
	},
	{Kind: "llamacpp", BaseURL: "http://127.0.0.1:8080/v1", Private: true, Reasoning: "reasoning_content", RankRefused: wholeDocuments},
}
