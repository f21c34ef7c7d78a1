package preset

import (
	"slices"

	"penstock"
)

// Vendor is how operators and their other tools know a vendor: its names, the environment variables of its SDKs and the names of its
// models. One table serves penstock dev, which finds vendors, config init, which proposes them, and the import of other gateways' files.
type Vendor struct {
	// Name is the name of the vendor's provider, and the vendor's name in the catalogue of models.
	Name string
	// Kind is the kind of the provider.
	Kind string
	// BaseURL is the address, "" for the default of the kind.
	BaseURL string
	// KeyVariables are the environment variables that have the key, the vendor's own name first.
	KeyVariables []string
	// URLVariable is the environment variable by which the vendor's SDKs call another address.
	URLVariable string
	// URLSuffix is the part of the path that the SDKs append to that address themselves.
	URLSuffix string
	// OwnedBy is the owned_by of each model that a local server of the vendor lists. A server with another owned_by is another program.
	OwnedBy string
	// Families are the beginnings of the names of the vendor's models, for names that no catalogue knows yet.
	Families []string
	// Model is the model that a new configuration begins with, "" for a vendor that is not proposed.
	Model string
}

// Bedrock's credentials are several variables, which AWS's other tools use too. BedrockKeyVariable has a key that calls only Bedrock.
const (
	BedrockKeyVariable   = "AWS_BEARER_TOKEN_BEDROCK"
	AWSAccessKeyVariable = "AWS_ACCESS_KEY_ID"
	AWSSecretKeyVariable = "AWS_SECRET_ACCESS_KEY"
	AWSSessionVariable   = "AWS_SESSION_TOKEN"
	AWSRegionVariable    = "AWS_REGION"
)

// AWSRegionVariables are the variables with the region, in the order in which AWS's SDKs read them.
var AWSRegionVariables = []string{AWSRegionVariable, "AWS_DEFAULT_REGION"}

