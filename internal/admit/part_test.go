package admit

import (
	"testing"

	"penstock"
	"penstock/internal/backlog"
	"penstock/internal/store"
)

// lines is an order over a file of n lines.
func lines(n int, model string) JobOrder {
	o := order()
	o.Model, o.Inferences = model, nil
	o.Lines = &Lines{File: store.File{ID: "file", Lines: n, Bytes: 10, Tokens: 10}, Batch: store.Batch{Kind: store.BatchAnthropic}}
	return o
}

// TestPartsAreAdmittedTogether checks that every part of a batch is admitted on its own terms, and that all of them take
// their place in the queue or none does.
func TestPartsAreAdmittedTogether(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	*r.bounds = bounds{tenant: backlog.Bounds{Items: 5}}
	model := order().Model
	for name, tt := range map[string]struct {
		parts []JobOrder
		want  penstock.Code
	}{
		"an unknown model":  {[]JobOrder{lines(1, model), lines(1, "unknown")}, penstock.CodeModelNotFound},
		"too many together": {[]JobOrder{lines(2, model), lines(2, model)}, penstock.CodeQueueFull},
	} {
		o := lines(2, model)
		o.Parts = tt.parts
		if _, err := r.Job(t.Context(), r.caller, o); penstock.ErrorCode(err) != tt.want || len(r.store.got) != 0 {
			t.Errorf("%s: got %v and %d submits, want %s", name, err, len(r.store.got), tt.want)
		}
	}
	o := lines(2, model)
	o.Parts = []JobOrder{lines(2, model), lines(1, model)}
	sub := r.admit(o) // it fits only if the refused ones left nothing in the queue
	if len(sub.Parts) != 2 || sub.Parts[1].Lines != 1 || sub.Parts[0].Batch != nil || sub.Parts[0].Job.ID == sub.Job.ID || sub.Parts[0].Idempotency != nil {
		t.Errorf("submitted %+v", sub)
	}
	if _, err := r.Job(t.Context(), r.caller, lines(1, model)); penstock.ErrorCode(err) != penstock.CodeQueueFull {
		t.Errorf("a job that was accepted with its parts takes too little of the queue: %v", err)
	}
}
