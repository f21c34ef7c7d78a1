package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

// fakeWriter takes a second for every transaction and notes the groups.
type fakeWriter struct {
	mu     sync.Mutex
	groups [][]penstock.ID
	fail   func(ctx context.Context, group []*pendingSubmit) error // nil for no failure
}

func (w *fakeWriter) write(ctx context.Context, group []*pendingSubmit) error {
	ids := make([]penstock.ID, len(group))
	for i, p := range group {
		ids[i] = p.Job.ID
	}
	w.mu.Lock()
	w.groups = append(w.groups, ids)
	w.mu.Unlock()
	time.Sleep(time.Second)
	if w.fail != nil {
		return w.fail(ctx, group)
	}
	return nil
}

func pending(id penstock.ID, bytes int) *pendingSubmit {
	items := []store.NewItem{{Body: make([]byte, bytes)}}
	return &pendingSubmit{
		acceptance: acceptance{Submission: store.Submission{Job: penstock.Job{ID: id}, Items: items}},
		tenant:     "acme", items: submittedItems{items: items},
	}
}

// submitAll submits in order, the first some time before the others, and returns the errors.
func submitAll(ctx context.Context, q *submitQueue, w *fakeWriter, all []*pendingSubmit) []error {
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, p := range all {
		group.Go(func() { errs[i] = q.run(ctx, p, w.write) })
		synctest.Wait()
	}
	group.Wait()
	synctest.Wait() // for the goroutine that writes groups
	return errs
}

func (w *fakeWriter) sizes() (all []int) {
	for _, g := range w.groups {
		all = append(all, len(g))
	}
	return all
}

func TestSubmitQueueGroups(t *testing.T) {
	t.Parallel()
	keyed := func(p *pendingSubmit, key string) *pendingSubmit {
		p.Idempotency = &store.IdempotencyKey{Key: key}
		return p
	}
	var many []*pendingSubmit
	for n := range 1 + maxGroupSubmits + 5 {
		many = append(many, pending(penstock.ID(fmt.Sprint(n)), 1))
	}
	for name, c := range map[string]struct {
		submits []*pendingSubmit
		sizes   []int
	}{
		"a lone submit is written at once":         {[]*pendingSubmit{pending("a", 1)}, []int{1}},
		"those that wait are written together":     {[]*pendingSubmit{pending("a", 1), pending("b", 1), pending("c", 1)}, []int{1, 2}},
		"a group has a bounded number":             {many, []int{1, maxGroupSubmits, 5}},
		"a group has bounded bytes":                {[]*pendingSubmit{pending("a", 1), pending("b", maxGroupBytes/2), pending("c", maxGroupBytes/2), pending("d", 1)}, []int{1, 2, 1}},
		"submits with the same key are not in one": {[]*pendingSubmit{pending("a", 1), keyed(pending("b", 1), "k"), keyed(pending("c", 1), "k"), keyed(pending("d", 1), "l")}, []int{1, 1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q, w := &submitQueue{}, &fakeWriter{}
				if err := errors.Join(submitAll(t.Context(), q, w, c.submits)...); err != nil {
					t.Error(err)
				}
				if !slices.Equal(w.sizes(), c.sizes) {
					t.Errorf("groups of %v, want %v", w.sizes(), c.sizes)
				}
				if len(q.waiting) != 0 {
					t.Errorf("the queue still has %v", q.waiting)
				}
			})
		})
	}
}

// Tenants do not wait for each other.
func TestSubmitQueueTenants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, w := &submitQueue{}, &fakeWriter{}
		other := pending("b", 1)
		other.tenant = "umbra"
		began := time.Now()
		if err := errors.Join(submitAll(t.Context(), q, w, []*pendingSubmit{pending("a", 1), other})...); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("two tenants took %v, want the second that each takes", took)
		}
	})
}

// A caller whose context ends leaves the queue alone. One whose submit is in a group learns the outcome, and the group goes on.
func TestSubmitQueueCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, w := &submitQueue{}, &fakeWriter{fail: func(ctx context.Context, _ []*pendingSubmit) error { return ctx.Err() }}
		leaving, leave := context.WithCancel(t.Context())
		leading, cancel := context.WithCancel(t.Context())
		contexts := []context.Context{t.Context(), leaving, leading, t.Context()}
		errs := make([]error, len(contexts))
		var group sync.WaitGroup
		for i, ctx := range contexts {
			group.Go(func() { errs[i] = q.run(ctx, pending(penstock.ID(fmt.Sprint(i)), 1), w.write) })
			synctest.Wait()
		}
		leave() // it still waits
		synctest.Wait()
		time.Sleep(1500 * time.Millisecond) // the first is written, and the third leads the group
		cancel()
		group.Wait()
		if !errors.Is(errs[1], context.Canceled) {
			t.Errorf("the caller that left got %v", errs[1])
		}
		if err := errors.Join(errs[0], errs[2], errs[3]); err != nil {
			t.Errorf("the others got %v", err)
		}
		if want := [][]penstock.ID{{"0"}, {"2", "3"}}; fmt.Sprint(w.groups) != fmt.Sprint(want) {
			t.Errorf("wrote %v, want %v", w.groups, want)
		}
	})
}

// A submit that makes its group fail does not fail the others: each is written alone.
func TestSubmitQueueBadMember(t *testing.T) {
	t.Parallel()
	bad := errors.New("out of range")
	for name, c := range map[string]struct {
		err       error
		committed bool
		groups    int
		failed    int
	}{
		"before the commit":              {bad, false, 5, 1},
		"rolled back by the database":    {fmt.Errorf("%w: %w", sqldb.ErrRolledBack, bad), true, 5, 1},
		"unknown whether it was written": {bad, true, 2, 3},
		"the store is away":              {penstock.ErrUnreachable, false, 2, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &fakeWriter{fail: func(_ context.Context, group []*pendingSubmit) error {
					for _, p := range group {
						p.named = c.committed
					}
					if slices.ContainsFunc(group, func(p *pendingSubmit) bool { return p.Job.ID == "bad" }) {
						return c.err
					}
					return nil
				}}
				failed := 0
				for _, err := range submitAll(t.Context(), &submitQueue{}, w, []*pendingSubmit{pending("a", 1), pending("b", 1), pending("bad", 1), pending("c", 1)}) {
					if err != nil {
						failed++
					}
				}
				if failed != c.failed || len(w.groups) != c.groups {
					t.Errorf("%d submits failed in %d transactions, want %d in %d", failed, len(w.groups), c.failed, c.groups)
				}
			})
		})
	}
}

// A panic ends the caller that it happened to, and no other submit waits for ever.
func TestSubmitQueuePanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &submitQueue{}
		w := &fakeWriter{fail: func(_ context.Context, group []*pendingSubmit) error {
			if len(group) > 1 {
				panic("defect")
			}
			return nil
		}}
		errs, panics := make([]error, 4), make([]any, 4)
		var group sync.WaitGroup
		for i := range errs {
			group.Go(func() {
				defer func() { panics[i] = recover() }()
				errs[i] = q.run(t.Context(), pending(penstock.ID(fmt.Sprint(i)), 1), w.write)
			})
			synctest.Wait()
		}
		group.Wait()
		if errs[0] != nil || panics[1] == nil || errs[2] == nil || errs[3] == nil {
			t.Errorf("errors %v, panics %v", errs, panics)
		}
		if err := q.run(t.Context(), pending("later", 1), w.write); err != nil {
			t.Errorf("a later submit: %v", err)
		}
	})
}
