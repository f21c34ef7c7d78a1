package openai

import (
	"fmt"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/provider/wire"
)

// Counts that make no sense make all of a usage unknown; counts that are too large stop at the most that is believed.
func TestUsageThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, names := range [][2]string{{"prompt_tokens", "completion_tokens"}, {"input_tokens", "output_tokens"}} {
		for count, want := range map[string]int64{
			"0": 0, "7": 7, "null": 0, "4294967296": penstock.MaxTokens, "9223372036854775807": penstock.MaxTokens,
			"18446744073709551616": penstock.MaxTokens, "1" + strings.Repeat("0", 300): penstock.MaxTokens,
			"-1": -1, "-9223372036854775808": -1, "-99999999999999999999": -1, "1.5": -1, "12.0": -1, "1e3": -1, `"12"`: -1, "{}": -1, "[7]": -1, "true": -1,
		} {
			reported := fmt.Sprintf(`{%q:3,%q:%s,"%s_details":{"cached_tokens":%s}}`, names[0], names[1], count, names[0], count)
			got, how := readUsage([]byte(reported))
			if want >= 0 && (how != wire.ReportedAll || got != penstock.Usage{InputTokens: 3, OutputTokens: want, CachedInputTokens: want}) ||
				want < 0 && (how != wire.ReportedInvalid || got != penstock.Usage{}) {
				t.Errorf("%s: %+v, %v", reported, got, how)
			}
		}
	}
}

// Usage that is left out is not reported; usage of another shape is invalid.
func TestUsageToldOrNot(t *testing.T) {
	t.Parallel()
	for reported, want := range map[string]wire.Reported{
		``: wire.ReportedPart, `null`: wire.ReportedPart, `{}`: wire.ReportedPart, `{"total_tokens":7}`: wire.ReportedPart, `{"prompt_tokens":null,"completion_tokens":2}`: wire.ReportedPart,
		`{"prompt_tokens":1}`: wire.ReportedAll, `"many"`: wire.ReportedInvalid, `7`: wire.ReportedInvalid, `[]`: wire.ReportedInvalid, `{"prompt_tokens":null,"completion_tokens":-2}`: wire.ReportedInvalid,
	} {
		if _, how := readUsage([]byte(reported)); how != want {
			t.Errorf("%s: %v, want %v", reported, how, want)
		}
	}
	var r completionReader
	for _, reported := range []string{`{"prompt_tokens":"3"}`, `null`} {
		r.count([]byte(reported))
	}
	if got, how := r.Usage(); how != wire.ReportedInvalid || got != (penstock.Usage{}) {
		t.Errorf("%+v, %v", got, how)
	}
}

// A stream that reports its usage repeatedly is charged the most of each count, in whatever order they come.
func TestUsageNeverDecreases(t *testing.T) {
	t.Parallel()
	var r completionReader
	for _, reported := range []string{`{"prompt_tokens":12,"completion_tokens":1}`, `{"prompt_tokens":12,"completion_tokens":40}`, `{"prompt_tokens":0,"completion_tokens":2}`, `{"prompt_tokens":-5}`} {
		r.count([]byte(reported))
	}
	if got, how := r.Usage(); how != wire.ReportedAll || got != (penstock.Usage{InputTokens: 12, OutputTokens: 40}) {
		t.Errorf("%+v, %v", got, how)
	}
}
