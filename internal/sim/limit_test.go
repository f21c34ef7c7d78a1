package sim

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestRequestLimit(t *testing.T) {
	t.Parallel()
	for path, body := range map[string]string{
		chatPath:    `{"model":"m",` + userHi + `}`,
		messagePath: `{"model":"m","max_tokens":9,` + userHi + `}`,
		countPath:   `{"model":"m",` + userHi + `}`,
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, Config{RequestsPerMinute: 3})
				for range 3 {
					wantStatus(t, ask(t, s, path, body), http.StatusOK)
				}
				w := ask(t, s, path, body)
				wantStatus(t, w, http.StatusTooManyRequests)
				if got := w.Header().Get("retry-after"); got != "20" {
					t.Errorf("retry-after %q, want 20", got)
				}
				<-time.After(20*time.Second - time.Millisecond)
				wantStatus(t, ask(t, s, path, body), http.StatusTooManyRequests)
				<-time.After(time.Millisecond)
				wantStatus(t, ask(t, s, path, body), http.StatusOK)
				wantStatus(t, ask(t, s, path, body), http.StatusTooManyRequests)
			})
		})
	}
}

func TestTokenLimits(t *testing.T) {
	t.Parallel()
	fortyBytes := strings.Repeat("abcd", 10)
	for _, tc := range []struct {
		name   string
		cfg    Config
		prompt string
		wait   string // until the second request fits
	}{
		{"input", Config{InputTokensPerMinute: 15}, fortyBytes, "20000"},
		{"output", Config{OutputTokens: 10, OutputTokensPerMinute: 15}, "Hi", "20000"},
		{"the longer wait counts", Config{RequestsPerMinute: 1, OutputTokens: 10, OutputTokensPerMinute: 15}, "Hi", "60000"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, tc.cfg)
				wantStatus(t, ask(t, s, chatPath, chatBody(tc.prompt)), http.StatusOK)
				w := ask(t, s, chatPath, chatBody(tc.prompt))
				wantStatus(t, w, http.StatusTooManyRequests)
				if got := w.Header().Get("retry-after-ms"); got != tc.wait {
					t.Errorf("retry-after-ms %q, want %q: %s", got, tc.wait, w.Body)
				}
			})
		})
	}
}

// TestWaitingAsAskedIsEnough waits exactly as long as the server asks, at awkward rates.
func TestWaitingAsAskedIsEnough(t *testing.T) {
	t.Parallel()
	for _, perMinute := range []int{1, 7, 13, 59, 61, 997, 12_345} {
		now := time.Unix(0, 0)
		var l limiter
		l.configure(now, rates{requests: perMinute})
		for n := range 3 * perMinute {
			_, err := l.take(now, rates{requests: 1})
			if n < perMinute {
				if err != nil {
					t.Fatalf("at %d per minute, request %d was refused: %v", perMinute, n, err)
				}
				continue
			}
			if err == nil {
				t.Fatalf("at %d per minute, request %d was let in at once", perMinute, n)
			}
			now = now.Add(err.(*failure).retryAfter)
			if _, err := l.take(now, rates{requests: 1}); err != nil {
				t.Fatalf("at %d per minute, waiting as asked was not enough: %v", perMinute, err)
			}
		}
	}
}

func TestRequestLargerThanTheLimitGetsNoRetryTime(t *testing.T) {
	t.Parallel()
	s := newServer(t, Config{InputTokensPerMinute: 5})
	w := ask(t, s, chatPath, chatBody(strings.Repeat("abcd", 6)))
	wantStatus(t, w, http.StatusTooManyRequests)
	if got := w.Header().Get("retry-after"); got != "" || !strings.Contains(w.Body.String(), "too large") {
		t.Errorf("retry-after %q: %s", got, w.Body)
	}
	wantStatus(t, ask(t, s, chatPath, chatBody("abcd")), http.StatusOK) // and nothing was charged
}

func TestLimitHeaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, Config{RequestsPerMinute: 2, InputTokensPerMinute: 1000, OutputTokensPerMinute: 6, OutputTokens: 3})
		ask(t, s, chatPath, chatBody("Hi"))
		ask(t, s, chatPath, chatBody("Hi"))
		for path, want := range map[string]map[string]string{
			chatPath: {
				"x-ratelimit-limit-requests":     "2",
				"x-ratelimit-remaining-requests": "0",
				"x-ratelimit-reset-requests":     "1m0s",
				"x-ratelimit-limit-tokens":       "6", // the tighter of the two
				"x-ratelimit-remaining-tokens":   "0",
				"x-ratelimit-reset-tokens":       "1m0s",
				"retry-after":                    "30",
				"retry-after-ms":                 "30000",
			},
			messagePath: {
				"anthropic-ratelimit-requests-limit":          "2",
				"anthropic-ratelimit-requests-remaining":      "0",
				"anthropic-ratelimit-requests-reset":          "2000-01-01T00:01:00Z",
				"anthropic-ratelimit-input-tokens-limit":      "1000",
				"anthropic-ratelimit-input-tokens-remaining":  "998",
				"anthropic-ratelimit-input-tokens-reset":      "2000-01-01T00:00:01Z",
				"anthropic-ratelimit-output-tokens-limit":     "6",
				"anthropic-ratelimit-output-tokens-remaining": "0",
				"anthropic-ratelimit-output-tokens-reset":     "2000-01-01T00:01:00Z",
				"retry-after":    "30",
				"retry-after-ms": "",
			},
		} {
			w := ask(t, s, path, `{"model":"m","max_tokens":9,`+userHi+`}`)
			wantStatus(t, w, http.StatusTooManyRequests)
			for name, value := range want {
				if got := w.Header().Get(name); got != value {
					t.Errorf("%s: %q, want %q", name, got, value)
				}
			}
		}
	})
}

func TestWireDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0:                       "0s",
		time.Nanosecond:         "1ms",
		12 * time.Millisecond:   "12ms",
		8640 * time.Millisecond: "8.64s",
		6 * time.Minute:         "6m0s",
	} {
		if got := wireDuration(d); got != want {
			t.Errorf("%d ns: %q, want %q", d, got, want)
		}
	}
}

// TestLimiterNeverExceedsItsRate plays random costs and pauses against the limiter: what was let through may
// never exceed what was there at first and what came in since, and what fits is let through.
func TestLimiterNeverExceedsItsRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limits := rates{
			requests: rapid.IntRange(0, 20).Draw(t, "requests"),
			input:    rapid.IntRange(0, 500).Draw(t, "input"),
			output:   rapid.IntRange(0, 500).Draw(t, "output"),
		}
		start := time.Unix(0, 0)
		now := start
		var l limiter
		l.configure(start, limits)
		var used [3]int
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "pause")))
			cost := rates{1, rapid.IntRange(0, 200).Draw(t, "in"), rapid.IntRange(0, 200).Draw(t, "out")}
			before := l.buckets
			_, err := l.take(now, cost)
			for i, n := range cost.list() {
				limit := limits.list()[i]
				if err == nil && limit > 0 {
					used[i] += n
				}
				allowed := float64(limit) * (1 + now.Sub(start).Minutes())
				if limit > 0 && float64(used[i]) > allowed+0.01 {
					t.Fatalf("limit %d: %d let through after %v, of %v allowed", i, used[i], now.Sub(start), allowed)
				}
				if err != nil && l.buckets[i].level < before[i].level {
					t.Fatalf("limit %d: a refused request was charged", i)
				}
			}
		}
	})
}
