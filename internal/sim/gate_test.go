package sim

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFullServerRefuses(t *testing.T) {
	t.Parallel()
	for path, status := range map[string]int{chatPath: 503, messagePath: 529} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t, Config{Slots: 2, MaxQueue: 1, FirstTokenLatency: time.Second})
			codes := make(chan int, 4)
			for range 4 {
				go func() { codes <- ask(t, s, path, `{"model":"m","max_tokens":9,`+userHi+`}`).Code }()
			}
			synctest.Wait()
			if got := <-codes; got != status {
				t.Errorf("%s: the fourth request got %d, want %d at once", path, got, status)
			}
			start := time.Now()
			for range 3 {
				if got := <-codes; got != http.StatusOK {
					t.Errorf("%s: %d, want 200", path, got)
				}
			}
			if took := time.Since(start); took != 2*time.Second {
				t.Errorf("%s: three requests in two slots took %v, want 2s", path, took)
			}
			if got := s.Stats(); got.MaxInFlight != 4 || got.InFlight != 0 {
				t.Errorf("stats: %+v", got)
			}
		})
	}
}

func TestQueueIsFirstComeFirstServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gate{slots: 1, maxQueue: 10}
		start := func(ctx context.Context) error { return g.start(ctx, nil) }
		if err := start(t.Context()); err != nil {
			t.Fatal(err)
		}
		order := make(chan int, 5)
		impatient, leave := context.WithCancel(t.Context())
		for i := range 5 {
			ctx := t.Context()
			if i == 2 {
				ctx = impatient
			}
			go func() {
				if start(ctx) == nil {
					order <- i
					g.leave()
				}
			}()
			synctest.Wait() // so that they queue in this order
		}
		leave()
		synctest.Wait()
		g.leave()
		synctest.Wait()
		close(order)
		var got []int
		for i := range order {
			got = append(got, i)
		}
		if diff := cmp.Diff([]int{0, 1, 3, 4}, got); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		if g.used != 0 || g.queue.Len() != 0 {
			t.Errorf("%d slots used and %d waiting at the end", g.used, g.queue.Len())
		}
	})
}

func TestMoreSlotsAdmitAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := Config{Slots: 1, MaxQueue: 9, FirstTokenLatency: time.Second}
		s := newServer(t, cfg)
		start := time.Now()
		ended := make(chan time.Duration, 4)
		for range 4 {
			go func() {
				ask(t, s, chatPath, chatBody("Hi"))
				ended <- time.Since(start)
			}()
		}
		synctest.Wait()
		cfg.Slots = 3
		if err := s.Configure(cfg); err != nil {
			t.Fatal(err)
		}
		var got []time.Duration
		for range 4 {
			got = append(got, <-ended)
		}
		if diff := cmp.Diff(millis(1000, 1000, 1000, 2000), got); diff != "" {
			t.Errorf("ends (-want +got):\n%s", diff)
		}
	})
}

func TestHangHoldsItsSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{Slots: 1})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			do(s, newRequest(ctx, chatPath, chatBody("[sim:fault=hang]")))
		}()
		synctest.Wait()
		wantStatus(t, ask(t, s, chatPath, chatBody("Hi")), 503)
		cancel()
		<-ended
		wantStatus(t, ask(t, s, chatPath, chatBody("Hi")), 200)
	})
}
