package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"penstock/internal/provider"
)

// account is an upstream with one answer for each key.
type account struct {
	mu      sync.Mutex
	answers map[string]func(http.ResponseWriter) // by key; a good answer for none
	seen    []string
}

func (a *account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := r.Header.Get("Authorization")
	a.seen = append(a.seen, key)
	if answer := a.answers[key]; answer != nil {
		answer(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"text":"fine"}`)
}

// calls returns the keys of the calls since the last time.
func (a *account) calls() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	seen := a.seen
	a.seen = nil
	return seen
}

func (a *account) say(key string, answer func(http.ResponseWriter)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answers[key] = answer
}

func status(code int, headers ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprint(w, `{"error":"no"}`)
	}
}

// ringRig is a client with keys a, b and c over an account, at a time of its own.
type ringRig struct {
	t       *testing.T
	client  *Client
	account *account
	now     time.Time
	changes []KeyChange
}

func newRingRig(t *testing.T) *ringRig {
	t.Helper()
	r := &ringRig{t: t, account: &account{answers: map[string]func(http.ResponseWriter){}}, now: time.Unix(1_000_000, 0)}
	up := httptest.NewServer(r.account)
	t.Cleanup(up.Close)
	r.client = newClient(t, Config{BaseURL: up.URL, APIKey: "key-a", APIKeys: []string{"key-b", "key-c"},
		WatchKeys: func(c KeyChange) { r.changes = append(r.changes, c) }})
	r.client.keys.clock = func() time.Time { return r.now }
	return r
}

// call makes a call and returns its note, or its error.
func (r *ringRig) call() (string, *provider.Error) {
	r.t.Helper()
	call := plainCall()
	answer, err := r.client.Call(r.t.Context(), call, request(call))
	if err != nil {
		return "", provider.AsError(err)
	}
	defer answer.Close()
	return answer.Meta().Note, nil
}

func (r *ringRig) shown(want ...string) {
	r.t.Helper()
	if got := r.account.calls(); !slices.Equal(got, want) {
		r.t.Errorf("calls used %v, want %v", got, want)
	}
}

func TestKeysTakeTurns(t *testing.T) {
	t.Parallel()
	r := newRingRig(t)
	for range 4 {
		if _, err := r.call(); err != nil {
			t.Fatal(err)
		}
	}
	r.shown("key-a", "key-b", "key-c", "key-a")
}

// A refused key is benched, is probed less and less often, and is used again once the upstream accepts it.
func TestRefusedKeyIsBenched(t *testing.T) {
	t.Parallel()
	r := newRingRig(t)
	r.account.say("key-a", status(401))
	note, err := r.call()
	if err != nil || note != "with key 2 of 3; key 1 was turned away: auth" {
		t.Fatalf("%q, %v", note, err)
	}
	r.shown("key-a", "key-b")
	if len(r.changes) != 1 || r.changes[0].Key != 1 || r.changes[0].Kind != provider.KindAuth || r.changes[0].For != firstBench {
		t.Errorf("reported %+v", r.changes)
	}
	for range 4 {
		_, _ = r.call()
	}
	r.shown("key-c", "key-b", "key-c", "key-b")
	r.now = r.now.Add(firstBench)
	_, _ = r.call()
	_, _ = r.call()
	_, _ = r.call()
	if got := r.account.calls(); strings.Count(strings.Join(got, " "), "key-a") != 1 {
		t.Errorf("a probe is one call, shown were %v", got)
	}
	if last := r.changes[len(r.changes)-1]; last.For != 2*firstBench {
		t.Errorf("after a probe in vain it is left alone for %v", last.For)
	}
	r.account.say("key-a", nil)
	r.now = r.now.Add(2 * firstBench)
	for range 3 {
		_, _ = r.call()
	}
	if last := r.changes[len(r.changes)-1]; last.Key != 1 || last.Kind != "" {
		t.Errorf("reported %+v at last", last)
	}
	r.account.calls()
	for range 3 {
		_, _ = r.call()
	}
	if got := r.account.calls(); !slices.Contains(got, "key-a") {
		t.Errorf("it is not used again: %v", got)
	}
}

// A key at its limit is paused for the time that the upstream reports, while the others go on. Only when all keys are at
// their limits does the target get the error, with the time until the first key can be used.
func TestLimitedKeyIsPaused(t *testing.T) {
	t.Parallel()
	r := newRingRig(t)
	r.account.say("key-a", status(429, "Retry-After", "30"))
	if note, err := r.call(); err != nil || !strings.Contains(note, "key 1 was turned away: rate_limited") {
		t.Fatalf("%q, %v", note, err)
	}
	r.account.say("key-b", status(429, "Retry-After", "20"))
	r.account.say("key-c", status(429, "Retry-After", "60"))
	_, err := r.call()
	if err == nil || err.Kind != provider.KindRateLimited || err.RetryAfter != 20*time.Second || err.StatusCode != 429 {
		t.Fatalf("%+v", err)
	}
	r.account.calls()
	if _, err := r.call(); err == nil || err.Kind != provider.KindRateLimited {
		t.Errorf("%v", err)
	}
	r.shown()
	r.now = r.now.Add(21 * time.Second)
	r.account.say("key-b", nil)
	if note, err := r.call(); err != nil || note != "with key 2 of 3" {
		t.Errorf("%q, %v", note, err)
	}
}

func TestAllKeysRefused(t *testing.T) {
	t.Parallel()
	r := newRingRig(t)
	for _, key := range []string{"key-a", "key-b", "key-c"} {
		r.account.say(key, status(401))
	}
	for n := range doubtsToBench - 1 {
		if _, err := r.call(); err == nil || err.Kind != provider.KindForbidden || err.StatusCode != 401 || !strings.Contains(err.Message, "each of the 3 keys") {
			t.Errorf("call %d: %v", n, err)
		}
		if len(r.account.calls()) != 3 || len(r.changes) != 0 {
			t.Errorf("call %d: benched by one call that all refuse: %+v", n, r.changes)
		}
	}
	if _, err := r.call(); err == nil || err.Kind != provider.KindAuth || len(r.changes) != 3 {
		t.Errorf("%v, %+v", err, r.changes)
	}
	// Now each call costs one try, and changes nothing.
	r.account.calls()
	for range 4 {
		if _, err := r.call(); err == nil || err.Kind != provider.KindAuth {
			t.Errorf("%v", err)
		}
	}
	if got := r.account.calls(); len(got) != 4 || len(r.changes) != 3 {
		t.Errorf("calls used %v, reported %+v", got, r.changes)
	}
	// The first key that is taken again clears all of them.
	for _, key := range []string{"key-a", "key-b", "key-c"} {
		r.account.say(key, nil)
	}
	if _, err := r.call(); err != nil {
		t.Fatal(err)
	}
	r.account.calls()
	for range 3 {
		_, _ = r.call()
	}
	if got := r.account.calls(); len(slices.Compact(slices.Sorted(slices.Values(got)))) != 3 {
		t.Errorf("calls used %v", got)
	}
}

// A firewall's page says nothing about keys: a caller whose body a firewall blocks disables no key, while a revoked key is found.
func TestForbiddenIsNotTheKeys(t *testing.T) {
	t.Parallel()
	r := newRingRig(t)
	for _, key := range []string{"key-a", "key-b", "key-c"} {
		r.account.say(key, status(403))
	}
	for range 10 {
		if _, err := r.call(); err == nil || err.Kind != provider.KindForbidden {
			t.Errorf("%v", err)
		}
		if got := r.account.calls(); len(got) != maxForbidden {
			t.Errorf("a refused call was made with %v", got)
		}
	}
	if len(r.changes) != 0 {
		t.Errorf("benched: %+v", r.changes)
	}
	for _, key := range []string{"key-a", "key-c"} {
		r.account.say(key, nil)
	}
	r.account.say("key-b", status(401))
	for range 6 {
		if _, err := r.call(); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.changes) != 1 || r.changes[0].Key != 2 || r.changes[0].Kind != provider.KindAuth {
		t.Errorf("reported %+v", r.changes)
	}
	if got := r.account.calls(); len(got) != 7 {
		t.Errorf("calls used %v", got)
	}
}

// Calls that all keys refuse, between calls that they serve, never add up to a doubt.
func TestRefusedCallsBetweenGoodOnes(t *testing.T) {
	t.Parallel()
	r := newRingRig(t)
	for range 20 {
		for _, key := range []string{"key-a", "key-b", "key-c"} {
			r.account.say(key, status(401))
		}
		_, _ = r.call()
		for _, key := range []string{"key-a", "key-b", "key-c"} {
			r.account.say(key, nil)
		}
		for range 3 {
			if _, err := r.call(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(r.changes) != 0 {
		t.Errorf("benched: %+v", r.changes)
	}
}

// A failure that the key did not cause is returned at once, and no other key is tried.
func TestOtherFailuresAreNotTheKeys(t *testing.T) {
	t.Parallel()
	for code, kind := range map[int]provider.Kind{500: provider.KindServer, 400: provider.KindRejected, 503: provider.KindOverloaded} {
		r := newRingRig(t)
		r.account.say("key-a", status(code))
		if _, err := r.call(); err == nil || err.Kind != kind || err.Note != "with key 1 of 3" {
			t.Errorf("%d: %+v", code, err)
		}
		r.shown("key-a")
	}
}

func TestNoErrorSaysAnyKey(t *testing.T) {
	t.Parallel()
	r := newRingRig(t)
	r.account.say("key-a", func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(500)
		fmt.Fprint(w, "key-a and key-c are bad")
	})
	_, err := r.call()
	if err == nil || strings.Contains(err.Error(), "key-a") || strings.Contains(err.Error(), "key-c") {
		t.Errorf("%v", err)
	}
}

// The reported limits are summed over all keys: twice as many calls may be made with twice as many keys.
func TestLimitsOfKeysAddUp(t *testing.T) {
	t.Parallel()
	r := newRingRig(t)
	ring := r.client.keys
	limits := func(limit, left int64) provider.RateLimits {
		return provider.RateLimits{Requests: provider.Allowance{Limit: limit, Remaining: left, HasRemaining: true, Reset: time.Minute}}
	}
	for _, step := range []struct {
		key             int
		limit, left     int64
		wants, wantLeft int64
	}{
		{0, 100, 90, 300, 290},  // of the others nothing is known
		{1, 100, 50, 300, 240},  // 90 + 50 + 100
		{2, 10, 0, 210, 140},    // 90 + 50 + 0
		{0, 100, 100, 210, 150}, // 100 + 50 + 0
	} {
		got := ring.learn(ring.keys[step.key], "m", limits(step.limit, step.left)).Requests
		if got.Limit != step.wants || got.Remaining != step.wantLeft {
			t.Errorf("key %d says %d of %d: in all %d of %d, want %d of %d", step.key+1, step.left, step.limit,
				got.Remaining, got.Limit, step.wantLeft, step.wants)
		}
	}
	r.now = r.now.Add(time.Minute)
	if got := ring.learn(ring.keys[0], "m", limits(100, 99)).Requests; got.Remaining != 99+100+10 {
		t.Errorf("after the reset %d are left in all", got.Remaining)
	}
	if got := ring.learn(ring.keys[0], "m", provider.RateLimits{}); got != (provider.RateLimits{}) {
		t.Errorf("nothing was reported, and the limits are %+v", got)
	}
}

// Whatever happens to keys: no call is made with a paused or benched key, each call uses a key at most once, and a
// call that some key could have served is served.
func TestKeyringProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(1_000_000, 0)
		ring := newKeyring(Config{APIKeys: []string{"a", "b", "c"}})
		ring.clock = func() time.Time { return now }
		until := map[int]time.Time{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "seconds")) * time.Second)
			var tried []*key
			for served := false; !served; {
				k := ring.take("m", tried)
				if k == nil {
					for n, at := range until {
						if !at.After(now) && !slices.ContainsFunc(tried, func(k *key) bool { return k.number == n }) {
							t.Fatalf("key %d could be used", n)
						}
					}
					break
				}
				if until[k.number].After(now) || contains(tried, k) {
					t.Fatalf("key %d was used too soon", k.number)
				}
				tried = append(tried, k)
				ring.done(k)
				switch rapid.IntRange(0, 2).Draw(t, "outcome") {
				case 0:
					ring.accepted(k)
					served = true
				case 1:
					ring.failed(k, "m", &provider.Error{Kind: provider.KindRateLimited, RetryAfter: 5 * time.Second})
					until[k.number] = now.Add(5 * time.Second)
				case 2:
					ring.failed(k, "m", &provider.Error{Kind: provider.KindAuth})
					ring.refused(k, &provider.Error{Kind: provider.KindAuth})
					until[k.number] = k.back
				}
			}
		}
	})
}

// A caller who leaves says nothing about the key.
func TestCancelledCallIsNotTheKeys(t *testing.T) {
	t.Parallel()
	r := newRingRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	call := plainCall()
	if _, err := r.client.Call(ctx, call, request(call)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if len(r.changes) > 0 {
		t.Errorf("reported %+v", r.changes)
	}
}
