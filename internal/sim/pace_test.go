package sim

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// clocked notes when each write of a body came, counted from start.
type clocked struct {
	*httptest.ResponseRecorder
	start time.Time
	at    []time.Duration
}

func (c *clocked) Write(b []byte) (int, error) {
	c.at = append(c.at, time.Since(c.start))
	return c.ResponseRecorder.Write(b)
}

func (c *clocked) Unwrap() http.ResponseWriter { return c.ResponseRecorder }

// timesOf returns when each part of the answer came.
func timesOf(t *testing.T, s *Server, body string) []time.Duration {
	w := &clocked{ResponseRecorder: httptest.NewRecorder(), start: time.Now()}
	s.ServeHTTP(w, newRequest(t.Context(), chatPath, body))
	wantStatus(t, w.ResponseRecorder, http.StatusOK)
	return w.at
}

func millis(ms ...int) []time.Duration {
	var list []time.Duration
	for _, m := range ms {
		list = append(list, time.Duration(m)*time.Millisecond)
	}
	return list
}

func TestPace(t *testing.T) {
	t.Parallel()
	slow := Config{FirstTokenLatency: 100 * time.Millisecond, TokensPerSecond: 50, OutputTokens: 4}
	stalling := Config{OutputTokens: 2, Stall: time.Second, Faults: Faults{Stall: 1}}
	for _, tc := range []struct {
		name string
		cfg  Config
		body string
		want []time.Duration // role, tokens, finish, [DONE]; or a body and its last byte
	}{
		{"instant stream", Config{OutputTokens: 2}, chatStreamBody("Hi"), millis(0, 0, 0, 0, 0)},
		{"instant", Config{OutputTokens: 2}, chatBody("Hi"), millis(0, 0)},
		{"stream", slow, chatStreamBody("Hi"), millis(100, 100, 120, 140, 160, 160, 160)},
		{"plain takes as long", slow, chatBody("Hi"), millis(160, 160)},
		{"directive", slow, chatBody("[sim:latency=250ms tokens=1]"), millis(250, 250)},
		{"directive, stream", slow, chatStreamBody("[sim:latency=250ms tokens=2]"), millis(250, 250, 270, 270, 270)},
		{"stall in a stream", stalling, chatStreamBody("Hi"), millis(0, 0, 1000, 1000, 1000)},
		{"stall in a body", stalling, chatBody("Hi"), millis(0, 1000, 1000)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				got := timesOf(t, newServer(t, tc.cfg), tc.body)
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("times (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestStalledAnswerIsStillWhole(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{Faults: Faults{Stall: 1}})
		calm := newServer(t, Config{})
		for _, body := range []string{chatBody("Hi"), chatStreamBody("Hi")} {
			want := ask(t, calm, chatPath, body).Body.String()
			got := ask(t, s, chatPath, body).Body.String()
			// The servers count requests alike, so ids agree; only the clock moved.
			if len(got) != len(want) || strings.Count(got, "content") != strings.Count(want, "content") {
				t.Errorf("stalled: %s\nwant: %s", got, want)
			}
		}
		if got := s.Stats().Prompts.Completed; got != 1 {
			t.Errorf("%d prompts completed, want 1", got)
		}
	})
}

func TestJitterIsBoundedAndSeeded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := Config{Seed: 3, FirstTokenLatency: 100 * time.Millisecond, Jitter: 0.2, OutputTokens: 1}
		measure := func() []time.Duration {
			s := newServer(t, cfg)
			var list []time.Duration
			for range 200 {
				list = append(list, timesOf(t, s, chatBody("Hi"))[0])
			}
			return list
		}
		first := measure()
		var low, high, sum time.Duration = first[0], first[0], 0
		for _, d := range first {
			low, high, sum = min(low, d), max(high, d), sum+d
		}
		if low < 80*time.Millisecond || high > 120*time.Millisecond {
			t.Errorf("latencies from %v to %v, want within 80 to 120 ms", low, high)
		}
		if low > 85*time.Millisecond || high < 115*time.Millisecond {
			t.Errorf("latencies only from %v to %v", low, high)
		}
		if mean := sum / 200; mean < 97*time.Millisecond || mean > 103*time.Millisecond {
			t.Errorf("mean latency %v, want about 100 ms", mean)
		}
		if diff := cmp.Diff(first, measure()); diff != "" {
			t.Errorf("the same seed gives other latencies:\n%s", diff)
		}
	})
}

func TestClientThatLeavesIsNoticed(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"waiting for the first token": {FirstTokenLatency: time.Hour},
		"between tokens":              {TokensPerSecond: 0.001},
		"stalled":                     {Stall: time.Hour, Faults: Faults{Stall: 1}},
		"hanging":                     {Faults: Faults{Hang: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, body := range []string{chatBody("Hi"), chatStreamBody("Hi")} {
				synctest.Test(t, func(t *testing.T) {
					s := newServer(t, cfg)
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					start := time.Now()
					do(s, newRequest(ctx, chatPath, body))
					if took := time.Since(start); took != time.Second {
						t.Errorf("the request ended after %v, want 1s", took)
					}
					if got := s.Stats(); got.Cancelled != 1 || got.InFlight != 0 || got.Prompts.Completed != 0 {
						t.Errorf("stats: %+v", got)
					}
				})
			}
		})
	}
}

func TestCloseEndsWhatWaits(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"waiting for the first token": {FirstTokenLatency: time.Hour},
		"hanging":                     {Faults: Faults{Hang: 1}},
		"queued":                      {Slots: 1, MaxQueue: 1, FirstTokenLatency: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, cfg)
				bodies := make(chan string, 2)
				for range 2 {
					go func() { bodies <- ask(t, s, chatPath, chatBody("Hi")).Body.String() }()
				}
				synctest.Wait()
				if got := s.Stats().InFlight; got != 2 {
					t.Fatalf("%d in flight, want 2", got)
				}
				s.Close()
				for range 2 {
					if got := <-bodies; got != cutMark {
						t.Errorf("answered %q, want a cut connection", got)
					}
				}
				if got := s.Stats(); got.Cancelled != 0 || got.InFlight != 0 {
					t.Errorf("stats: %+v", got)
				}
			})
		})
	}
}
