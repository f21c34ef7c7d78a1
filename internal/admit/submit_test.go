package admit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/signal"
	"penstock/internal/store"
)

// offers makes every offer and remembers what was taken of it.
type offers struct {
	claimed []*store.Claimed
	err     error
	taken   int
	calls   chan struct{} // receives a value for each call; may be nil
}

func (o *offers) Offer([]store.Candidate) (store.Lease, []string, func([]*store.Claimed, error)) {
	return store.Lease{Process: "here", Epoch: 1}, []string{"a"}, func(claimed []*store.Claimed, err error) {
		o.claimed, o.err, o.taken = claimed, err, o.taken+1
		if o.calls != nil {
			o.calls <- struct{}{}
		}
	}
}

// grants claims every item, whatever becomes of the commit.
type grants struct {
	submits
	err error
}

func (g *grants) SubmitJob(context.Context, penstock.TenantID, store.Submission) (store.Receipt, error) {
	return store.Receipt{Claimed: []*store.Claimed{{Item: "1"}}}, g.err
}

// A caller that leaves while its job is being committed does not learn the outcome; a job that was not accepted must not run.
func TestNothingStartsOfASubmitThatFailed(t *testing.T) {
	t.Parallel()
	gone := errors.New("the caller left")
	for _, tt := range []struct {
		err  error
		want int
	}{{nil, 1}, {gone, 0}} {
		o := &offers{}
		sub := store.Submission{Job: penstock.Job{ID: "01ARZ3NDEKTSV4RRFFQ69G5FAV"}, Items: []store.NewItem{{Body: []byte("{}")}}}
		job, err := Submitter{&grants{err: tt.err}, o, signal.NewTopic[signal.None](nil, signal.Work)}.Submit(t.Context(), "acme", sub)
		if !errors.Is(err, tt.err) || len(job.Claimed) != tt.want {
			t.Errorf("%v: %d items are said to run, %v", tt.err, len(job.Claimed), err)
		}
		if err == nil {
			job.Begin()
			job.Begin() // once is enough
		}
		if o.taken != 1 || len(o.claimed) != tt.want || !errors.Is(o.err, tt.err) {
			t.Errorf("%v: the starter was called %d times with %d items, %v", tt.err, o.taken, len(o.claimed), o.err)
		}
	}
}

// The answer goes out before the work begins, but the work does not depend on it.
func TestWorkBeginsWhateverBecomesOfTheAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, began := &offers{calls: make(chan struct{}, 2)}, time.Now()
		sub := store.Submission{Job: penstock.Job{ID: "01ARZ3NDEKTSV4RRFFQ69G5FAV"}, Items: []store.NewItem{{Body: []byte("{}")}}}
		if _, err := (Submitter{&grants{}, o, signal.NewTopic[signal.None](nil, signal.Work)}).Submit(t.Context(), "acme", sub); err != nil {
			t.Fatal(err)
		}
		<-o.calls
		if after := time.Since(began); after != beginAtLatest || len(o.claimed) != 1 {
			t.Errorf("%d items began after %v, without a call of Begin; want 1 after %v", len(o.claimed), after, beginAtLatest)
		}
	})
}
