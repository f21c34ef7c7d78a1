package admit

import (
	"fmt"
	"testing"

	"penstock"
)

// TestFullDiskRefusesJobs checks that new jobs are refused before anything is written, that an invalid order gets its
// own error first, and that a repeated call with an idempotency key still finds its job.
func TestFullDiskRefusesJobs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.disk.refusal = penstock.Errorf(penstock.CodeOverloaded, "The disk is nearly full.")
	known := penstock.Job{ID: "01JQ0000000000000000000000"}
	r.store.keyed = map[string]penstock.Job{"once/hash": known}

	if _, err := r.Job(t.Context(), r.caller, order()); penstock.ErrorCode(err) != penstock.CodeOverloaded {
		t.Errorf("a new job: %v, want overloaded", err)
	}
	wrong := order()
	wrong.Model = "unknown"
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
	r.disk.refusal = nil
	r.admit(order())
}

// TestFullDiskIsReported checks that a submit that fails because the disk is full reports it, and that no other error does.
func TestFullDiskIsReported(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, tt := range []struct {
		err  error
		want int
	}{
		{penstock.Internal(fmt.Errorf("something else")), 0},
		{&penstock.Error{Code: penstock.CodeOverloaded, Err: fmt.Errorf("committing: %w", penstock.ErrDiskFull)}, 1},
	} {
		r.store.err = tt.err
		if _, err := r.Job(t.Context(), r.caller, order()); err == nil {
			t.Errorf("%v: the job was accepted", tt.err)
		}
		if r.disk.full != tt.want {
			t.Errorf("%v: %d reports of a full disk, want %d", tt.err, r.disk.full, tt.want)
		}
	}
}

// TestRetriesNeedDiskSpace checks that a retry, which makes a new job, is refused and reports a full disk like any other
// submit. A dry run still works.
func TestRetriesNeedDiskSpace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	g := newDeadLetters(r, 2)
	job := g.jobs[0].Job.ID
	r.disk.refusal = penstock.Errorf(penstock.CodeOverloaded, "The disk is nearly full.")
	if _, err := r.RetryJob(t.Context(), r.caller, RetryOrder{Job: job, Terms: terms()}); penstock.ErrorCode(err) != penstock.CodeOverloaded {
		t.Errorf("a retry without disk space: %v, want overloaded", err)
	}
	if report, err := r.RetryDeadLetters(t.Context(), r.caller, DeadLetterOrder{DryRun: true}, terms()); err != nil || report.Items != 2 {
		t.Errorf("a dry run without disk space: %+v, %v", report, err)
	}
	r.disk.refusal = nil
	g.errs[job] = &penstock.Error{Code: penstock.CodeOverloaded, Err: penstock.ErrDiskFull}
	if _, err := r.RetryJob(t.Context(), r.caller, RetryOrder{Job: job, Terms: terms()}); err == nil || r.disk.full != 1 {
		t.Errorf("a retry on a full disk: %v, reported %d times", err, r.disk.full)
	}
	if len(g.got) != 0 {
		t.Errorf("%d retries were written", len(g.got))
	}
}
