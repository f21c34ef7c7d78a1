package admit

import (
	"context"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/store"
)

// deadLetters is a store of jobs that failed.
type deadLetters struct {
	jobs       []store.Retryable // oldest first
	taken      int               // retries that lose their items to others before one wins
	errs       map[penstock.ID]error
	got        []store.Retry
	reads      int
	wanted     []store.RetrySelection
	dismissals []store.Dismissal
}

func (g *deadLetters) find(id penstock.ID) (store.Retryable, bool) {
	for _, j := range g.jobs {
		if j.Job.ID == id {
			return j, true
		}
	}
	return store.Retryable{}, false
}

func (g *deadLetters) DeadLetterJobs(_ context.Context, _ penstock.TenantID, p store.DeadLetterJobPage) (found []store.DeadLetterJob, _ error) {
	for _, j := range g.jobs[:min(p.Jobs, len(g.jobs))] {
		found = append(found, store.DeadLetterJob{Job: j.Job.ID, DeadLetters: len(j.Items)})
	}
	return found, nil
}

func (g *deadLetters) CountDeadLetters(context.Context, penstock.TenantID, store.DeadLetterFilter) (n int, _ error) {
	for _, j := range g.jobs {
		n += len(j.Items)
	}
	return n, nil
}

func (g *deadLetters) Retryable(_ context.Context, _ penstock.TenantID, s store.RetrySelection) (store.Retryable, error) {
	g.reads++
	g.wanted = append(g.wanted, s)
	j, ok := g.find(s.Job)
	if !ok {
		return j, penstock.Errorf(penstock.CodeNotFound, "There is none.")
	}
	return j, nil
}

func (g *deadLetters) RetryItems(_ context.Context, tenant penstock.TenantID, r store.Retry) (store.Receipt, error) {
	if g.taken > 0 {
		g.taken--
		return store.Receipt{}, penstock.Errorf(penstock.CodeConflict, "Others were faster.")
	}
	if err := g.errs[r.Job.RetryOf]; err != nil {
		return store.Receipt{}, err
	}
	g.got = append(g.got, r)
	for i := range g.jobs {
		if g.jobs[i].Job.ID == r.Job.RetryOf {
			g.jobs[i].Items = nil
		}
	}
	job := r.Job
	job.Tenant, job.Counts.Total = tenant, len(r.Items)
	return store.Receipt{Job: job}, nil
}

func (g *deadLetters) DismissDeadLetters(_ context.Context, _ penstock.TenantID, d store.Dismissal) (int, error) {
	g.dismissals = append(g.dismissals, d)
	return 0, nil
}

// failedJob is a job of so many items that failed yesterday, as search submitted it.
func failedJob(r *rig, items int) store.Retryable {
	found := store.Retryable{Job: penstock.Job{
		ID: r.ids.New(now), Tenant: "search", Key: "nightly", Endpoint: penstock.EndpointChat, Model: "smart", Lane: penstock.LaneBulk,
		Tags: map[string]string{"team": "search"}, MaxAttempts: 7, ItemTimeout: time.Minute, TraceParent: "00-old",
		CreatedAt: now.Add(-24 * time.Hour), Deadline: now.Add(24 * time.Hour),
		Resolved: penstock.Resolved{Config: "cfg_old", Model: "smart", Policy: "ordered", Targets: []string{"cheap", "gone"}},
	}}
	for i := range items {
		found.Items = append(found.Items, store.RetryableItem{
			ID: penstock.ItemID(found.Job.ID, i), CustomID: "row-" + strconv.Itoa(i), Body: []byte(`{"max":5}`),
		})
	}
	return found
}

func newDeadLetters(r *rig, sizes ...int) *deadLetters {
	g := &deadLetters{errs: map[penstock.ID]error{}}
	for _, n := range sizes {
		g.jobs = append(g.jobs, failedJob(r, n))
	}
	r.Retries = g
	return g
}

// terms reads every stored body as one that bounds its answer by 5 tokens.
func terms() RetryTerms {
	return RetryTerms{TraceParent: "00-new", Read: func(_ penstock.Endpoint, text []byte) (dialect.Inference, error) {
		return dialect.Inference{Object: body.Object{Text: text}, MaxOutputTokens: 5}, nil
	}}
}

