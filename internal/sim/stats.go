package sim

import (
	"maps"
	"sync"
)

// MaxPrompts bounds the prompts whose executions are counted; further ones show only in
// PromptStats.Untracked.
const MaxPrompts = 1_000_000

// Stats counts what a server did with the /v1/ endpoints.
type Stats struct {
	Requests    int64 `json:"requests"`
	InFlight    int64 `json:"in_flight"` // running or waiting for a slot
	MaxInFlight int64 `json:"max_in_flight"`
	Streams     int64 `json:"streams"`   // streams begun
	Cancelled   int64 `json:"cancelled"` // requests whose client left before the end
	// Tokens of the answers given: input once an answer begins, output as far as it was sent.
	InputTokens  int64            `json:"input_tokens"`
	OutputTokens int64            `json:"output_tokens"`
	ByStatus     map[int]int64    `json:"by_status"` // a request that got no answer, such as a hanging one, is in none
	ByEndpoint   map[string]int64 `json:"by_endpoint"`
	Faults       map[Fault]int64  `json:"faults"`
	Prompts      PromptStats      `json:"prompts"`
}

// PromptStats sums up the executions of all prompts.
type PromptStats struct {
	Seen      int64 `json:"seen"`      // distinct prompts
	Completed int64 `json:"completed"` // of these, answered in full at least once
	Repeated  int64 `json:"repeated"`  // of these, answered in full more than once
	Untracked int64 `json:"untracked"` // requests not counted here because MaxPrompts were already known
}

// Executions is how often one prompt ran.
type Executions struct {
	Attempts  uint32 `json:"attempts"`  // got past validation, limits and the queue, whatever became of it then
	Completed uint32 `json:"completed"` // answered in full and well formed
}

// outcome is what became of a request.
type outcome struct {
	status       int // 0: none was sent
	fault        Fault
	inputTokens  int
	outputTokens int
	streamed     bool
	cancelled    bool
}

type tally struct {
	mu    sync.Mutex
	stats Stats
}

func (t *tally) begin(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.Requests++
	t.stats.ByEndpoint[path]++
	t.stats.InFlight++
	t.stats.MaxInFlight = max(t.stats.MaxInFlight, t.stats.InFlight)
}

func (t *tally) end(o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.InFlight--
	t.stats.InputTokens += int64(o.inputTokens)
	t.stats.OutputTokens += int64(o.outputTokens)
	if o.status != 0 {
		t.stats.ByStatus[o.status]++
	}
	if o.fault != "" {
		t.stats.Faults[o.fault]++
	}
	if o.streamed {
		t.stats.Streams++
	}
	if o.cancelled {
		t.stats.Cancelled++
	}
}

func (t *tally) snapshot() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	stats := t.stats
	stats.ByStatus = maps.Clone(stats.ByStatus)
	stats.ByEndpoint = maps.Clone(stats.ByEndpoint)
	stats.Faults = maps.Clone(stats.Faults)
	return stats
}

func (t *tally) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats = Stats{
		InFlight:    t.stats.InFlight,
		MaxInFlight: t.stats.InFlight,
		ByStatus:    make(map[int]int64),
		ByEndpoint:  make(map[string]int64),
		Faults:      make(map[Fault]int64),
	}
}

// promptTable counts executions by prompt.
type promptTable struct {
	mu     sync.Mutex
	counts map[promptKey]Executions
	totals PromptStats
}

func (t *promptTable) attempted(key promptKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, known := t.counts[key]
	if !known && len(t.counts) >= MaxPrompts {
		t.totals.Untracked++
		return
	}
	n.Attempts++
	t.counts[key] = n
}

func (t *promptTable) completed(key promptKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, known := t.counts[key]
	if !known { // untracked, or forgotten by a reset meanwhile
		return
	}
	n.Completed++
	t.counts[key] = n
	switch n.Completed {
	case 1:
		t.totals.Completed++
	case 2:
		t.totals.Repeated++
	}
}

func (t *promptTable) executions(key promptKey) Executions {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts[key]
}

func (t *promptTable) stats() PromptStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	totals := t.totals
	totals.Seen = int64(len(t.counts))
	return totals
}

func (t *promptTable) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts, t.totals = make(map[promptKey]Executions), PromptStats{}
}
