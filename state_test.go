package penstock

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// allowedMoves is the state machine as docs and callers know it, written down a second time: a pair
// that is not here must be refused.
var allowedMoves = []struct {
	from Status
	by   Transition
	to   Status
}{
	{"queued", "claim", "running"},
	{"queued", "cancel", "cancelled"},
	{"queued", "expire", "expired"},
	{"queued", "refuse", "failed"},
	{"running", "succeed", "succeeded"},
	{"running", "fail", "failed"},
	{"running", "retry", "queued"},
	{"running", "rescue", "queued"},
	{"running", "cancel", "cancelled"},
	{"running", "expire", "expired"},
}

var everyStatus = []Status{"queued", "running", "succeeded", "failed", "cancelled", "expired"}

var everyTransition = []Transition{"claim", "succeed", "fail", "retry", "rescue", "cancel", "expire", "refuse"}

func TestItemStateMachine(t *testing.T) {
	t.Parallel()
	for _, from := range everyStatus {
		for _, by := range everyTransition {
			want, allowed := from, false
			for _, m := range allowedMoves {
				if m.from == from && m.by == by {
					want, allowed = m.to, true
				}
			}
			got, err := from.Next(by)
			if got != want || (err == nil) != allowed {
				t.Errorf("%s %s: got %s, %v; want %s, allowed %v", from, by, got, err, want, allowed)
			}
		}
	}
}

func TestListsOfStatesAreComplete(t *testing.T) {
	t.Parallel()
	if !slices.Equal(Statuses, everyStatus) {
		t.Errorf("Statuses is %v, want %v", Statuses, everyStatus)
	}
	if !slices.Equal(Transitions, everyTransition) {
		t.Errorf("Transitions is %v, want %v", Transitions, everyTransition)
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	for status, want := range map[Status]bool{
		"queued": false, "running": false, "succeeded": true, "failed": true, "cancelled": true, "expired": true,
	} {
		if got := status.Terminal(); got != want {
			t.Errorf("%s: terminal is %v, want %v", status, got, want)
		}
	}
}

func TestUnknownStatusAndTransitionAreRefused(t *testing.T) {
	t.Parallel()
	if got, err := Status("paused").Next(TransitionClaim); err == nil {
		t.Errorf("an unknown status went on to %s", got)
	}
	if got, err := StatusQueued.Next("pause"); err == nil {
		t.Errorf("an unknown transition led to %s", got)
	}
}

// Whatever happens to an item, in whatever order, its first terminal status is its last.
func TestTerminalIsFinal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		status := StatusQueued
		var ended Status
		for _, by := range rapid.SliceOfN(rapid.SampledFrom(everyTransition), 1, 40).Draw(t, "transitions") {
			status, _ = status.Next(by)
			if ended != "" && status != ended {
				t.Fatalf("%s became %s by %s", ended, status, by)
			}
			if status.Terminal() {
				ended = status
			}
		}
	})
}

func TestItemEventsAreNamedAfterTheirStatus(t *testing.T) {
	t.Parallel()
	for status, want := range map[Status]EventType{
		"succeeded": EventItemSucceeded, "failed": EventItemFailed, "cancelled": EventItemCancelled, "expired": EventItemExpired,
	} {
		if got := ItemEvent(status); got != want {
			t.Errorf("%s: event %s, want %s", status, got, want)
		}
	}
}

func TestJobStatusAndOutcome(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		counts  Counts
		started bool
		status  Status
		outcome Outcome
	}{
		{"accepted", Counts{Total: 3, Queued: 3}, false, "queued", ""},
		{"one claimed", Counts{Total: 3, Queued: 2, Running: 1}, true, "running", ""},
		{"claimed and given back", Counts{Total: 3, Queued: 3}, true, "running", ""},
		{"last one runs", Counts{Total: 3, Running: 1, Succeeded: 2}, true, "running", ""},
		{"some cancelled before a start", Counts{Total: 3, Queued: 1, Cancelled: 2}, false, "queued", ""},
		{"failures while running", Counts{Total: 3, Running: 1, Failed: 2}, true, "running", ""},

		{"all well", Counts{Total: 3, Succeeded: 3}, true, "succeeded", "all_succeeded"},
		{"one of three well", Counts{Total: 3, Succeeded: 1, Failed: 2}, true, "succeeded", "mixed"},
		{"the rest expired", Counts{Total: 3, Succeeded: 1, Expired: 2}, true, "succeeded", "mixed"},
		{"all failed", Counts{Total: 3, Failed: 3}, true, "failed", "none_succeeded"},
		{"all expired unstarted", Counts{Total: 3, Expired: 3}, false, "failed", "none_succeeded"},
		{"failed and expired", Counts{Total: 3, Failed: 1, Expired: 2}, true, "failed", "none_succeeded"},
		{"cancelled before a start", Counts{Total: 3, Cancelled: 3}, false, "cancelled", "none_succeeded"},
		{"cancel stopped one", Counts{Total: 3, Succeeded: 2, Cancelled: 1}, true, "cancelled", "mixed"},
		{"cancel stopped one of many ends", Counts{Total: 4, Succeeded: 1, Failed: 1, Expired: 1, Cancelled: 1}, true, "cancelled", "mixed"},
		{"cancel stopped one, none well", Counts{Total: 2, Failed: 1, Cancelled: 1}, true, "cancelled", "none_succeeded"},
	} {
		if got := jobStatus(tt.counts, tt.started); got != tt.status {
			t.Errorf("%s: status %s, want %s", tt.name, got, tt.status)
		}
		if got := tt.counts.Outcome(); got != tt.outcome {
			t.Errorf("%s: outcome %q, want %q", tt.name, got, tt.outcome)
		}
	}
}

// A job is driven through random histories of its items: counts add up at every moment, a job has an
// outcome exactly when its status is terminal, and it is never expired.
func TestCountsAreTrueAtEveryMoment(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		items := make([]Status, rapid.IntRange(1, 6).Draw(t, "items"))
		for i := range items {
			items[i] = StatusQueued
		}
		counts, started := Counts{Total: len(items), Queued: len(items)}, false
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			i := rapid.IntRange(0, len(items)-1).Draw(t, "item")
			next, err := items[i].Next(rapid.SampledFrom(everyTransition).Draw(t, "transition"))
			if err != nil {
				continue
			}
			counts.Move(items[i], next)
			items[i] = next
			started = started || next == StatusRunning
			checkCounts(t, counts, items, started)
		}
	})
}

func checkCounts(t *rapid.T, c Counts, items []Status, started bool) {
	sum := 0
	for _, s := range everyStatus {
		want := 0
		for _, item := range items {
			if item == s {
				want++
			}
		}
		if got := *c.Of(s); got != want {
			t.Fatalf("%s counts %d, want %d", s, got, want)
		}
		sum += want
	}
	if sum != c.Total {
		t.Fatalf("%+v does not add up to its total", c)
	}
	status := jobStatus(c, started)
	if status == StatusExpired {
		t.Fatal("a job is expired; only items are")
	}
	if done := c.Open() == 0; done != status.Terminal() || done != (c.Outcome() != "") {
		t.Fatalf("%+v: open %d, status %s, outcome %q disagree", c, c.Open(), status, c.Outcome())
	}
}

func TestCountOfUnknownStatusPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("the count of a status that does not exist was found")
		}
	}()
	new(Counts).Of("paused")
}

// jobStatus is the status of a job with these counts.
func jobStatus(c Counts, started bool) Status {
	j := Job{Counts: c}
	if started {
		j.StartedAt = testMoment
	}
	return j.Status()
}