func TestRetryJobKeepsAllButWhatItCosts(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		resolve  penstock.Resolve
		resolved func(*config.Snapshot) penstock.Resolved
		reserved penstock.NanoUSD
	}{
		{"same", "", func(*config.Snapshot) penstock.Resolved {
			return penstock.Resolved{Config: "cfg_old", Model: "smart", Policy: "ordered", Targets: []string{"cheap", "gone"}}
		}, 9*1000 + 5*2000},
		{"fresh", penstock.ResolveFresh, func(s *config.Snapshot) penstock.Resolved {
			return penstock.Resolved{Config: s.Hash, Model: "smart", Policy: "ordered", Targets: []string{"costly", "cheap"}}
		}, 9*10_000 + 5*20_000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			g := newDeadLetters(r, 2)
			of := g.jobs[0].Job
			o := RetryOrder{Job: of.ID, Terms: terms(), IdempotencyKey: "again", BodyHash: []byte("hash")}
			o.Terms.Resolve = tc.resolve
			would, err := r.TryRetry(t.Context(), r.caller, of.ID, o.Terms)
			if want := (RetriedJob{RetryOf: of.ID, Items: 2, Most: Most{Tokens: 2 * 14, Cost: 2 * tc.reserved}}); err != nil || would != want {
				t.Errorf("it would be %+v (%v), want %+v", would, err, want)
			}
			if len(g.got) > 0 {
				t.Fatalf("the dry run wrote %+v", g.got)
			}
			if _, err := r.RetryJob(t.Context(), r.caller, o); err != nil {
				t.Fatal(err)
			}
			got := g.got[0]
			want := store.Retry{
				Submission: store.Submission{
					Job: penstock.Job{
						ID: got.Job.ID, RetryOf: of.ID, Key: "app", Endpoint: penstock.EndpointChat, Model: "smart", Lane: penstock.LaneBulk, Tags: of.Tags,
						MaxAttempts: 7, ItemTimeout: time.Minute, TraceParent: "00-new", Resolved: tc.resolved(r.Config.Current()), QueueTokens: 2 * 14,
					},
					DeadlineIn: 48 * time.Hour,
					Items: []store.NewItem{
						{CustomID: "row-0", Body: []byte(`{"max":5}`), EstimateTokens: 14, Reserved: tc.reserved},
						{CustomID: "row-1", Body: []byte(`{"max":5}`), EstimateTokens: 14, Reserved: tc.reserved},
					},
					Idempotency: &store.IdempotencyKey{Key: "again", BodyHash: []byte("hash"), TTL: 24 * time.Hour},
				},
				Retried: []penstock.ID{penstock.ItemID(of.ID, 0), penstock.ItemID(of.ID, 1)},
				Resolve: penstock.Resolve(tc.name),
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("retry (-want +got):\n%s", diff)
			}
			if g.wanted[0].DeadLetters != nil {
				t.Error("it was narrowed down to dead letters")
			}
		})
	}
}

func TestRetryJobIsRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		edit func(*rig, *deadLetters, *RetryOrder)
		code penstock.Code
	}{
		"scope": {func(r *rig, _ *deadLetters, _ *RetryOrder) {
			r.caller.Scopes = []penstock.Scope{penstock.ScopeJobsRead}
		}, penstock.CodeScopeMissing},
		"resolve":      {func(_ *rig, _ *deadLetters, o *RetryOrder) { o.Terms.Resolve = "newest" }, penstock.CodeInvalidRequest},
		"slow":         {func(_ *rig, _ *deadLetters, o *RetryOrder) { o.Terms.Rate = MinRetryRate / 2 }, penstock.CodeInvalidRequest},
		"fast":         {func(_ *rig, _ *deadLetters, o *RetryOrder) { o.Terms.Rate = MaxRetryRate + 1 }, penstock.CodeInvalidRequest},
		"backwards":    {func(_ *rig, _ *deadLetters, o *RetryOrder) { o.Terms.Rate = -1 }, penstock.CodeInvalidRequest},
		"no number":    {func(_ *rig, _ *deadLetters, o *RetryOrder) { o.Terms.Rate = math.NaN() }, penstock.CodeInvalidRequest},
		"key":          {func(_ *rig, _ *deadLetters, o *RetryOrder) { o.IdempotencyKey = "a\x00b" }, penstock.CodeInvalidRequest},
		"unknown":      {func(r *rig, _ *deadLetters, o *RetryOrder) { o.Job = r.ids.New(now) }, penstock.CodeNotFound},
		"nothing left": {func(_ *rig, g *deadLetters, _ *RetryOrder) { g.jobs[0].Items = nil }, penstock.CodeConflict},
		"lane": {func(r *rig, _ *deadLetters, _ *RetryOrder) {
			r.caller.Tenant.Lanes = []penstock.Lane{penstock.LaneStandard}
		}, penstock.CodeInvalidRequest},
		"targets gone": {func(_ *rig, g *deadLetters, _ *RetryOrder) { g.jobs[0].Job.Resolved.Targets = []string{"gone"} }, penstock.CodeConflict},
		"model gone": {func(_ *rig, g *deadLetters, o *RetryOrder) {
			g.jobs[0].Job.Model, o.Terms.Resolve = "old", penstock.ResolveFresh
		}, penstock.CodeModelNotFound},
		"always too late": {func(_ *rig, g *deadLetters, _ *RetryOrder) { g.taken = math.MaxInt }, penstock.CodeConflict},
		"unreadable": {func(_ *rig, _ *deadLetters, o *RetryOrder) {
			o.Terms.Read = func(penstock.Endpoint, []byte) (dialect.Inference, error) {
				return dialect.Inference{}, penstock.InvalidParam("n", "n is too large.")
			}
		}, penstock.CodeInvalidRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			g := newDeadLetters(r, 1)
			o := RetryOrder{Job: g.jobs[0].Job.ID, Terms: terms()}
			tc.edit(r, g, &o)
			_, err := r.RetryJob(t.Context(), r.caller, o)
			if got := penstock.ErrorCode(err); got != tc.code {
				t.Errorf("got %q (%v), want %q", got, err, tc.code)
			}
			if len(g.got) > 0 {
				t.Errorf("it was written all the same: %+v", g.got)
			}
		})
	}
}

func TestRetryJobSelectsAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	g := newDeadLetters(r, 3)
	g.taken = retryTries - 1
	if _, err := r.RetryJob(t.Context(), r.caller, RetryOrder{Job: g.jobs[0].Job.ID, Terms: terms()}); err != nil {
		t.Fatal(err)
	}
	if g.reads != retryTries || len(g.got) != 1 {
		t.Errorf("selected %d times and wrote %d jobs", g.reads, len(g.got))
	}
}

func TestRetryJobThatWasAcceptedBefore(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	g := newDeadLetters(r, 0) // nothing is left, because of the first time
	earlier := penstock.Job{ID: r.ids.New(now)}
	r.store.keyed = map[string]penstock.Job{"again/hash": earlier}
	o := RetryOrder{Job: g.jobs[0].Job.ID, Terms: terms(), IdempotencyKey: "again", BodyHash: []byte("hash")}
	receipt, err := r.RetryJob(t.Context(), r.caller, o)
	if err != nil || !receipt.Replayed || receipt.Job.ID != earlier.ID {
		t.Errorf("got %+v, %v; want the job of the key", receipt, err)
	}
	o.BodyHash = []byte("other")
	if _, err := r.RetryJob(t.Context(), r.caller, o); penstock.ErrorCode(err) != penstock.CodeConflict {
		t.Errorf("an unknown key: %v", err)
	}
}

