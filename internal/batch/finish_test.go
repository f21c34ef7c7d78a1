package batch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/store"
)

// archive is a store of one batch whose job has ended, and a place for its files, in memory.
type archive struct {
	mu       sync.Mutex
	by       penstock.ID
	until    time.Time
	done     bool
	written  int
	claims   int
	pageTime time.Duration // how long a page of results takes
	broken   error         // what the next page fails with
	parts    []penstock.ID // further jobs of the batch
	ended    time.Time     // when the last of its jobs had
}

const archived = 10 // pages of results

func (a *archive) UnfinishedBatches(context.Context, int) ([]store.Batch, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done || time.Now().Before(a.until) {
		return nil, nil
	}
	return []store.Batch{{ID: "01JQ0000000000000000000000", Tenant: tenant, Kind: store.BatchNative, Parts: a.parts, Job: penstock.Job{FinishedAt: a.ended}}}, nil
}

func (a *archive) ClaimBatch(_ context.Context, _ penstock.TenantID, c store.BatchClaim) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.claims++
	if a.done || c.By != a.by && time.Now().Before(a.until) {
		return false, nil
	}
	a.by, a.until = c.By, time.Now().Add(c.For)
	return true, nil
}

func (a *archive) FinishBatch(context.Context, penstock.TenantID, store.BatchFiles) (b store.Batch, won bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	won = !a.done
	a.done = true
	return b, won, nil
}

func (a *archive) Results(ctx context.Context, _ penstock.TenantID, _ penstock.ID, p store.ResultPage) ([]penstock.Item, bool, error) {
	a.mu.Lock()
	broken := a.broken
	a.broken = nil
	a.mu.Unlock()
	select {
	case <-time.After(a.pageTime):
	case <-ctx.Done():
		broken = ctx.Err()
	}
	next := int(p.After) + 1
	return []penstock.Item{{Index: next, Status: penstock.StatusSucceeded}}, next < archived-1, broken
}

func (a *archive) Write(_ context.Context, _ penstock.TenantID, content io.Reader) (store.File, error) {
	_, err := io.Copy(io.Discard, content)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		a.written++
	}
	return store.File{}, err
}

func (a *archive) Discard(context.Context, store.File) {}

func (a *archive) Publish(...penstock.ID) {}

func (a *archive) WriteLine(w *bufio.Writer, _ store.BatchKind, item penstock.Item) error {
	_, err := fmt.Fprintln(w, item.Index)
	return err
}

func (a *archive) finisher(t *testing.T) *Finisher {
	t.Helper()
	f, err := NewFinisher(FinisherDeps{Store: a, Artifacts: a, Writer: a, Jobs: a, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestOneWritesTheFiles holds that of several finishers one writes, however long it takes.
func TestOneWritesTheFiles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &archive{pageTime: claimFor}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 3 {
			f := a.finisher(t)
			all.Go(func() { _ = f.Run(ctx) })
		}
		time.Sleep(3 * archived * claimFor)
		cancel()
		all.Wait()
		if !a.done || a.written != 1 {
			t.Errorf("done: %v, %d files were written", a.done, a.written)
		}
	})
}

// TestDoneWithItsLastJob holds that a batch of several jobs is done when the last of them has ended, and is not looked
// at all the time until then.
func TestDoneWithItsLastJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &archive{parts: []penstock.ID{"01JQ0000000000000000000001"}}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _ = a.finisher(t).Run(ctx) })
		defer all.Wait()
		defer cancel()
		time.Sleep(time.Minute)
		a.mu.Lock()
		if most := int(time.Minute/partsPoll) + 1; a.done || a.claims > most {
			t.Errorf("after a minute with one of two jobs ended, it is done: %v; claimed %d times, want %d at most", a.done, a.claims, most)
		}
		a.ended = time.Now()
		a.mu.Unlock()
		time.Sleep(partsPoll + finishPoll + archived*time.Second)
		a.mu.Lock()
		defer a.mu.Unlock()
		if !a.done {
			t.Error("it is not done though all of its jobs have ended")
		}
	})
}

// TestAnotherWritesTheFiles holds that a batch does not wait for a finisher that stopped or failed, and not for long
// for one that vanished.
func TestAnotherWritesTheFiles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &archive{pageTime: time.Second, broken: errors.New("the disk is away")}
		first, second := a.finisher(t), a.finisher(t)
		if _, err := first.runOnce(t.Context()); err == nil {
			t.Error("an error was not told")
		}
		ctx, cancel := context.WithTimeout(t.Context(), archived*time.Second/2)
		defer cancel()
		if done, err := first.runOnce(ctx); done > 0 || err == nil {
			t.Errorf("%d were finished, %v", done, err)
		}
		if claimed, err := first.claim(t.Context(), store.Batch{}, claimFor); !claimed || err != nil { // and vanishes
			t.Fatalf("claimed: %v, %v", claimed, err)
		}
		if done, err := second.runOnce(t.Context()); done > 0 || err != nil {
			t.Errorf("%d were finished that another has, %v", done, err)
		}
		time.Sleep(claimFor)
		if done, err := second.runOnce(t.Context()); done != 1 || err != nil || a.written != 1 {
			t.Errorf("%d were finished in the end, %v; %d files", done, err, a.written)
		}
	})
}
