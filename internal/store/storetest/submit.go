package storetest

import (
	"bytes"
	"context"
	"math/rand/v2"
	"sync"

	"penstock"
	"penstock/internal/store"
)

func submitCases() []testCase {
	return []testCase{
		{"a job comes back as it was accepted", submitRoundTrip},
		{"items are numbered and come back", submitItems},
		{"payloads of every size come back", submitPayloads},
		{"tags come back", submitTags},
		{"the reservation is booked", submitReserves},
		{"an error leaves nothing behind", submitErrorWritesNothing},
		{"unknown ids are not found", unknownIDs},
		{"submits of many callers at once have an outcome each", submitConcurrent},
	}
}

// submitConcurrent has callers of two tenants submit at once. acme's budget has enough for half of its jobs, every fourth caller of
// acme repeats a key with another payload, and one of umbra's callers leaves at once.
func submitConcurrent(r *rig) {
	const callers = 40
	budget := account(callers / 2 * 10_000)
	first := r.submit(r.keyed("order", "hash"))
	left, leave := context.WithCancel(r.t.Context())
	leave()
	type outcome struct {
		sub     store.Submission
		receipt store.Receipt
		err     error
	}
	outcomes := make([]outcome, 2*callers)
	for i := range outcomes {
		o := &outcomes[i]
		switch o.sub = r.paid(1, budget); {
		case i >= callers:
			o.sub.Job.Tenant, o.sub.Accounts = umbra, nil
		case i%4 == 0:
			o.sub = r.keyed("order", "another hash")
		}
	}
	var group sync.WaitGroup
	for i := range outcomes {
		o, ctx := &outcomes[i], r.t.Context()
		if i == callers {
			ctx = left
		}
		group.Go(func() { o.receipt, o.err = r.s.SubmitJob(ctx, o.sub.Job.Tenant, o.sub) })
	}
	group.Wait()
	counts, accepted := map[penstock.Code]int{}, []store.Submission{first}
	for i, o := range outcomes {
		if i != callers {
			counts[penstock.ErrorCode(o.err)]++
		}
		if o.err == nil {
			accepted = append(accepted, o.sub)
			r.wantSame("the job of a receipt", o.receipt.Job.ID, o.sub.Job.ID)
		}
	}
	r.wantSame("outcomes", counts, map[penstock.Code]int{
		"": callers/2 + callers - 1, penstock.CodeBudgetExceeded: callers/4*3 - callers/2, penstock.CodeIdempotencyMismatch: callers / 4,
	})
	r.wantBalance(0, callers/2*10_000)
	for _, sub := range accepted {
		r.audit(sub)
	}
}

func submitRoundTrip(r *rig) {
	sub := r.submission(3)
	receipt, err := r.s.SubmitJob(r.t.Context(), acme, sub)
	r.must("submit", err)

	want := sub.Job
	want.Counts = penstock.Counts{Total: 3, Queued: 3}
	want.Seq, want.StoredBytes = 1, inputBytes(sub)
	want.CreatedAt = r.clock.Now()
	want.Deadline = r.clock.Now().Add(sub.DeadlineIn)
	r.wantSame("receipt", receipt, store.Receipt{Job: want})
	r.wantSame("stored job", r.job(sub.Job.ID), want)
	r.wantSame("log of a new job", r.events(want), []penstock.Event{
		{Job: want.ID, Seq: 1, Type: penstock.EventJobQueued, State: &want, CreatedAt: r.clock.Now()},
	})
	if status := want.Status(); status != penstock.StatusQueued {
		r.t.Errorf("a new job is %s, want queued", status)
	}
	r.audit(sub)
}

func submitItems(r *rig) {
	for _, n := range []int{1, 256} {
		sub := r.submitN(n)
		for i, item := range sub.Items {
			id := penstock.ItemID(sub.Job.ID, i)
			r.wantSame("stored item", r.item(id), penstock.Item{
				ID:       id,
				Job:      sub.Job.ID,
				Tenant:   acme,
				Index:    i,
				CustomID: item.CustomID,
				Status:   penstock.StatusQueued,
			})
		}
		if job := r.audit(sub); job.Counts.Total != n {
			r.t.Errorf("job of %d items counts %d", n, job.Counts.Total)
		}
	}
}

// submitPayloads sends each payload in as a prompt and as a result. The random ones do not compress, so
// their sizes lie on both sides of what fits a row; the last one is large only until it is compressed.
func submitPayloads(r *rig) {
	source := rand.NewChaCha8([32]byte{1})
	random := func(n int) []byte {
		b := make([]byte, n)
		source.Read(b) // never fails
		return b
	}
	payloads := [][]byte{
		[]byte(`{}`),
		random(store.InlinePayloadBytes / 2),
		random(store.InlinePayloadBytes - 1),
		random(store.InlinePayloadBytes + 1),
		random(200 << 10),
		bytes.Repeat([]byte(`{"role":"user"}`), 200<<10/15),
	}
	sub := r.submission(len(payloads))
	for i, p := range payloads {
		sub.Items[i].Body = p
	}
	r.submit(sub)

	claims := r.claimN(r.lease("worker"), len(payloads))
	group := r.endings(claims, penstock.TransitionSucceed)
	for i, c := range claims {
		if !bytes.Equal(c.Body, payloads[c.Index]) {
			r.t.Errorf("prompt of %d bytes came back as another of %d", len(payloads[c.Index]), len(c.Body))
		}
		group[i].Result = payloads[c.Index]
	}
	r.win(group...)
	for i, p := range payloads {
		if got := r.item(penstock.ItemID(sub.Job.ID, i)).Result; !bytes.Equal(got, p) {
			r.t.Errorf("result of %d bytes came back as another of %d", len(p), len(got))
		}
	}
	r.audit(sub)
}

