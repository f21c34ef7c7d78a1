package drain

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
)

// A call upstream outlives its caller by the timeout, if the caller has seen the answer begin and was not ended by Penstock.
func TestDrain(t *testing.T) {
	t.Parallel()
	const timeout = time.Minute
	for _, tt := range []struct {
		name  string
		begun bool
		cause error
		lasts time.Duration // after the caller left
	}{
		{"begun", true, nil, timeout},
		{"not begun", false, nil, 0},
		{"ended by Penstock", true, penstock.Errorf(penstock.CodeCancelled, "The job was cancelled."), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				caller, leave := context.WithCancelCause(t.Context())
				within, d := New(caller, timeout)
				defer d.End()
				if tt.begun {
					d.Begin()
				}
				if synctest.Wait(); d.Left() || within.Err() != nil {
					t.Fatal("the caller is there")
				}
				left := time.Now()
				leave(tt.cause)
				<-within.Done()
				if took := time.Since(left); took != tt.lasts || !d.Left() {
					t.Errorf("it lasts %v", took)
				}
			})
		})
	}
}

func TestMissedBytesAreBounded(t *testing.T) {
	t.Parallel()
	_, d := New(t.Context(), time.Minute)
	if d.Missed() || d.Miss(MaxBytes) != nil || !d.Missed() || d.Miss(1) == nil {
		t.Errorf("%d bytes", d.missed)
	}
	d.End()
	var none *Drain
	none.Begin()
	none.End()
	if none.Left() || none.Missed() {
		t.Error("a stream without a drain is drained")
	}
}