// Vendors are all vendors, in the order in which they are proposed and in which unknown names of models are tried.
var Vendors = []Vendor{
	{
		Name: "openai", Kind: "openai", KeyVariables: []string{"OPENAI_API_KEY"}, URLVariable: "OPENAI_BASE_URL", Model: "gpt-4.1-mini",
		Families: []string{"gpt-", "chatgpt-", "o1", "o3", "o4", "codex-", "text-embedding-", "ft:"},
	},
	{
		Name: "anthropic", Kind: "anthropic", KeyVariables: []string{"ANTHROPIC_API_KEY"}, URLVariable: "ANTHROPIC_BASE_URL", URLSuffix: "/v1",
		Model: "claude-haiku-4-5", Families: []string{"claude-"},
	},
	{
		Name: "gemini", Kind: "gemini", KeyVariables: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, URLVariable: "GOOGLE_GEMINI_BASE_URL", URLSuffix: "/v1beta",
		Model: "gemini-2.5-flash", Families: []string{"gemini-", "gemma-"},
	},
	{
		Name: "bedrock", Kind: "bedrock", KeyVariables: []string{BedrockKeyVariable}, Model: "global.anthropic.claude-haiku-4-5-20251001-v1:0",
		Families: []string{"amazon.", "anthropic.", "meta.", "us.", "eu.", "apac.", "jp.", "au.", "global.", "arn:aws:bedrock:"},
	},
	{
		Name: "mistral", Kind: "mistral", KeyVariables: []string{"MISTRAL_API_KEY"}, Model: "mistral-small-latest",
		Families: []string{"mistral-", "ministral-", "magistral-", "codestral-", "devstral-", "pixtral-", "open-mistral-", "open-mixtral-"},
	},
	{
		Name: "groq", Kind: "groq", KeyVariables: []string{"GROQ_API_KEY"}, URLVariable: "GROQ_BASE_URL", URLSuffix: "/openai/v1", Model: "llama-3.3-70b-versatile",
	},
	{
		Name: "together", Kind: "together", KeyVariables: []string{"TOGETHER_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHERAI_API_KEY"}, URLVariable: "TOGETHER_BASE_URL",
		Model: "meta-llama/Llama-3.3-70B-Instruct-Turbo",
	},
	{Name: "xai", Kind: "xai", KeyVariables: []string{"XAI_API_KEY"}, Model: "grok-3-mini", Families: []string{"grok-"}},
	{Name: "deepseek", Kind: "deepseek", KeyVariables: []string{"DEEPSEEK_API_KEY"}, Model: "deepseek-chat", Families: []string{"deepseek-"}},
	{Name: "openrouter", Kind: "openrouter", KeyVariables: []string{"OPENROUTER_API_KEY"}, Model: "openai/gpt-4.1-mini"},
	{
		Name: "fireworks", Kind: "fireworks", KeyVariables: []string{"FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"},
		Model: "accounts/fireworks/models/llama-v3p3-70b-instruct", Families: []string{"accounts/"},
	},
	{Name: "perplexity", Kind: "perplexity", KeyVariables: []string{"PERPLEXITY_API_KEY", "PERPLEXITYAI_API_KEY"}, Model: "sonar", Families: []string{"sonar"}},
	{Name: "cerebras", Kind: "openai", BaseURL: "https://api.cerebras.ai/v1", KeyVariables: []string{"CEREBRAS_API_KEY"}, Model: "gpt-oss-120b"},
	{Name: "cohere", Kind: "cohere", KeyVariables: []string{"COHERE_API_KEY", "CO_API_KEY"}, Model: "rerank-v3.5"},
	{Name: "jina", Kind: "jina", KeyVariables: []string{"JINA_API_KEY"}, Model: "jina-reranker-v2-base-multilingual"},
	{Name: "voyage", Kind: "voyage", KeyVariables: []string{"VOYAGE_API_KEY"}, Model: "rerank-2.5"},
	{Name: "azure", Kind: "openai", KeyVariables: []string{"AZURE_API_KEY"}},
	{Name: "ollama", Kind: "ollama", URLVariable: "OLLAMA_HOST", URLSuffix: "/v1", Model: "llama3.2"},
	{Name: "vllm", Kind: "vllm", OwnedBy: "vllm", Model: "Qwen/Qwen3-8B"},
	{Name: "sglang", Kind: "sglang", OwnedBy: "sglang", Model: "Qwen/Qwen3-8B"},
	{Name: "llamacpp", Kind: "llamacpp", OwnedBy: "llamacpp", Model: "default"},
}

// VendorOf returns the vendor with a name, and false for an unknown name.
func VendorOf(name string) (Vendor, bool) {
	i := slices.IndexFunc(Vendors, func(v Vendor) bool { return v.Name == name })
	if i < 0 {
		return Vendor{}, false
	}
	return Vendors[i], true
}

// Local says whether operators run the servers of the vendor themselves, without a key.
func (v Vendor) Local() bool { return v.preset().Private }

// LocalURL is the address at which the server of a local vendor listens by default.
func (v Vendor) LocalURL() string { return v.preset().BaseURL }

// Chats says whether the vendor has models that chat. The models of others only rank or embed texts.
func (v Vendor) Chats() bool {
	endpoints := v.preset().Endpoints
	return endpoints == nil || slices.Contains(endpoints, penstock.EndpointChat)
}

// Embeds says whether the vendor's endpoints make embeddings.
func (v Vendor) Embeds() bool {
	if v.Kind == "anthropic" || v.Kind == "bedrock" {
		return false // the adapter of Bedrock calls Converse only
	}
	endpoints := v.preset().Endpoints
	return endpoints == nil || slices.Contains(endpoints, penstock.EndpointEmbeddings)
}

// Ranks says whether the vendor's endpoints rank documents.
func (v Vendor) Ranks() bool {
	if v.Name == "azure" || v.Kind == "anthropic" || v.Kind == "bedrock" || v.Kind == "gemini" {
		return false // their adapters have no endpoint for it
	}
	endpoints := v.preset().Endpoints
	return endpoints == nil || slices.Contains(endpoints, penstock.EndpointRank)
}

func (v Vendor) preset() Preset {
	p, _ := Of(v.Kind)
	return p
}
