package litellm

import (
	"slices"
	"strings"

	"penstock/internal/config"
	"penstock/internal/provider/preset"
)

// vendor is the meaning of a prefix of a model in LiteLLM's file: a vendor, and LiteLLM's own names for its settings.
type vendor struct {
	preset.Vendor
	variable string // that LiteLLM reads the key from
	ownURL   bool   // the file must say where the server is
	suffix   string // that belongs to the URL and that LiteLLM adds itself
	// trimmed are the ends of paths that LiteLLM takes in api_base, and that do not belong to the URL, in the order of their removal.
	trimmed []string
}

// address is the URL of the vendor's server, as Penstock has it.
func (v vendor) address(base string) string {
	base = strings.TrimRight(base, "/")
	for _, path := range v.trimmed {
		base = strings.TrimSuffix(base, path)
	}
	if base != "" && !strings.HasSuffix(base, v.suffix) {
		base += v.suffix
	}
	return base
}

// known is a vendor of the table, whose key LiteLLM reads from the vendor's own variable.
func known(name string) vendor {
	v, _ := preset.VendorOf(name)
	one := vendor{Vendor: v}
	if len(v.KeyVariables) > 0 {
		one.variable = v.KeyVariables[0]
	}
	return one
}

// keyed is a vendor whose key LiteLLM reads from another variable.
func keyed(name, variable string) vendor {
	v := known(name)
	v.variable = variable
	return v
}

// server is a server of the operator's own, of which the file must say the address.
func server(v preset.Vendor) vendor { return vendor{Vendor: v, ownURL: true} }

// vendors are the prefixes that Penstock has an adapter for.
var vendors = map[string]vendor{
	"openai":                 known("openai"),
	"text-completion-openai": known("openai"),
	"azure":                  {Vendor: known("azure").Vendor, variable: "AZURE_API_KEY", ownURL: true},
	"azure_text":             {Vendor: known("azure").Vendor, variable: "AZURE_API_KEY", ownURL: true},
	"anthropic":              known("anthropic"),
	"gemini":                 known("gemini"),
	"bedrock":                known("bedrock"),
	"bedrock_converse":       known("bedrock"),
	"mistral":                known("mistral"),
	"groq":                   known("groq"),
	"together_ai":            keyed("together", "TOGETHERAI_API_KEY"),
	"xai":                    known("xai"),
	"deepseek":               known("deepseek"),
	"openrouter":             known("openrouter"),
	"perplexity":             keyed("perplexity", "PERPLEXITYAI_API_KEY"),
	"fireworks_ai":           keyed("fireworks", "FIREWORKS_AI_API_KEY"),
	"cerebras":               known("cerebras"),
	"cohere":                 {Vendor: known("cohere").Vendor, variable: "COHERE_API_KEY", suffix: "/v2", trimmed: []string{"/rerank", "/v1"}},
	"jina_ai":                {Vendor: known("jina").Vendor, variable: "JINA_AI_API_KEY", suffix: "/v1", trimmed: []string{"/rerank", "/embeddings"}},
	"voyage":                 {Vendor: known("voyage").Vendor, variable: "VOYAGE_API_KEY", suffix: "/v1", trimmed: []string{"/rerank"}},
	"ollama":                 {Vendor: known("ollama").Vendor, suffix: "/v1"},
	"ollama_chat":            {Vendor: known("ollama").Vendor, suffix: "/v1"},
	"hosted_vllm":            server(known("vllm").Vendor),
	"vllm":                   server(known("vllm").Vendor),
	"lm_studio":              server(preset.Vendor{Name: "lm-studio", Kind: config.KindOpenAI}),
	"llamafile":              server(preset.Vendor{Name: "llamafile", Kind: "llamacpp"}),
	"custom_openai":          server(preset.Vendor{Name: "custom", Kind: config.KindOpenAI}),
	"openai_like":            server(preset.Vendor{Name: "custom", Kind: config.KindOpenAI}),
	"litellm_proxy":          {Vendor: preset.Vendor{Name: "litellm", Kind: config.KindOpenAI}, variable: "LITELLM_PROXY_API_KEY", ownURL: true},
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
	for _, prefix := range []string{"openai", "anthropic"} { // LiteLLM knows these without a prefix
		v := vendors[prefix]
		if slices.ContainsFunc(v.Families, func(family string) bool { return strings.HasPrefix(name, family) }) {
			return v, name, prefix, true
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
