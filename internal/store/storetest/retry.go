package storetest

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/webhook"
)

func retryCases() []testCase {
	return []testCase{
		{"the same inputs run again in a new job", retryInputs},
		{"everything that did not succeed can be retried, once", retryUnsuccessful},
		{"what is open or succeeded cannot be retried", retryNothing},
		{"a retry can be retried in its turn", retryChain},
		{"items wait for as long as their retry says", retryHeldBack},
		{"an idempotency key finds the job again", retryIdempotent},
		{"of many retries of one job one wins", retryRaceOneWins},
		{"a dead letter is retried or dismissed, not both", retryRaceDismiss},
		{"retries of a job and of its dead letters do not share items", retryRaceSelections},
		{"a retry takes only items of the job that it names", retryForeignItems},
		{"dead letters of a filter", retryFiltered},
		{"the webhook of a job also receives the events of its retry", retryTold},
		{"inputs can be read before and after the end", readInputs},
		{"as many as are asked for", retryLimited},
		{"what was dropped of inputs is known, and goes along with a retry", keepTruncations},
		{"prompts of inputs are known, and go along with a retry", keepPrompts},
	}
}

// retryLimited retries a job in parts.
func retryLimited(r *rig) {
	sub := r.fail(r.submission(5))
	for _, deadLetters := range []*store.DeadLetterFilter{nil, {}} {
		found, err := r.s.Retryable(r.t.Context(), acme, store.RetrySelection{Job: sub.Job.ID, DeadLetters: deadLetters, Limit: 2})
		r.must("select some", err)
		if len(found.Items) != 2 || found.Items[0].ID >= found.Items[1].ID {
			r.t.Fatalf("found %+v, want the next two", found.Items)
		}
		r.retry(r.retryOf(found, deadLetters != nil))
	}
	if left := r.retryable(sub.Job.ID, nil); len(left.Items) != 1 {
		r.t.Errorf("%d items are left, want 1", len(left.Items))
	}
}

// fail submits a job of n items that all fail.
func (r *rig) fail(sub store.Submission) store.Submission {
	r.t.Helper()
	r.submit(sub)
	r.win(r.endings(r.claimN(r.lease("worker"), len(sub.Items)), penstock.TransitionFail)...)
	return sub
}

func (r *rig) retryable(job penstock.ID, deadLetters *store.DeadLetterFilter) store.Retryable {
	r.t.Helper()
	found, err := r.s.Retryable(r.t.Context(), acme, store.RetrySelection{Job: job, DeadLetters: deadLetters, Limit: everything})
	r.must("select what can be retried", err)
	return found
}

// retryOf is a retry of all that was found, by a key of its own name.
func (r *rig) retryOf(found store.Retryable, ofDeadLetters ofDeadLetters) store.Retry {
	again := store.Retry{OfDeadLetters: bool(ofDeadLetters), Resolve: penstock.ResolveSame}
	again.Submission = r.submission(0)
	again.Job.Key, again.Job.RetryOf, again.Job.Resolved = "operator", found.Job.ID, found.Job.Resolved
	for i, item := range found.Items {
		again.Retried = append(again.Retried, item.ID)
		again.Items = append(again.Items, store.NewItem{
			CustomID: item.CustomID, Body: item.Body, EstimateTokens: 100, Reserved: penstock.NanoUSD(20_000 + i),
		})
	}
	return again
}

// ofDeadLetters says whether items were selected as dead letters.
type ofDeadLetters bool

func (r *rig) retry(again store.Retry) penstock.Job {
	r.t.Helper()
	receipt, err := r.s.RetryItems(r.t.Context(), acme, again)
	r.must("retry", err)
	if receipt.Replayed || receipt.Job.RetryOf != again.Job.RetryOf {
		r.t.Fatalf("retry of %s is %+v", again.Job.RetryOf, receipt)
	}
	return receipt.Job
}

