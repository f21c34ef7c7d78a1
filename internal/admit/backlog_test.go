package admit

import (
	"errors"
	"testing"
	"time"

	"penstock"
	"penstock/internal/backlog"
)

// several is a job of n items.
func several(n int) JobOrder {
	o := order()
	for range n - 1 {
		o.Inferences = append(o.Inferences, o.Inferences[0])
	}
	return o
}

// A full queue refuses before anything is stored, and names the bound.
func TestJobKeepsTheBoundsOfTheQueue(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		bounds bounds
		want   penstock.Code
	}{
		"the tenant's":        {bounds{tenant: backlog.Bounds{Items: 5}}, penstock.CodeQueueFull},
		"the tenant's bytes":  {bounds{tenant: backlog.Bounds{Bytes: 80}}, penstock.CodeQueueFull},
		"the whole queue's":   {bounds{all: backlog.Bounds{Items: 5}}, penstock.CodeOverloaded},
		"less than one job's": {bounds{all: backlog.Bounds{Items: 2}}, penstock.CodeTooLarge},
	} {
		r := newRig(t)
		r.admit(several(3))
		*r.bounds = tt.bounds
		_, err := r.Job(t.Context(), r.caller, several(3))
		if penstock.ErrorCode(err) != tt.want || len(r.store.got) != 1 {
			t.Errorf("%s: got %v and %d submits, want %s and the one before", name, err, len(r.store.got), tt.want)
		}
		if e := penstock.AsError(err); e.Code != penstock.CodeTooLarge && (e.RetryAfter < time.Second || e.RetryAfter > 5*time.Minute) {
			t.Errorf("%s: retry after %v", name, e.RetryAfter)
		}
	}
}

// A job that was accepted is answered again under its idempotency key, even if the queue is full by now.
func TestJobReplaysWhileTheQueueIsFull(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.admit(several(3))
	*r.bounds = bounds{tenant: backlog.Bounds{Items: 3}}
	r.store.keyed = map[string]penstock.Job{"once/hash": {ID: "01"}}
	o := several(1)
	o.IdempotencyKey, o.BodyHash = "once", []byte("hash")
	receipt, err := r.Job(t.Context(), r.caller, o)
	if err != nil || !receipt.Replayed || receipt.Job.ID != "01" {
		t.Errorf("got %+v, %v; want the job from before", receipt, err)
	}
	o.IdempotencyKey = "another"
	if _, err := r.Job(t.Context(), r.caller, o); penstock.ErrorCode(err) != penstock.CodeQueueFull {
		t.Errorf("an unused key: got %v, want queue_full", err)
	}
}

// Only a job that the store accepted takes a place in the queue.
func TestJobThatIsNotStoredTakesNoPlace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	*r.bounds = bounds{tenant: backlog.Bounds{Items: 3}}
	r.store.err = errors.New("disk failure")
	if _, err := r.Job(t.Context(), r.caller, several(3)); err == nil {
		t.Fatal("the job was accepted")
	}
	r.store.err, r.store.replayed = nil, true
	r.admit(several(3))
	r.store.replayed = false
	first := r.admit(several(2)).Job
	second := r.admit(several(1)).Job
	if first.QueueMark != 0 || second.QueueMark != first.QueueTokens || second.QueueTokens != first.QueueTokens/2 {
		t.Errorf("marks %d and %d behind %d tokens", first.QueueMark, second.QueueMark, first.QueueTokens)
	}
	if !second.PromisedAt.IsZero() {
		t.Errorf("the finish is promised at %v, though no item ever ran", second.PromisedAt)
	}
}

// A retry takes a place in the queue like any other job.
func TestRetryKeepsTheBoundsOfTheQueue(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	g := newDeadLetters(r, 3)
	*r.bounds = bounds{tenant: backlog.Bounds{Items: 5}}
	r.admit(several(3))
	retry := RetryOrder{Job: g.jobs[0].Job.ID, Terms: terms()}
	if _, err := r.RetryJob(t.Context(), r.caller, retry); penstock.ErrorCode(err) != penstock.CodeQueueFull || len(g.got) > 0 {
		t.Errorf("got %v and %d retries, want queue_full and none", err, len(g.got))
	}
	*r.bounds = bounds{tenant: backlog.Bounds{Items: 6}}
	g.taken = 1 // another caller is first: the items are selected again, but take one place
	if _, err := r.RetryJob(t.Context(), r.caller, retry); err != nil {
		t.Errorf("the queue has space for it: %v", err)
	}
}
