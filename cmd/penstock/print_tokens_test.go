package main

import (
	"testing"

	"penstock"
	"penstock/client"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	for want, u := range map[string]penstock.Usage{
		"0 in, 0 out":                                              {},
		"12 in (3 cached), 9 out":                                  {InputTokens: 12, CachedInputTokens: 3, OutputTokens: 9},
		"12 in, 9 out (2 reasoning)":                               {InputTokens: 12, OutputTokens: 9, ReasoningTokens: 2},
		"7 in (5 audio), 4 out (3 audio)":                          {InputTokens: 7, AudioInputTokens: 5, OutputTokens: 4, AudioOutputTokens: 3},
		"12 in (6 written to cache, 4 of them for an hour), 9 out": {InputTokens: 12, CacheWriteTokens: 6, CacheWrite1hTokens: 4, OutputTokens: 9},
	} {
		if got := tokens(client.Usage{Usage: u}); got != want {
			t.Errorf("%+v is shown as %q, want %q", u, got, want)
		}
	}
}
