package batch

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"penstock"
	"penstock/internal/store"
)

// archive is a store of one batch whose job has ended, and of its files, in memory.
type archive struct {
	mu       sync.Mutex
	by       penstock.ID
	until    time.Time
	done     bool
	finished store.BatchFiles
	files    []string // contents of the files that were written
	claims   int
	kind     store.BatchKind
	pages    int              // pages of results that were read
	failing  func(n int) bool // which lines failed; nil for none
	pageTime time.Duration    // how long a page of results takes
	broken   error            // what the next page fails with
	parts    []penstock.ID    // further jobs of the batch
	ended    time.Time        // when the last of its jobs had
}

const archived = 10 // pages of results

func (a *archive) UnfinishedBatches(context.Context, int) ([]store.Batch, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done || time.Now().Before(a.until) {
		return nil, nil
	}
	return []store.Batch{{ID: "01JQ0000000000000000000000", Tenant: tenant, Kind: cmp.Or(a.kind, store.BatchNative), Parts: a.parts,
		Job: penstock.Job{FinishedAt: a.ended, Counts: a.counts()}}}, nil
}

func (a *archive) counts() penstock.Counts {
	c := penstock.Counts{Total: archived}
	for n := range archived {
		if a.status(n) == penstock.StatusSucceeded {
			c.Succeeded++
		} else {
			c.Failed++
		}
	}
	return c
}

func (a *archive) status(n int) penstock.Status {
	if a.failing != nil && a.failing(n) {
		return penstock.StatusFailed
	}
	return penstock.StatusSucceeded
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

func (a *archive) FinishBatch(_ context.Context, _ penstock.TenantID, f store.BatchFiles) (b store.Batch, won bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	won = !a.done
	a.done, a.finished = true, f
	return b, won, nil
}

func (a *archive) Results(ctx context.Context, _ penstock.TenantID, _ penstock.ID, p store.ResultPage) ([]penstock.Item, bool, error) {
	a.mu.Lock()
	broken := a.broken
	a.broken = nil
	a.pages++
	a.mu.Unlock()
	select {
	case <-time.After(a.pageTime):
	case <-ctx.Done():
		broken = ctx.Err()
	}
	next := int(p.After) + 1
	return []penstock.Item{{Index: next, Status: a.status(next)}}, next < archived-1, broken
}

func (a *archive) Write(_ context.Context, _ penstock.TenantID, content io.Reader) (store.File, error) {
	text, err := io.ReadAll(content)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		a.files = append(a.files, string(text))
	}
	return store.File{Bytes: int64(len(text))}, err
}

func (a *archive) Discard(_ context.Context, f store.File) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.files = slices.DeleteFunc(a.files, func(text string) bool { return int64(len(text)) == f.Bytes })
}

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

// TestOneWritesTheFiles checks that of several finishers one writes, however long it takes.
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
		if !a.done || len(a.files) != 1 {
			t.Errorf("done: %v, %d files were written", a.done, len(a.files))
		}
	})
}

// TestDoneWithItsLastJob checks that a batch of several jobs is done when the last of them has ended, and that it is
// claimed rarely until then.
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

// TestAnotherWritesTheFiles checks that a batch does not wait for a finisher that stopped or failed, and not for long
// for one that vanished.
func TestAnotherWritesTheFiles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &archive{pageTime: time.Second, broken: errors.New("the disk is away")}
		first, second := a.finisher(t), a.finisher(t)
		if _, err := first.runOnce(t.Context()); err == nil {
			t.Error("an error was not returned")
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
		if done, err := second.runOnce(t.Context()); done != 1 || err != nil || len(a.files) != 1 {
			t.Errorf("%d were finished in the end, %v; %d files", done, err, len(a.files))
		}
	})
}

// TestResultsAreReadOnce checks that a batch with lines that failed is written to both of its files in one pass over its
// results, in the order of its lines.
func TestResultsAreReadOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		failing func(n int) bool
		output  []int
		errors  []int
	}{
		{"none failed", nil, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, nil},
		{"one failed", func(n int) bool { return n == 7 }, []int{0, 1, 2, 3, 4, 5, 6, 8, 9}, []int{7}},
		{"all failed", func(int) bool { return true }, nil, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := &archive{kind: store.BatchOpenAI, failing: c.failing}
			if done, err := a.finisher(t).runOnce(t.Context()); done != 1 || err != nil {
				t.Fatalf("%d batches were finished, %v", done, err)
			}
			if a.pages != archived {
				t.Errorf("%d pages of results were read; there are %d", a.pages, archived)
			}
			var want []string
			for _, ns := range [][]int{c.output, c.errors} {
				var lines strings.Builder
				for _, n := range ns {
					fmt.Fprintln(&lines, n)
				}
				if len(ns) > 0 {
					want = append(want, lines.String())
				}
			}
			slices.Sort(want)
			slices.Sort(a.files) // they are written at the same time
			if !slices.Equal(a.files, want) {
				t.Errorf("the files are %q, want %q", a.files, want)
			}
			if made := a.finished; (made.Output != nil) != (c.output != nil) || (made.ErrorOutput != nil) != (c.errors != nil) {
				t.Errorf("the batch has the files %+v", made)
			}
		})
	}
}

// TestHalfWrittenBatchLeavesNoFile checks that an error on the way to one file removes the other one, and is reported.
func TestHalfWrittenBatchLeavesNoFile(t *testing.T) {
	t.Parallel()
	full := errors.New("the disk is full")
	for _, fails := range []string{"_output", "_error", "both"} {
		a := &archive{kind: store.BatchOpenAI, failing: func(n int) bool { return n%2 == 0 }}
		f := a.finisher(t)
		f.Artifacts = brokenArtifacts{a, func(first string) bool {
			return fails == "both" || (first == "0") == (fails == "_error")
		}, full}
		if done, err := f.runOnce(t.Context()); done != 0 || !errors.Is(err, full) {
			t.Errorf("%s: %d were finished, %v", fails, done, err)
		}
		if a.done || len(a.files) != 0 {
			t.Errorf("%s: done %v, and the files %q are left", fails, a.done, a.files)
		}
		f.Artifacts = a
		if done, err := f.runOnce(t.Context()); done != 1 || err != nil || len(a.files) != 2 {
			t.Errorf("%s: in the end %d were finished, %v, with %d files", fails, done, err, len(a.files))
		}
	}
}

// brokenArtifacts fails to store files, chosen by their first line.
type brokenArtifacts struct {
	*archive
	broken func(first string) bool
	err    error
}

func (b brokenArtifacts) Write(ctx context.Context, tenant penstock.TenantID, content io.Reader) (store.File, error) {
	lines := bufio.NewReader(content)
	first, err := lines.ReadString('\n')
	if err != nil {
		return store.File{}, err
	}
	if b.broken(strings.TrimSpace(first)) {
		return store.File{}, b.err
	}
	return b.archive.Write(ctx, tenant, io.MultiReader(strings.NewReader(first), lines))
}
