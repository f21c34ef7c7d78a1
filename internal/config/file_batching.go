package config

import (
	"time"

	"penstock"
)

// The defaults and bounds of batching.
const (
	DefaultBatchInputs = 64
	DefaultBatchTokens = 16384
	DefaultBatchWait   = 5 * time.Millisecond
	maxBatchInputs     = 2048 // what OpenAI takes
	maxBatchTokens     = 10_000_000
	maxBatchWait       = time.Second
)

// Batching puts calls for embeddings together: those of one tenant for one model that differ in their inputs alone
// become one call upstream. A model is batched by the tightest of what its targets say.
type Batching struct {
	// MaxInputs is the largest number of inputs of one upstream call. A call that has as many by itself is sent as it
	// is. 1 turns batching off. Zero: the default, 64. From 1 to 2048.
	MaxInputs int `yaml:"max_inputs"`

	// MaxTokens is the largest estimated number of tokens of the inputs of one call. Zero: the default, 16384.
	// From 1 to 10000000.
	MaxTokens int64 `yaml:"max_tokens"`

	// Wait is how long a call waits for others while one of its kind is under way. Where none is, it never waits. Zero:
	// the default, 5ms. Up to 1s; "0s" gathers only calls that wait for capacity anyway.
	Wait time.Duration `yaml:"wait"`
}

func (b *Batching) fillDefaults(written places, at path) {
	fill(written, at+".max_inputs", &b.MaxInputs, DefaultBatchInputs)
	fill(written, at+".max_tokens", &b.MaxTokens, DefaultBatchTokens)
	fill(written, at+".wait", &b.Wait, DefaultBatchWait)
}

func (c *checker) batching(at path, b Batching) {
	within(c, at+".max_inputs", b.MaxInputs, bounds[int]{1, maxBatchInputs})
	within(c, at+".max_tokens", b.MaxTokens, bounds[int64]{1, maxBatchTokens})
	within(c, at+".wait", b.Wait, bounds[time.Duration]{0, maxBatchWait})
}

func (b Batching) batching() penstock.Batching {
	return penstock.Batching{MaxInputs: b.MaxInputs, MaxTokens: b.MaxTokens, Wait: b.Wait}
}
