package demo

import (
	"time"

	"penstock"
	"penstock/internal/config"
)

// Kept is how long the demo keeps finished work: longer than its past.
const Kept = 60 * 24 * time.Hour

// The targets. Three of them have a simulator of their own.
const (
	targetOpenAIMini  = "openai-gpt-4.1-mini"
	targetAzureMini   = "azure-gpt-4.1-mini"
	targetAnthropic   = "anthropic-sonnet-4-5"
	targetBedrock     = "bedrock-sonnet-4-5"
	targetMistral     = "mistral-small-eu"
	targetLlamaOwn    = "vllm-llama-3.3-70b" // sick: its breaker is open
	targetLlamaHosted = "together-llama-3.3-70b"
	targetEmbedding   = "openai-embedding-3-small"
	targetOpenAILarge = "openai-gpt-4.1"
	slowConcurrency   = 6
	embeddingSize     = 32
	cacheTTL          = 10 * time.Minute
	providerOpenAI    = "openai"
	providerAzure     = "azure"
	providerAnthropic = "anthropic"
	providerBedrock   = "bedrock"
	providerMistral   = "mistral"
	providerOwn       = "vllm"
	providerTogether  = "together"
	upstreamAnyKey    = "demo" // the formats of some vendors demand a key
)

// Describe completes the configuration of a development server with the upstreams, targets and models of the demo. Its tenants are in the
// database, as if operators had made them.
func Describe(file *config.File, at Addresses) {
	openAI := func(url string) config.ProviderConfig {
		return config.ProviderConfig{Kind: config.KindOpenAI, BaseURL: url + "/v1", APIKey: config.NewSecret(upstreamAnyKey)}
	}
	anthropic := openAI(at.Healthy)
	anthropic.Kind = config.KindAnthropic
	file.Providers = map[string]config.ProviderConfig{
		providerOpenAI: openAI(at.Healthy), providerAzure: openAI(at.Healthy), providerAnthropic: anthropic, providerBedrock: anthropic,
		providerMistral: openAI(at.Slow), providerOwn: openAI(at.Sick), providerTogether: openAI(at.Healthy),
	}
	file.Targets = targets()
	file.Models = map[string]config.ModelConfig{
		modelMini:      {Policy: penstock.PolicyWeighted, Targets: []string{targetOpenAIMini, targetAzureMini}, Weights: map[string]int{targetOpenAIMini: 3, targetAzureMini: 1}, Cache: config.CacheUse{TTL: cacheTTL}},
		modelSonnet:    {Targets: []string{targetAnthropic, targetBedrock}},
		modelSmall:     {Targets: []string{targetMistral}},
		modelLlama:     {Targets: []string{targetLlamaOwn, targetLlamaHosted}, OnIncapable: penstock.IncapableSkip},
		modelEmbedding: {Targets: []string{targetEmbedding}},
		modelPaused:    {Targets: []string{targetOpenAILarge}},
	}
	file.Retention = config.Retention{Results: Kept, Events: Kept, Files: Kept}
	file.Webhooks.Allow = []string{"127.0.0.0/8", "::1"} // the receiver of the demo
	file.MediaHosts = []string{penstock.MediaPublic}
}

// targets have the list prices of their vendors' models.
func targets() map[string]config.TargetConfig {
	mini := config.Price{Input: "0.40", CachedInput: "0.10", Output: "1.60", BatchDiscount: 50}
	sonnet := config.Price{Input: "3", CachedInput: "0.30", CacheWrite: "3.75", Output: "15", BatchDiscount: 50}
	return map[string]config.TargetConfig{
		targetOpenAIMini:  {Provider: providerOpenAI, UpstreamModel: "gpt-4.1-mini", Region: "us-east", Price: mini, MaxOutputTokens: 2048, Limits: config.TargetLimits{Concurrency: 64, RequestsPerMinute: 3_000}},
		targetAzureMini:   {Provider: providerAzure, UpstreamModel: "gpt-4.1-mini", Region: "eu-west", Price: mini, MaxOutputTokens: 2048, Limits: config.TargetLimits{Concurrency: 32}},
		targetAnthropic:   {Provider: providerAnthropic, UpstreamModel: "claude-sonnet-4-5", Region: "us-east", Price: sonnet, MaxOutputTokens: 4096, Limits: config.TargetLimits{Concurrency: 24}},
		targetBedrock:     {Provider: providerBedrock, UpstreamModel: "claude-sonnet-4-5", Region: "eu-central", Price: sonnet, MaxOutputTokens: 4096, Limits: config.TargetLimits{Concurrency: 24}},
		targetMistral:     {Provider: providerMistral, UpstreamModel: "mistral-small-latest", Region: "eu-west", Price: config.Price{Input: "0.10", Output: "0.30"}, MaxOutputTokens: 1024, Limits: config.TargetLimits{Concurrency: slowConcurrency}},
		targetLlamaOwn:    {Provider: providerOwn, UpstreamModel: "llama-3.3-70b", Region: "eu-central", Price: config.Price{Input: "0.12", Output: "0.30"}, MaxOutputTokens: 1024, Limits: config.TargetLimits{Concurrency: 16}},
		targetLlamaHosted: {Provider: providerTogether, UpstreamModel: "llama-3.3-70b", Region: "us-east", Price: config.Price{Input: "0.88", Output: "0.88"}, MaxOutputTokens: 1024},
		targetEmbedding:   {Provider: providerOpenAI, UpstreamModel: "text-embedding-3-small", Region: "us-east", Price: config.Price{Input: "0.02", Output: "0"}},
		targetOpenAILarge: {Provider: providerOpenAI, UpstreamModel: "gpt-4.1", Region: "us-east", Price: config.Price{Input: "2", CachedInput: "0.50", Output: "8", BatchDiscount: 50}, MaxOutputTokens: 4096},
	}
}
