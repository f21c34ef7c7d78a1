package admit

import (
	"fmt"
	"testing"

	"penstock"
	"penstock/internal/store"
)

// TestNoRoom holds that without room new jobs are refused before anything is written, that an order which
// could never be accepted hears that first, and that who asks again under a key still finds the job.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.room.refusal = penstock.Errorf(penstock.CodeOverloaded, "The disk is nearly full.")
	known := penstock.Job{ID: "01JQ0000000000000000000000"}
	r.store.keyed = map[string]penstock.Job{"once/hash": known}

	if _, err := r.Job(t.Context(), r.caller, order()); penstock.ErrorCode(err) != penstock.CodeOverloaded {
		t.Errorf("a new job: %v, want overloaded", err)
	}
	wrong := order()
	wrong.Model = "nobody"
	if _, err := r.Job(t.Context(), r.caller, wrong); penstock.ErrorCode(err) != penstock.CodeModelNotFound {
		t.Errorf("a job for no model: %v, want model_not_found", err)
	}
	again := order()
	again.IdempotencyKey, again.BodyHash = "once", []byte("hash")
	receipt, err := r.Job(t.Context(), r.caller, again)
	if err != nil || !receipt.Replayed || receipt.Job.ID != known.ID {
		t.Errorf("a job that is there: %+v, %v, want a replay", receipt, err)
	}
	if len(r.store.got) != 0 {
		t.Errorf("%d submits reached the store", len(r.store.got))
	}
	r.room.refusal = nil
	r.admit(order())
}

// TestFullDiskClosesTheDoor holds that a submit that finds the disk full tells so, and no other error does.
func TestFullDiskClosesTheDoor(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, tt := range []struct {
		err  error
		want int
	}{
		{penstock.Internal(fmt.Errorf("something else")), 0},
		{&penstock.Error{Code: penstock.CodeOverloaded, Err: fmt.Errorf("committing: %w", store.ErrFull)}, 1},
	} {
		r.store.err = tt.err
		if _, err := r.Job(t.Context(), r.caller, order()); err == nil {
			t.Errorf("%v: the job was accepted", tt.err)
		}
		if r.room.full != tt.want {
			t.Errorf("%v: the door heard of it %d times, want %d", tt.err, r.room.full, tt.want)
		}
	}
}

// TestRetriesNeedRoom holds that a retry, which makes a new job, is refused and told of like any other; what
// it would do can still be asked.
func TestRetriesNeedRoom(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	g := newGraves(r, 2)
	job := g.jobs[0].Job.ID
	r.room.refusal = penstock.Errorf(penstock.CodeOverloaded, "The disk is nearly full.")
	if _, err := r.RetryJob(t.Context(), r.caller, RetryOrder{Job: job, Terms: terms()}); penstock.ErrorCode(err) != penstock.CodeOverloaded {
		t.Errorf("a retry without room: %v, want overloaded", err)
	}
	if report, err := r.RetryDeadLetters(t.Context(), r.caller, DeadLetterOrder{DryRun: true}, terms()); err != nil || report.Items != 2 {
		t.Errorf("a dry run without room: %+v, %v", report, err)
	}
	r.room.refusal = nil
	g.errs[job] = &penstock.Error{Code: penstock.CodeOverloaded, Err: store.ErrFull}
	if _, err := r.RetryJob(t.Context(), r.caller, RetryOrder{Job: job, Terms: terms()}); err == nil || r.room.full != 1 {
		t.Errorf("a retry on a full disk: %v, told %d times", err, r.room.full)
	}
	if len(g.got) != 0 {
		t.Errorf("%d retries were written", len(g.got))
	}
}