func retryInputs(r *rig) {
	sub := r.submission(4)
	for n, size := range []int{1, 40 << 10, 200 << 10} { // beyond 32 KiB it is a blob, unless it shrinks
		noise := make([]byte, size)
		rand.Read(noise)
		sub.Items[n].Body = noise
	}
	r.fail(sub)
	again := r.retryOf(r.retryable(sub.Job.ID, &store.DeadLetterFilter{}), true)
	r.retry(again)
	if deadLetters := r.deadLetters(acme); len(deadLetters) != 0 {
		r.t.Errorf("retried items are still dead letters: %+v", deadLetters)
	}
	job := r.audit(again.Submission)
	if job.RetryOf != sub.Job.ID || job.Key != "operator" || r.job(sub.Job.ID).RetryOf != "" {
		r.t.Errorf("the retry of %s is %+v", sub.Job.ID, job)
	}
	claims := r.claimN(r.lease("worker"), 4)
	for _, c := range claims {
		item := r.item(c.Item)
		if c.Job != job.ID || string(c.Body) != string(sub.Items[c.Index].Body) || item.CustomID != sub.Items[c.Index].CustomID {
			r.t.Errorf("item %d of %s runs %d bytes as %q", c.Index, c.Job, len(c.Body), item.CustomID)
		}
		if c.Attempts != 0 || c.Tries != 0 {
			r.t.Errorf("item %d starts with %d attempts", c.Index, c.Attempts)
		}
	}
	r.win(r.endings(claims, penstock.TransitionSucceed)...)
	r.audit(again.Submission)
	if first := r.job(sub.Job.ID); first.Counts.Failed != 4 || first.Status() != penstock.StatusFailed {
		r.t.Errorf("the first job changed: %+v", first.Counts)
	}
	r.verifyLedger()
}

// ended submits a job with items of every end: succeeded, failed, expired, cancelled and one that was
// dismissed.
func (r *rig) ended() store.Submission {
	r.t.Helper()
	sub := r.submitN(5)
	claims := r.claimN(r.lease("worker"), 5)
	for i, how := range []penstock.Transition{penstock.TransitionSucceed, penstock.TransitionFail, penstock.TransitionExpire,
		penstock.TransitionCancel, penstock.TransitionFail} {
		f := r.ending(claims[i], how)
		if i == 4 {
			f.ErrorKind = "hopeless"
		}
		r.win(f)
	}
	r.dismiss(store.DeadLetterFilter{Job: sub.Job.ID, Kind: "hopeless"}, 1)
	return sub
}

func (r *rig) dismiss(f store.DeadLetterFilter, want int) {
	r.t.Helper()
	n, err := r.s.DismissDeadLetters(r.t.Context(), acme, store.Dismissal{Filter: f, Actor: "operator", Limit: everything})
	r.must("dismiss", err)
	if n != want {
		r.t.Fatalf("dismissed %d dead letters, want %d", n, want)
	}
}

func retryUnsuccessful(r *rig) {
	sub := r.ended()
	if deadLetters := r.retryable(sub.Job.ID, &store.DeadLetterFilter{}); len(deadLetters.Items) != 1 {
		r.t.Errorf("%d items are dead letters, want the failed one that was not dismissed", len(deadLetters.Items))
	}
	found := r.retryable(sub.Job.ID, nil)
	var ids []penstock.ID
	for _, item := range found.Items {
		ids = append(ids, item.ID)
	}
	job := sub.Job.ID
	r.wantSame("retryable items", ids, []penstock.ID{
		penstock.ItemID(job, 1), penstock.ItemID(job, 2), penstock.ItemID(job, 3), penstock.ItemID(job, 4),
	})
	r.retry(r.retryOf(found, false))
	if left := r.retryable(job, nil); len(left.Items) != 0 || left.Job.ID != job {
		r.t.Errorf("after the retry %+v can be retried", left.Items)
	}
	_, err := r.s.RetryItems(r.t.Context(), acme, r.retryOf(found, false))
	r.wantCode("retry again", err, penstock.CodeConflict)
	r.wantCount(store.DeadLetterFilter{}, 0)
	r.verifyLedger()
}

func retryNothing(r *rig) {
	open := r.submitN(2)
	if found := r.retryable(open.Job.ID, nil); len(found.Items) != 0 {
		r.t.Errorf("of a queued job %+v can be retried", found.Items)
	}
	claims := r.claimN(r.lease("worker"), 2)
	r.win(r.ending(claims[0], penstock.TransitionSucceed))
	if found := r.retryable(open.Job.ID, nil); len(found.Items) != 0 {
		r.t.Errorf("of a running job %+v can be retried", found.Items)
	}
	for n := range 2 {
		again := r.retryOf(store.Retryable{Job: open.Job, Items: []store.RetryableItem{{ID: penstock.ItemID(open.Job.ID, n), Body: []byte(`{}`)}}}, false)
		_, err := r.s.RetryItems(r.t.Context(), acme, again)
		r.wantCode("retry an item that did not fail", err, penstock.CodeConflict)
	}
	_, err := r.s.Retryable(r.t.Context(), acme, store.RetrySelection{Job: r.newID(), Limit: everything})
	r.wantCode("select from a job that is not there", err, penstock.CodeNotFound)
	r.audit(open)
}

