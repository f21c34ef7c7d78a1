package microbatch

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// sender sends batches: each takes a while before it is sealed, and a while after.
type sender struct {
	*Batcher[string, int]
	queue, call time.Duration

	mu    sync.Mutex
	calls [][]int
	at    []time.Time
	ended int // batches whose context ended before their call
}

func newSender(queue, call time.Duration) *sender {
	y := &sender{queue: queue, call: call}
	y.Batcher = New(y.carry)
	return y
}

func (y *sender) carry(ctx context.Context, b *Batch[string, int]) {
	time.Sleep(y.queue)
	members := b.Seal()
	y.mu.Lock()
	y.calls, y.at = append(y.calls, slices.Clone(members)), append(y.at, time.Now())
	y.mu.Unlock()
	select {
	case <-ctx.Done():
		y.mu.Lock()
		y.ended++
		y.mu.Unlock()
	case <-time.After(y.call):
	}
}

// known is how many kinds are remembered.
func (y *sender) known() int {
	y.Batcher.mu.Lock()
	defer y.Batcher.mu.Unlock()
	return len(y.kinds)
}

// seen are the calls that were made.
func (y *sender) seen() [][]int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return slices.Clone(y.calls)
}

// first is when the first of them was.
func (y *sender) first() time.Time {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.at[0]
}

func (y *sender) ends() int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.ended
}

var usual = Limits{MaxInputs: 4, MaxTokens: 100, Wait: 5 * time.Millisecond}

func of(value int) Member[string, int] {
	return Member[string, int]{Key: "k", Value: value, Inputs: 1, Tokens: 1, Limits: usual}
}

func TestWhoeverIsAloneDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		y := newSender(0, time.Second)
		for range 2 {
			b, over := y.Join(t.Context(), of(1))
			if b != nil || over == nil {
				t.Fatal("it was put into a batch")
			}
			over()
			over() // once is enough
		}
		if y.known() != 0 {
			t.Errorf("%d kinds are remembered", y.known())
		}
	})
}

func TestBatchesDepart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		members []Member[string, int]
		single  time.Duration // how long the call before them lasts
		want    [][]int
		after   time.Duration
	}{
		{"when the wait is over", []Member[string, int]{of(1), of(2)}, time.Second, [][]int{{1, 2}}, usual.Wait},
		{"when nothing is under way any more", []Member[string, int]{of(1), of(2)}, time.Millisecond, [][]int{{1, 2}}, time.Millisecond},
		{"when they are full", []Member[string, int]{of(1), of(2), of(3), of(4)}, time.Second, [][]int{{1, 2, 3, 4}}, 0},
		{"when one does not fit in", []Member[string, int]{of(1), {Key: "k", Value: 2, Inputs: 1, Tokens: 100, Limits: usual}},
			time.Second, [][]int{{1}, {2}}, 0},
		{"when a member cannot wait", []Member[string, int]{of(1), {Key: "k", Value: 2, Inputs: 1, Limits: Limits{Wait: time.Millisecond}}},
			time.Second, [][]int{{1, 2}}, time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				y := newSender(0, time.Minute)
				began := time.Now()
				_, over := y.Join(t.Context(), of(0))
				time.AfterFunc(tt.single, over)
				for _, m := range tt.members {
					if b, over := y.Join(t.Context(), m); over != nil || b == nil {
						t.Fatal("it is alone")
					}
				}
				time.Sleep(tt.after)
				synctest.Wait()
				if len(y.seen()) == 0 || y.first().Sub(began) != tt.after {
					t.Fatalf("calls %v at %v, want the first after %v", y.seen(), y.first(), tt.after)
				}
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				if !slices.EqualFunc(y.seen(), tt.want, slices.Equal) || y.known() != 0 {
					t.Errorf("calls %v, want %v; %d kinds are remembered", y.seen(), tt.want, y.known())
				}
			})
		})
	}
}

// While a batch waits for capacity it fills up; a more urgent call does not join it.
func TestBatchesFillWhileTheyWaitForCapacity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		y := newSender(time.Second, time.Second)
		_, over := y.Join(t.Context(), of(0))
		defer over()
		later := of(1)
		later.Urgency = 1
		y.Join(t.Context(), later)
		time.Sleep(usual.Wait + time.Millisecond) // it departed
		later.Value = 2
		y.Join(t.Context(), later)
		y.Join(t.Context(), of(3))
		time.Sleep(time.Minute)
		synctest.Wait()
		if !slices.EqualFunc(y.seen(), [][]int{{1, 2}, {3}}, slices.Equal) {
			t.Errorf("calls %v", y.seen())
		}
	})
}

func TestMembersLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		y := newSender(0, time.Hour)
		_, over := y.Join(t.Context(), of(0))
		b, _ := y.Join(t.Context(), of(1))
		y.Join(t.Context(), of(2))
		if !b.Leave(1) {
			t.Error("it cannot leave before the call")
		}
		time.Sleep(usual.Wait)
		synctest.Wait()
		if !slices.EqualFunc(y.seen(), [][]int{{2}}, slices.Equal) || b.Leave(2) {
			t.Fatalf("calls %v; who is part of a call cannot leave without a trace", y.seen())
		}
		synctest.Wait()
		if y.ends() != 1 {
			t.Error("no member waits for the call, and it goes on")
		}
		// A batch that all members left is not sent, and no call joins it.
		b, _ = y.Join(t.Context(), of(3))
		b.Leave(3)
		again, _ := y.Join(t.Context(), of(4))
		if again == b {
			t.Error("a batch was joined that is no more")
		}
		again.Leave(4)
		over()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(y.seen()) != 1 || y.known() != 0 {
			t.Errorf("calls %v, %d kinds are remembered", y.seen(), y.known())
		}
	})
}

// Whatever members join and leave, each is sent once, no bound is exceeded, and no state is left.
func TestPropertyEveryoneIsCarriedOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 3), 1, 40).Draw(rt, "sizes")
		gaps := rapid.SliceOfN(rapid.IntRange(0, 4), len(sizes), len(sizes)).Draw(rt, "gaps")
		synctest.Test(t, func(t *testing.T) {
			y := newSender(2*time.Millisecond, 7*time.Millisecond)
			alone := 0
			for i, inputs := range sizes {
				m := of(i)
				m.Inputs = inputs
				if _, over := y.Join(t.Context(), m); over != nil {
					alone++
					time.AfterFunc(7*time.Millisecond, over)
				}
				time.Sleep(time.Duration(gaps[i]) * time.Millisecond)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			seen := map[int]bool{}
			for _, call := range y.seen() {
				total := 0
				for _, m := range call {
					if seen[m] {
						t.Errorf("member %d was carried twice", m)
					}
					seen[m] = true
					total += sizes[m]
				}
				if total > usual.MaxInputs {
					t.Errorf("a call of %d inputs", total)
				}
			}
			if len(seen)+alone != len(sizes) || y.known() != 0 {
				t.Errorf("%d were carried and %d went alone, of %d; %d kinds are left", len(seen), alone, len(sizes), y.known())
			}
		})
	})
}
