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

// Batching are the bounds of combined calls for embeddings. Calls of one tenant for one model that differ only in their
// inputs become one upstream call. A model uses the smallest bounds of its targets.
type Batching struct {
	// MaxInputs is the largest number of inputs of one upstream call. A call with that many inputs is sent alone. 1
	// turns batching off. Zero: the default, 64. From 1 to 2048.
	MaxInputs int `yaml:"max_inputs"`

	// MaxTokens is the largest estimated number of tokens of the inputs of one call. Zero: the default, 16384.
	// From 1 to 10000000.
	MaxTokens int64 `yaml:"max_tokens"`

	// Wait is how long a call waits for others while a call of its kind is in flight. A call that
	// finds no other in flight never waits. Zero: the default, 5ms. Up to 1s; with "0s", only calls that wait for capacity are combined.
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