func retryChain(r *rig) {
	of := r.fail(r.submission(2)).Job.ID
	for range 3 {
		job := r.retry(r.retryOf(r.retryable(of, nil), false))
		r.win(r.endings(r.claimN(r.lease("worker"), 2), penstock.TransitionFail)...)
		r.wantCount(store.DeadLetterFilter{Job: job.ID}, 2)
		r.wantCount(store.DeadLetterFilter{Job: of}, 0)
		of = job.ID
	}
	r.verifyLedger()
}

func retryHeldBack(r *rig) {
	sub := r.fail(r.submission(3))
	again := r.retryOf(r.retryable(sub.Job.ID, nil), false)
	for k := range again.Items {
		again.Items[k].StartIn = time.Duration(k) * 2 * time.Second
	}
	r.retry(again)
	l := r.lease("worker")
	for k := range again.Items {
		claims := r.claimN(l, 1)
		if claims[0].Index != k {
			r.t.Fatalf("item %d started as number %d", claims[0].Index, k)
		}
		r.win(r.ending(claims[0], penstock.TransitionSucceed))
		r.clock.Advance(1900 * time.Millisecond)
		r.claimN(l, 0)
		r.clock.Advance(100 * time.Millisecond)
	}
	r.audit(again.Submission)
}

func retryIdempotent(r *rig) {
	sub := r.fail(r.submission(1))
	key := func(hash string) *store.IdempotencyKey {
		return &store.IdempotencyKey{Key: "again", BodyHash: []byte(hash), TTL: time.Hour}
	}
	taken := r.retryOf(store.Retryable{Job: sub.Job, Items: []store.RetryableItem{{ID: r.newID()}}}, false)
	taken.Idempotency = key("other")
	_, err := r.s.RetryItems(r.t.Context(), acme, taken)
	r.wantCode("retry an unknown item", err, penstock.CodeConflict)

	again := r.retryOf(r.retryable(sub.Job.ID, nil), false)
	again.Idempotency = key("one")
	job := r.retry(again)
	repeat := again
	repeat.Job.ID = r.newID()
	receipt, err := r.s.RetryItems(r.t.Context(), acme, repeat)
	r.must("send the retry again", err)
	if !receipt.Replayed || receipt.Job.ID != job.ID || receipt.Job.RetryOf != sub.Job.ID {
		r.t.Errorf("the retry sent again is %+v", receipt)
	}
	repeat.Idempotency = key("two")
	_, err = r.s.RetryItems(r.t.Context(), acme, repeat)
	r.wantCode("send another payload", err, penstock.CodeIdempotencyMismatch)
}

// together runs racers at once and returns how many of them won; the others must have got conflict.
func (r *rig) together(racers ...func() error) int {
	r.t.Helper()
	var won atomic.Int64
	var group errgroup.Group
	for _, race := range racers {
		group.Go(func() error {
			err := race()
			if err == nil {
				won.Add(1)
			}
			if penstock.ErrorCode(err) == penstock.CodeConflict {
				err = nil
			}
			return err
		})
	}
	r.must("race", group.Wait())
	return int(won.Load())
}

func retryRaceOneWins(r *rig) {
	const racers = 8
	sub := r.fail(r.submission(20))
	found := r.retryable(sub.Job.ID, &store.DeadLetterFilter{})
	var races []func() error
	for i := range racers {
		again := r.retryOf(found, ofDeadLetters(i%2 == 0))
		if i%4 > 1 {
			slices.Reverse(again.Retried) // transactions that lock in another order must not wait for ever
		}
		races = append(races, func() error {
			_, err := r.s.RetryItems(r.t.Context(), acme, again)
			return err
		})
	}
	if won := r.together(races...); won != 1 {
		r.t.Errorf("%d of %d retries won", won, racers)
	}
	jobs, err := r.s.ListJobs(r.t.Context(), acme, store.JobFilter{Limit: everything})
	r.must("list jobs", err)
	if len(jobs.Jobs) != 2 || len(r.noted()) != 1 {
		r.t.Errorf("%d jobs and %d entries of the audit, want the first, its one retry and who did it", len(jobs.Jobs), len(r.noted()))
	}
	r.claimN(r.lease("worker"), 20)
	r.verifyLedger()
}

