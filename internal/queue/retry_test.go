package queue

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"penstock/internal/provider"
)

func TestNext(t *testing.T) {
	t.Parallel()
	b := Backoff{Base: time.Second, Max: time.Minute}
	const almost = 0.999999
	for _, tt := range []struct {
		name  string
		f     Failure
		wait  time.Duration // in milliseconds, rounded
		again bool
	}{
		{"first failure, no luck", Failure{Kind: provider.KindServer, Tries: 1, Counted: 1, MaxAttempts: 4, Jitter: almost}, 1000, true},
		{"first failure, half", Failure{Kind: provider.KindServer, Tries: 1, Counted: 1, MaxAttempts: 4, Jitter: 0.5}, 500, true},
		{"first failure, at once", Failure{Kind: provider.KindServer, Tries: 1, Counted: 1, MaxAttempts: 4}, 0, true},
		{"second failure", Failure{Kind: provider.KindServer, Tries: 2, Counted: 2, MaxAttempts: 4, Jitter: 0.5}, 1000, true},
		{"third failure", Failure{Kind: provider.KindServer, Tries: 3, Counted: 3, MaxAttempts: 4, Jitter: 0.5}, 2000, true},
		{"fourth of four", Failure{Kind: provider.KindServer, Tries: 4, Counted: 4, MaxAttempts: 4, Jitter: 0.5}, 0, false},
		{"more than the maximum", Failure{Kind: provider.KindServer, Tries: 9, Counted: 9, MaxAttempts: 4, Jitter: 0.5}, 0, false},
		{"one of one", Failure{Kind: provider.KindServer, Tries: 1, Counted: 1, MaxAttempts: 1, Jitter: 0.5}, 0, false},
		{"the bound stops growing", Failure{Kind: provider.KindServer, Tries: 7, Counted: 1, MaxAttempts: 4, Jitter: 0.5}, 30_000, true},
		{"and stays", Failure{Kind: provider.KindServer, Tries: 1_000_000, Counted: 1, MaxAttempts: 4, Jitter: 0.5}, 30_000, true},
		{"no try recorded", Failure{Kind: provider.KindRateLimited, Tries: 0, MaxAttempts: 4, Jitter: 0.5}, 500, true},

		{"asked to wait", Failure{Kind: provider.KindServer, Tries: 1, Counted: 1, MaxAttempts: 4, RetryAfter: 7 * time.Second}, 7000, true},
		{"asked to wait, and jitter", Failure{Kind: provider.KindServer, Tries: 1, Counted: 1, MaxAttempts: 4, RetryAfter: 7 * time.Second, Jitter: 0.5}, 7500, true},
		{"asked for more than the most", Failure{Kind: provider.KindServer, Tries: 1, Counted: 1, MaxAttempts: 4, RetryAfter: time.Hour}, 3_600_000, true},
		{"asked to wait after the last", Failure{Kind: provider.KindServer, Tries: 4, Counted: 4, MaxAttempts: 4, RetryAfter: time.Hour}, 0, false},

		{"limited beyond all counts", Failure{Kind: provider.KindRateLimited, Tries: 500, Counted: 4, MaxAttempts: 4, Jitter: 0.5}, 30_000, true},
		{"rejected", Failure{Kind: provider.KindRejected, Tries: 1, Counted: 1, MaxAttempts: 4, Jitter: 0.5, RetryAfter: time.Second}, 0, false},
	} {
		wait, again := b.Next(tt.f)
		if got := wait.Round(time.Millisecond); got != tt.wait*time.Millisecond || again != tt.again {
			t.Errorf("%s: wait %v, again %v; want %v, %v", tt.name, got, again, tt.wait*time.Millisecond, tt.again)
		}
	}
}

// The kinds that are ever tried again, and the one that does not count, written down by hand.
func TestNextByKind(t *testing.T) {
	t.Parallel()
	retried := map[provider.Kind]bool{
		provider.KindRateLimited: true, provider.KindOverloaded: true, provider.KindServer: true, provider.KindConnect: true,
		provider.KindNetwork: true, provider.KindTimeout: true, provider.KindTruncated: true, provider.KindMalformed: true,
		provider.KindInternal: true, provider.KindMemory: true,
	}
	for _, kind := range provider.Kinds {
		if _, again := DefaultBackoff.Next(Failure{Kind: kind, Tries: 1, Counted: 1, MaxAttempts: 2}); again != retried[kind] {
			t.Errorf("%s: tried again is %v, want %v", kind, again, retried[kind])
		}
		_, again := DefaultBackoff.Next(Failure{Kind: kind, Tries: 2, Counted: 2, MaxAttempts: 2})
		if free := kind == provider.KindRateLimited; again != free {
			t.Errorf("%s: tried again after the last counted attempt is %v, want %v", kind, again, free)
		}
	}
}

func anyFailure() *rapid.Generator[Failure] {
	return rapid.Custom(func(t *rapid.T) Failure {
		return Failure{
			Kind:        rapid.SampledFrom(provider.Kinds).Draw(t, "kind"),
			Tries:       rapid.OneOf(rapid.IntRange(0, 5), rapid.IntRange(20, 40), rapid.Just(1_000_000)).Draw(t, "tries"),
			Counted:     rapid.IntRange(0, 25).Draw(t, "counted"),
			MaxAttempts: rapid.IntRange(1, 20).Draw(t, "max attempts"),
			RetryAfter:  time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "retry after")),
			Jitter:      rapid.SampledFrom([]float64{0, 0.1, 0.5, 0.9999999}).Draw(t, "jitter"),
		}
	})
}

// wrongWait says what is wrong with a wait, whatever the backoff; "" when nothing is.
func wrongWait(b Backoff, f Failure) string {
	wait, again := b.Next(f)
	switch {
	case !again && wait != 0:
		return fmt.Sprintf("waits %v for nothing", wait)
	case !again:
		return ""
	case wait < min(f.RetryAfter, MaxRetryAfter):
		return fmt.Sprintf("waits %v although %v were asked for", wait, f.RetryAfter)
	case wait > min(f.RetryAfter, MaxRetryAfter)+b.Max:
		return fmt.Sprintf("waits %v, which is more than %v", wait, f.RetryAfter+b.Max)
	case f.Counted >= f.MaxAttempts && !f.Kind.Policy().Free:
		return "is tried again although no attempt is left"
	}
	if fewer := f; f.Tries > 1 {
		fewer.Tries--
		if before, _ := b.Next(fewer); before > wait {
			return fmt.Sprintf("waits %v after %d tries but %v after %d", wait, f.Tries, before, fewer.Tries)
		}
	}
	return ""
}

func TestNextProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := anyFailure().Draw(t, "failure")
		if wrong := wrongWait(DefaultBackoff, f); wrong != "" {
			t.Fatalf("%+v %s", f, wrong)
		}
	})
}

func TestNextOfLongBackoffs(t *testing.T) {
	t.Parallel()
	for _, base := range []time.Duration{5 * time.Second, time.Minute, time.Hour} {
		b := Backoff{Base: base, Max: 24 * time.Hour}
		for tries := range 70 {
			f := Failure{Kind: provider.KindServer, Tries: tries, Counted: 1, MaxAttempts: 4, Jitter: 0.5}
			if wrong := wrongWait(b, f); wrong != "" {
				t.Errorf("base %v: %s", base, wrong)
			}
		}
	}
}

func TestFreeKindsAreNeverExhausted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := anyFailure().Draw(t, "failure")
		f.Kind = provider.KindRateLimited
		if _, again := DefaultBackoff.Next(f); !again {
			t.Fatalf("%+v is given up", f)
		}
	})
}
