package anthropic

import (
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/provider/wire"
)

// tally keeps the counts of one message. Each is a total so far, so that a later one replaces it.
type tally struct {
	input, cacheRead, cacheWrite, output int64

	hasInput bool
	last     bool // the counts that end a message came
	invalid  bool // some made no sense
}

// add reads the counts of an event, and reports whether that of the output was among them. Those that
// are left out stay what they were.
func (t *tally) add(told jsontext.Value) (output bool) {
	if !wire.IsSet(told) {
		return false
	}
	var u struct {
		Input      *int64 `json:"input_tokens"`
		CacheRead  *int64 `json:"cache_read_input_tokens"`
		CacheWrite *int64 `json:"cache_creation_input_tokens"`
		Output     *int64 `json:"output_tokens"`
	}
	if wire.Decode(told, &u) != nil {
		t.invalid = true
		return false
	}
	t.hasInput = t.hasInput || u.Input != nil
	for _, count := range []struct {
		told *int64
		kept *int64
	}{{u.Input, &t.input}, {u.CacheRead, &t.cacheRead}, {u.CacheWrite, &t.cacheWrite}, {u.Output, &t.output}} {
		if count.told == nil {
			continue
		}
		if n := *count.told; n < 0 || n > maxTokens {
			t.invalid = true
		} else {
			*count.kept = n
		}
	}
	return u.Output != nil
}

// maxTokens bounds a count that is believed, so that sums cannot overflow.
const maxTokens = 1 << 40

// usage puts the counts together, and says whether they are all there is. Counts that make no sense
// are as good as not told: whoever charges for them must then assume the worst, and not what is
// cheapest.
func (t *tally) usage() (penstock.Usage, bool) {
	if t.invalid || !t.hasInput {
		return penstock.Usage{}, false
	}
	return penstock.Usage{
		InputTokens:       t.input + t.cacheRead + t.cacheWrite,
		CachedInputTokens: t.cacheRead,
		CacheWriteTokens:  t.cacheWrite,
		OutputTokens:      t.output,
	}, t.last
}