func retryRaceDismiss(r *rig) {
	for range 10 {
		sub := r.fail(r.submission(5))
		filter := store.DeadLetterFilter{Job: sub.Job.ID}
		again := r.retryOf(r.retryable(sub.Job.ID, &filter), true)
		var dismissed atomic.Int64
		retried := false
		won := r.together(func() error {
			_, err := r.s.RetryItems(r.t.Context(), acme, again)
			retried = err == nil
			return err
		}, func() error {
			n, err := r.s.DismissDeadLetters(r.t.Context(), acme, store.Dismissal{Filter: filter, Actor: "operator", Limit: everything})
			dismissed.Store(int64(n))
			return errors.Join(err, conflictIf(n == 0))
		})
		if n := dismissed.Load(); won != 1 || (n != 0 && n != 5) || retried == (n == 5) {
			r.t.Fatalf("retried is %v and %d of 5 dead letters were dismissed", retried, n)
		}
		r.wantCount(filter, 0)
		if retried {
			r.win(r.endings(r.claimN(r.lease("worker"), 5), penstock.TransitionSucceed)...)
		}
	}
	r.verifyLedger()
}

type lost bool

// conflictIf is the code of the loser of a race.
func conflictIf(l lost) error {
	if l {
		return penstock.Errorf(penstock.CodeConflict, "Lost.")
	}
	return nil
}

func retryRaceSelections(r *rig) {
	for range 10 {
		sub := r.ended()
		all, deadLetters := r.retryOf(r.retryable(sub.Job.ID, nil), false), r.retryOf(r.retryable(sub.Job.ID, &store.DeadLetterFilter{}), true)
		won := r.together(func() error {
			_, err := r.s.RetryItems(r.t.Context(), acme, all)
			return err
		}, func() error {
			_, err := r.s.RetryItems(r.t.Context(), acme, deadLetters)
			return err
		})
		if won != 1 {
			r.t.Fatalf("%d of two retries over the same item won", won)
		}
		claims := r.claim(r.lease("worker"), everything)
		if len(claims) != 4 && len(claims) != 1 {
			r.t.Fatalf("%d items run, want those of one retry", len(claims))
		}
		r.win(r.endings(claims, penstock.TransitionSucceed)...)
	}
	r.verifyLedger()
}

func retryForeignItems(r *rig) {
	mine, other := r.fail(r.submission(1)), r.fail(r.submission(1))
	for _, selected := range []ofDeadLetters{true, false} {
		again := r.retryOf(r.retryable(mine.Job.ID, nil), selected)
		again.Job.RetryOf = other.Job.ID
		_, err := r.s.RetryItems(r.t.Context(), acme, again)
		r.wantCode("retry an item of another job", err, penstock.CodeConflict)
		again.Job.RetryOf = r.newID()
		_, err = r.s.RetryItems(r.t.Context(), acme, again)
		r.wantCode("retry of a job that is not there", err, penstock.CodeNotFound)
	}
	r.wantCount(store.DeadLetterFilter{}, 2)
	r.audit(mine)
	r.audit(other)
	r.verifyLedger()
}

func retryFiltered(r *rig) {
	sub := r.submitN(3)
	group := r.endings(r.claimN(r.lease("worker"), 3), penstock.TransitionFail)
	group[1].ErrorKind = "timeout"
	r.win(group...)
	again := r.retryOf(r.retryable(sub.Job.ID, &store.DeadLetterFilter{Kind: "timeout"}), true)
	r.retry(again)
	claims := r.claimN(r.lease("worker"), 1)
	if string(claims[0].Body) != string(sub.Items[1].Body) || claims[0].Index != 0 {
		r.t.Errorf("item %d runs %s", claims[0].Index, claims[0].Body)
	}
	r.wantCount(store.DeadLetterFilter{Job: sub.Job.ID}, 2)
	if left := r.retryable(sub.Job.ID, nil); len(left.Items) != 2 {
		r.t.Errorf("%d items are left to retry, want 2", len(left.Items))
	}
}

func auditCases() []testCase {
	return []testCase{
		{"who retried and dismissed what", auditTells},
		{"newest first, page by page", auditPages},
	}
}

func (r *rig) noted() []store.AuditEntry {
	r.t.Helper()
	entries, err := r.s.AuditEntries(r.t.Context(), acme, store.AuditPage{Limit: everything})
	r.must("read the audit", err)
	return entries
}

