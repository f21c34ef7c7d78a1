package anthropic

import (
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/provider/wire"
)

// tally keeps the counts of one message. Each is a total so far, so that a later one replaces it, unless it is lower: what was used is not given back.
type tally struct {
	input, cacheRead, cacheWrite, output int64
	write5m, write1h                     int64 // parts of cacheWrite, by how long it is kept

	hasInput bool
	hasSplit bool // it was reported how long what was written is kept
	last     bool // the counts that end a message came
	invalid  bool // some made no sense
}

// add reads the counts of an event, and reports whether that of the output was among them. Those that
// are left out stay what they were.
func (t *tally) add(reported jsontext.Value) (output bool) {
	if !wire.IsSet(reported) {
		return false
	}
	var u struct {
		Input      *int64 `json:"input_tokens"`
		CacheRead  *int64 `json:"cache_read_input_tokens"`
		CacheWrite *int64 `json:"cache_creation_input_tokens"`
		Output     *int64 `json:"output_tokens"`
		Writes     struct {
			For5m *int64 `json:"ephemeral_5m_input_tokens"`
			For1h *int64 `json:"ephemeral_1h_input_tokens"`
		} `json:"cache_creation"`
	}
	if wire.Decode(reported, &u) != nil {
		t.invalid = true
		return false
	}
	t.hasInput = t.hasInput || u.Input != nil
	t.hasSplit = t.hasSplit || u.Writes.For1h != nil
	for _, count := range []struct {
		reported *int64
		kept     *int64
	}{
		{u.Input, &t.input}, {u.CacheRead, &t.cacheRead}, {u.CacheWrite, &t.cacheWrite}, {u.Output, &t.output},
		{u.Writes.For5m, &t.write5m}, {u.Writes.For1h, &t.write1h},
	} {
		if count.reported == nil {
			continue
		}
		if n := *count.reported; n < 0 {
			t.invalid = true
		} else {
			*count.kept = max(*count.kept, min(n, penstock.MaxTokens))
		}
	}
	return u.Output != nil
}

// usage puts the counts together, and says whether they are all there is. Counts that make no sense
// are as good as not reported: code that charges for them must then assume the worst, and not what is
// cheapest.
func (t *tally) usage() (penstock.Usage, wire.Reported) {
	switch {
	case t.invalid:
		return penstock.Usage{}, wire.ReportedInvalid
	case !t.hasInput:
		return penstock.Usage{}, wire.ReportedPart
	}
	reported := wire.ReportedPart
	if t.last {
		reported = wire.ReportedAll
	}
	written, hour := t.writes()
	return penstock.Usage{
		InputTokens:        min(t.input+t.cacheRead+written, penstock.MaxTokens),
		CachedInputTokens:  t.cacheRead,
		CacheWriteTokens:   written,
		CacheWrite1hTokens: hour,
		OutputTokens:       t.output,
	}, reported
}

// writes are the tokens that were written to the cache, and those of them that are kept for an hour. With tools of the
// server's own the total grows to the end of a stream, while the parts are reported at its start only. What was written
// since stands behind the rest of the prompt, and what is kept for five minutes stands behind what is kept for an hour: so
// it is kept for five minutes if anything is, and otherwise it is unknown, and counts as the more expensive one.
func (t *tally) writes() (all, hour int64) {
	all = max(t.cacheWrite, t.write5m+t.write1h)
	if t.hasSplit && t.write5m == 0 {
		return all, all
	}
	return all, t.write1h
}