func submitTags(r *rig) {
	for _, tags := range []map[string]string{nil, {}, {"team": "search"}, oddTags()} {
		sub := r.submission(1)
		sub.Job.Tags = tags
		r.submit(sub)
		r.wantSame("tags", r.job(sub.Job.ID).Tags, tags)
	}
}

// oddTags have characters that mean something to SQL, to JSON or to paths into JSON.
func oddTags() map[string]string {
	return map[string]string{
		"":          "no key",
		"a.b":       "dots",
		`say "hi"`:  `"quoted"`,
		"it's":      "o'clock",
		"100%":      "_%",
		`back\lash`: `\`,
		"$[0]":      "{}",
		"größe":     "λ\n",
	}
}

func submitReserves(r *rig) {
	sub := r.submitN(4)
	entries := r.entries(sub.Job.ID)
	if len(entries) != 1 || entries[0].Key == "" {
		r.t.Fatalf("a new job has %+v booked, want one entry with a key", entries)
	}
	r.wantSame("reservation", entries[0], penstock.LedgerEntry{
		Key:       entries[0].Key,
		Tenant:    acme,
		Kind:      penstock.EntryReserve,
		Subject:   sub.Job.ID,
		Job:       sub.Job.ID,
		Reserved:  10_000 + 10_001 + 10_002 + 10_003,
		CreatedAt: r.clock.Now(),
	})
	r.verifyLedger()
}

func submitErrorWritesNothing(r *rig) {
	sub := r.submission(2)
	sub.Idempotency = &store.IdempotencyKey{Key: "once", BodyHash: []byte("hash"), TTL: deadlineIn}
	ctx, cancel := context.WithCancel(r.t.Context())
	cancel()
	if _, err := r.s.SubmitJob(ctx, acme, sub); err == nil {
		r.t.Fatal("a submit whose caller is gone was accepted")
	}
	_, err := r.s.Job(r.t.Context(), acme, sub.Job.ID)
	r.wantCode("read a job that was refused", err, penstock.CodeNotFound)
	_, err = r.s.Item(r.t.Context(), acme, penstock.ItemID(sub.Job.ID, 0))
	r.wantCode("read an item that was refused", err, penstock.CodeNotFound)

	r.submit(sub) // would be a replay if the key had been kept
	if report := r.verifyLedger(); report.Entries != 1 {
		r.t.Errorf("%d ledger entries after one refused and one accepted submit, want 1", report.Entries)
	}
}

// unknownIDs asks for what is not there, by ids that could be and by ids that could not.
func unknownIDs(r *rig) {
	sub := r.submitN(1)
	ctx := r.t.Context()
	for _, id := range []penstock.ID{r.newID(), penstock.ItemID(sub.Job.ID, 1), "", "nonsense", "' OR 1=1 --"} {
		_, err := r.s.Job(ctx, acme, id)
		r.wantCode("job "+string(id), err, penstock.CodeNotFound)
		_, err = r.s.CancelJob(ctx, acme, id)
		r.wantCode("cancel "+string(id), err, penstock.CodeNotFound)
		_, err = r.s.Item(ctx, acme, id)
		r.wantCode("item "+string(id), err, penstock.CodeNotFound)
		_, _, err = r.s.Results(ctx, acme, id, store.ResultPage{Order: store.OrderInput, After: -1, Limit: 1})
		r.wantCode("results in input order "+string(id), err, penstock.CodeNotFound)
		_, _, err = r.s.Results(ctx, acme, id, store.ResultPage{Order: store.OrderCompletion, After: -1, Limit: 1})
		r.wantCode("results in completion order "+string(id), err, penstock.CodeNotFound)
		_, err = r.s.Events(ctx, acme, store.EventPage{Job: id, Limit: 1})
		r.wantCode("events "+string(id), err, penstock.CodeNotFound)
		_, err = r.s.Request(ctx, acme, id)
		r.wantCode("request "+string(id), err, penstock.CodeNotFound)
		_, err = r.s.JobEntries(ctx, acme, id)
		r.wantCode("ledger entries "+string(id), err, penstock.CodeNotFound)
		if tries := r.attempts(id); len(tries) != 0 {
			r.t.Errorf("attempts at %q, which is unknown: %+v", id, tries)
		}
	}
}