func auditTells(r *rig) {
	sub := r.fail(r.submission(3))
	r.dismiss(store.DeadLetterFilter{Model: "nothing of this name"}, 0)
	deadLetters := r.retryable(sub.Job.ID, &store.DeadLetterFilter{})
	deadLetters.Items = deadLetters.Items[:1]
	first := r.retry(r.retryOf(deadLetters, true))
	_, err := r.s.RetryItems(r.t.Context(), acme, r.retryOf(deadLetters, true))
	r.wantCode("retry again", err, penstock.CodeConflict)
	r.dismiss(store.DeadLetterFilter{Job: sub.Job.ID, Model: "fast"}, 2)
	second := r.retry(r.retryOf(r.retryable(sub.Job.ID, nil), false))

	entries := r.noted()
	if len(entries) != 3 {
		r.t.Fatalf("%d entries, want one for each change: %+v", len(entries), entries)
	}
	of := penstock.ViewJob.Format(sub.Job.ID)
	item := func(n int) string { return penstock.ViewItem.Format(penstock.ItemID(sub.Job.ID, n)) }
	for i, want := range []struct{ action, subject, before, after string }{
		{store.ActionRetryJob, of,
			fmt.Sprintf(`{"config":"cfg_1","items":[%q,%q],"targets":["first","second"]}`, item(1), item(2)),
			fmt.Sprintf(`{"config":"cfg_1","job":%q,"resolve":"same","targets":["first","second"]}`, penstock.ViewJob.Format(second.ID))},
		{store.ActionDismissDeadLetters, "dead_letters",
			fmt.Sprintf(`{"filter":{"job_id":%q,"model":"fast"},"open":2}`, of), `{"dismissed":2}`},
		{store.ActionRetryDeadLetters, of,
			fmt.Sprintf(`{"config":"cfg_1","items":[%q],"targets":["first","second"]}`, item(0)),
			fmt.Sprintf(`{"config":"cfg_1","job":%q,"resolve":"same","targets":["first","second"]}`, penstock.ViewJob.Format(first.ID))},
	} {
		e := entries[i]
		r.wantSame("audit entry", e, store.AuditEntry{ID: e.ID, Actor: "operator", Action: want.action, Subject: want.subject,
			Before: json.RawMessage(want.before), After: json.RawMessage(want.after), CreatedAt: r.clock.Now()})
		if !e.ID.Valid() {
			r.t.Errorf("the entry's id is %q", e.ID)
		}
	}
}

func auditPages(r *rig) {
	for range 5 {
		sub := r.fail(r.submission(1))
		r.clock.Advance(time.Second)
		r.dismiss(store.DeadLetterFilter{Job: sub.Job.ID}, 1)
	}
	all := r.noted()
	var paged []store.AuditEntry
	page := store.AuditPage{Limit: 2}
	for _, size := range []int{2, 2, 1, 0} {
		entries, err := r.s.AuditEntries(r.t.Context(), acme, page)
		r.must("read the audit", err)
		if len(entries) != size {
			r.t.Fatalf("a page has %d entries, want %d", len(entries), size)
		}
		for _, e := range entries {
			paged, page.After = append(paged, e), e.ID
		}
	}
	r.wantSame("pages", paged, all)
	if !slices.IsSortedFunc(all, func(a, b store.AuditEntry) int { return b.CreatedAt.Compare(a.CreatedAt) }) {
		r.t.Error("the entries are not sorted from the newest to the oldest")
	}
}

func retryTold(r *rig) {
	_, err := r.webhooks.RotateSecret(r.t.Context(), acme, webhook.Rotation{Secret: []byte("tenant's"), Actor: "app"})
	r.must("make the tenant's secret", err)
	sub := r.submission(1)
	sub.Webhook = &store.JobWebhook{URL: "https://app.example/jobs", Events: []penstock.EventType{penstock.EventJobFinished}}
	r.fail(sub)
	r.delivered(r.delivering(1)[0])
	again := r.retry(r.retryOf(r.retryable(sub.Job.ID, nil), false))
	r.win(r.endings(r.claimN(r.lease("worker"), 1), penstock.TransitionSucceed)...)
	if d := r.delivering(1)[0]; d.Job != again.ID || d.URL != sub.Webhook.URL {
		r.t.Errorf("%s received the event of %s, want the end of %s", d.URL, d.Job, again.ID)
	}
}

func readInputs(r *rig) {
	sub := r.submission(3)
	r.submit(sub)
	check := func(when string) {
		for n, item := range sub.Items {
			body, err := r.s.ItemInput(r.t.Context(), acme, penstock.ItemID(sub.Job.ID, n))
			r.must(when, err)
			r.wantSame(when, string(body), string(item.Body))
		}
	}
	check("queued")
	r.win(r.endings(r.claimN(r.lease("worker"), 3), penstock.TransitionSucceed)...)
	check("ended")
	lines := r.batch(3)
	r.split(lines, 0, 1)
	for name, id := range map[string]penstock.ID{
		"none": r.newID(), "behind the last": penstock.ItemID(sub.Job.ID, 3), "a line that is not split yet": penstock.ItemID(lines.Job.ID, 1),
	} {
		if _, err := r.s.ItemInput(r.t.Context(), acme, id); penstock.ErrorCode(err) != penstock.CodeNotFound {
			r.t.Errorf("%s: %v", name, err)
		}
	}
}
