package litellm

import (
	"slices"
	"strings"

	"penstock/internal/config"
)

// vendor is what a prefix of a model in LiteLLM's file means.
type vendor struct {
	name     string // in the catalogue, and of the provider
	kind     string
	baseURL  string // "" for the default of the kind
	variable string // that LiteLLM reads the key from
	ownURL   bool   // the file must say where the server is
	suffix   string // that belongs to the URL and that LiteLLM adds itself
}

// vendors are the prefixes that Penstock has an adapter for.
var vendors = map[string]vendor{
	"openai":                 {name: "openai", kind: config.KindOpenAI, variable: "OPENAI_API_KEY"},
	"text-completion-openai": {name: "openai", kind: config.KindOpenAI, variable: "OPENAI_API_KEY"},
	"azure":                  {name: "azure", kind: config.KindOpenAI, variable: "AZURE_API_KEY", ownURL: true},
	"azure_text":             {name: "azure", kind: config.KindOpenAI, variable: "AZURE_API_KEY", ownURL: true},
	"anthropic":              {name: "anthropic", kind: config.KindAnthropic, variable: "ANTHROPIC_API_KEY"},
	"gemini":                 {name: "gemini", kind: config.KindOpenAI, baseURL: "https://generativelanguage.googleapis.com/v1beta/openai", variable: "GEMINI_API_KEY"},
	"mistral":                {name: "mistral", kind: config.KindOpenAI, baseURL: "https://api.mistral.ai/v1", variable: "MISTRAL_API_KEY"},
	"groq":                   {name: "groq", kind: config.KindOpenAI, baseURL: "https://api.groq.com/openai/v1", variable: "GROQ_API_KEY"},
	"together_ai":            {name: "together", kind: config.KindOpenAI, baseURL: "https://api.together.xyz/v1", variable: "TOGETHERAI_API_KEY"},
	"xai":                    {name: "xai", kind: config.KindOpenAI, baseURL: "https://api.x.ai/v1", variable: "XAI_API_KEY"},
	"deepseek":               {name: "deepseek", kind: config.KindOpenAI, baseURL: "https://api.deepseek.com/v1", variable: "DEEPSEEK_API_KEY"},
	"openrouter":             {name: "openrouter", kind: config.KindOpenAI, baseURL: "https://openrouter.ai/api/v1", variable: "OPENROUTER_API_KEY"},
	"perplexity":             {name: "perplexity", kind: config.KindOpenAI, baseURL: "https://api.perplexity.ai", variable: "PERPLEXITYAI_API_KEY"},
	"fireworks_ai":           {name: "fireworks", kind: config.KindOpenAI, baseURL: "https://api.fireworks.ai/inference/v1", variable: "FIREWORKS_AI_API_KEY"},
	"cerebras":               {name: "cerebras", kind: config.KindOpenAI, baseURL: "https://api.cerebras.ai/v1", variable: "CEREBRAS_API_KEY"},
	"ollama":                 {name: "ollama", kind: config.KindOpenAI, baseURL: "http://localhost:11434/v1", suffix: "/v1"},
	"ollama_chat":            {name: "ollama", kind: config.KindOpenAI, baseURL: "http://localhost:11434/v1", suffix: "/v1"},
	"hosted_vllm":            {name: "vllm", kind: config.KindOpenAI, ownURL: true},
	"vllm":                   {name: "vllm", kind: config.KindOpenAI, ownURL: true},
	"lm_studio":              {name: "lm-studio", kind: config.KindOpenAI, ownURL: true},
	"llamafile":              {name: "llamafile", kind: config.KindOpenAI, ownURL: true},
	"custom_openai":          {name: "custom", kind: config.KindOpenAI, ownURL: true},
	"openai_like":            {name: "custom", kind: config.KindOpenAI, ownURL: true},
	"litellm_proxy":          {name: "litellm", kind: config.KindOpenAI, variable: "LITELLM_PROXY_API_KEY", ownURL: true},
}

// families are the vendors of model names without a prefix.
var families = []struct{ prefix, vendor string }{
	{"gpt-", "openai"}, {"chatgpt-", "openai"}, {"o1", "openai"}, {"o3", "openai"}, {"o4", "openai"}, {"text-embedding-", "openai"}, {"ft:gpt-", "openai"},
	{"codex-", "openai"}, {"claude-", "anthropic"},
}

// vendorOf finds the vendor and the upstream's own name of a model; provider is custom_llm_provider of the file.
func (im *importer) vendorOf(name, provider string) (v vendor, upstream, prefix string, ok bool) {
	if provider != "" {
		v, ok = vendors[provider]
		return v, strings.TrimPrefix(name, provider+"/"), provider, ok
	}
	if prefix, upstream, found := strings.Cut(name, "/"); found {
		v, ok = vendors[prefix]
		return v, upstream, prefix, ok
	}
	for _, f := range families {
		if strings.HasPrefix(name, f.prefix) {
			return vendors[f.vendor], name, f.vendor, true
		}
	}
	var owners []string
	for _, e := range im.book.Entries {
		if _, known := vendors[e.Vendor]; known && e.Model == name {
			owners = append(owners, e.Vendor)
		}
	}
	if owners = slices.Compact(owners); len(owners) == 1 {
		return vendors[owners[0]], name, owners[0], true
	}
	return vendor{}, name, "", false
}