func TestRetryDeadLettersReports(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	g := newDeadLetters(r, 2, 1, 3)
	g.jobs[1].Job.Resolved.Targets = []string{"gone"}
	first, stuck, last := g.jobs[0].Job.ID, g.jobs[1].Job.ID, g.jobs[2].Job.ID
	o := DeadLetterOrder{Filter: store.DeadLetterFilter{Model: "smart"}, DryRun: true}
	check := func(what string, want RetryReport) {
		t.Helper()
		got, err := r.RetryDeadLetters(t.Context(), r.caller, o, terms())
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Skipped) != 1 || got.Skipped[0].Job != stuck || got.Skipped[0].DeadLetters != 1 || got.Skipped[0].Reason.Code != penstock.CodeConflict {
			t.Errorf("%s: skipped %+v", what, got.Skipped)
		}
		got.Skipped = nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	one := Most{Tokens: 9 + 5, Cost: 9*1000 + 5*2000} // an item, on the targets of the first job
	times := func(n int64) Most { return Most{n * one.Tokens, penstock.NanoUSD(n) * one.Cost} }
	check("dry run", RetryReport{Jobs: []RetriedJob{{RetryOf: first, Items: 2, Most: times(2)}, {RetryOf: last, Items: 3, Most: times(3)}}, Items: 5, Most: times(5), Remaining: 1})
	if len(g.got) > 0 {
		t.Fatalf("a dry run wrote %+v", g.got)
	}
	o.DryRun = false
	report := RetryReport{Items: 5, Most: times(5), Remaining: 1}
	for i := range 2 { // the ids are drawn as it goes
		report.Jobs = append(report.Jobs, RetriedJob{RetryOf: []penstock.ID{first, last}[i], Items: []int{2, 3}[i], Most: times(int64(i) + 2)})
	}
	got, err := r.RetryDeadLetters(t.Context(), r.caller, o, terms())
	if err != nil || len(g.got) != 2 || !g.got[0].OfDeadLetters || got.Jobs[0].Job != g.got[0].Job.ID || got.Jobs[1].Job != g.got[1].Job.ID {
		t.Fatalf("%+v, %v; wrote %+v", got, err, g.got)
	}
	got.Skipped = nil
	for i := range got.Jobs {
		got.Jobs[i].Job = ""
	}
	if diff := cmp.Diff(report, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if s := g.wanted[len(g.wanted)-1]; s.DeadLetters == nil || !cmp.Equal(*s.DeadLetters, o.Filter) {
		t.Errorf("selected %+v", s)
	}
}

// What hits all jobs alike ends a call, but never hides what it accepted.
func TestRetryDeadLettersStops(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	g := newDeadLetters(r, 1, 1, 1)
	away := penstock.Errorf(penstock.CodeOverloaded, "The store is away.")
	g.errs[g.jobs[1].Job.ID] = away
	report, err := r.RetryDeadLetters(t.Context(), r.caller, DeadLetterOrder{}, terms())
	if err != nil || len(report.Jobs) != 1 || len(report.Skipped) != 1 || report.Skipped[0].Reason.Code != penstock.CodeOverloaded || report.Remaining != 2 {
		t.Errorf("got %+v, %v", report, err)
	}
	if _, err := r.RetryDeadLetters(t.Context(), r.caller, DeadLetterOrder{}, terms()); penstock.ErrorCode(err) != penstock.CodeOverloaded {
		t.Errorf("when nothing can be accepted: %v", err)
	}
}

func TestDismissDeadLetters(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	g := newDeadLetters(r, 2, 1)
	filter := store.DeadLetterFilter{Kind: "timeout"}
	n, left, err := r.DismissDeadLetters(t.Context(), r.caller, DeadLetterOrder{Filter: filter, DryRun: true})
	if err != nil || n != 3 || left != 0 || len(g.dismissals) != 0 {
		t.Errorf("a dry run: %d, %d left, %v, dismissed %+v", n, left, err, g.dismissals)
	}
	if _, _, err := r.DismissDeadLetters(t.Context(), r.caller, DeadLetterOrder{Filter: filter}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]store.Dismissal{{Filter: filter, Actor: "app", Limit: MaxDismissals}}, g.dismissals); diff != "" {
		t.Errorf("dismissed (-want +got):\n%s", diff)
	}
	r.caller.Scopes = []penstock.Scope{penstock.ScopeJobsRead}
	if _, _, err := r.DismissDeadLetters(t.Context(), r.caller, DeadLetterOrder{Filter: filter}); penstock.ErrorCode(err) != penstock.CodeScopeMissing {
		t.Errorf("without the scope: %v", err)
	}
}

// Item k of a call may start k/rate seconds from now, over all of its jobs, and then has the time that it
// would have had without a rate.
func TestRetryRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t)
		g := newDeadLetters(r, rapid.SliceOfN(rapid.IntRange(1, 40), 1, 5).Draw(rt, "sizes")...)
		how := terms()
		how.Rate = rapid.Float64Range(MinRetryRate, MaxRetryRate).Draw(rt, "rate")
		if _, err := r.RetryDeadLetters(t.Context(), r.caller, DeadLetterOrder{}, how); err != nil {
			rt.Fatal(err)
		}
		k := 0
		for _, retry := range g.got {
			for _, item := range retry.Items {
				if soonest := time.Duration(float64(k) / how.Rate * 1e9); item.StartIn < soonest-time.Microsecond || item.StartIn > soonest+time.Microsecond {
					rt.Fatalf("item %d starts in %v, want %v", k, item.StartIn, soonest)
				}
				if retry.DeadlineIn < item.StartIn+DefaultDeadline {
					rt.Fatalf("item %d starts in %v with a deadline in %v", k, item.StartIn, retry.DeadlineIn)
				}
				k++
			}
		}
	})
}
