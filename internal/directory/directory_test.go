package directory

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/signal"
	"penstock/internal/store"
)

const fileSecret = "psk_file_7gq2xk9dmw4ztfv8hsb3rnj6cp"

var start = time.Date(2026, 11, 15, 9, 0, 0, 0, time.UTC)

// ledger is a store of tenants and keys in memory.
type ledger struct {
	mu      sync.Mutex
	version int64
	tenants map[penstock.TenantID]store.TenantRecord
	keys    map[penstock.ID]store.APIKey
	used    []store.KeyUse
	looks   int
	err     error
}

func newLedger() *ledger {
	return &ledger{tenants: map[penstock.TenantID]store.TenantRecord{}, keys: map[penstock.ID]store.APIKey{}}
}

func (l *ledger) tenant(t store.TenantRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version++
	t.Version = l.version
	l.tenants[t.ID] = t
}

func (l *ledger) key(k store.APIKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version++
	k.Version = l.version
	l.keys[k.ID] = k
}

// DirectoryChanges ignores the limit: the paging is the store's own business and tested there.
func (l *ledger) DirectoryChanges(_ context.Context, after store.DirectoryMark, _ int) (store.DirectoryChanges, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looks++
	changes := store.DirectoryChanges{Mark: after}
	for _, t := range l.tenants {
		if t.Version > after.Tenants.Version {
			changes.Tenants = append(changes.Tenants, t)
		}
	}
	for _, k := range l.keys {
		if k.Version > after.Keys.Version {
			changes.Keys = append(changes.Keys, k)
		}
	}
	changes.Mark = store.DirectoryMark{Tenants: store.TenantMark{Version: l.version}, Keys: store.KeyMark{Version: l.version}}
	return changes, l.err
}

func (l *ledger) TouchKeys(_ context.Context, uses []store.KeyUse) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = append(l.used, uses...)
	return l.err
}

func newDirectory(t testing.TB, source Source, clock func() time.Time) *Directory {
	t.Helper()
	snapshot, err := config.NewSnapshot(config.File{Tenants: map[string]config.TenantConfig{
		"declared": {Weight: 2, Keys: []config.KeyConfig{{Name: "file", Secret: config.NewSecret(fileSecret)}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return New(Deps{Config: config.NewLive(snapshot), Source: source, Changes: signal.NewTopic[signal.None](nil, signal.Callers), Log: slog.New(slog.DiscardHandler), Clock: clock})
}

func kept(id penstock.TenantID) store.TenantRecord {
	return store.TenantRecord{Tenant: penstock.Tenant{ID: id, Weight: 1, Lanes: penstock.Lanes}, Source: store.SourceAPI, Enabled: true}
}

func secretOf(n int) string { return fmt.Sprintf("psk_secret_%012d", n) }

func keyOf(n int, tenant penstock.TenantID) store.APIKey {
	return store.APIKey{ID: penstock.ID(fmt.Sprintf("K%d", n)), Tenant: tenant, Name: fmt.Sprintf("key-%d", n),
		Hash: sha256.Sum256([]byte(secretOf(n))), Scopes: penstock.Scopes}
}

func (d *Directory) refresh(t testing.TB) {
	t.Helper()
	if err := d.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestCaller(t *testing.T) {
	t.Parallel()
	l, now := newLedger(), start
	d := newDirectory(t, l, func() time.Time { return now })
	l.tenant(kept("acme"))
	off, gone := kept("off"), kept("gone")
	off.Enabled, gone.Source = false, store.SourceFile // declared once, and not any more
	l.tenant(off)
	l.tenant(gone)
	expiring, revoked := keyOf(2, "acme"), keyOf(3, "acme")
	expiring.ExpiresAt, revoked.RevokedAt = start.Add(time.Minute), start
	for _, k := range []store.APIKey{keyOf(1, "acme"), expiring, revoked, keyOf(4, "off"), keyOf(5, "gone"), keyOf(6, "declared"), keyOf(7, "nobody")} {
		l.key(k)
	}
	want := func(secret string, tenant penstock.TenantID) {
		t.Helper()
		caller, err := d.Principal(secret)
		if caller.Tenant.ID != tenant || (err == nil) != (tenant != "") || err != nil && penstock.ErrorCode(err) != penstock.CodeInvalidKey {
			t.Errorf("%s is a key of %q (%v), want %q", secret, caller.Tenant.ID, err, tenant)
		}
	}
	want(fileSecret, "declared")
	want(secretOf(1), "") // it has not looked yet
	d.refresh(t)
	for secret, tenant := range map[string]penstock.TenantID{
		fileSecret: "declared", secretOf(1): "acme", secretOf(2): "acme", secretOf(3): "", secretOf(4): "", secretOf(5): "",
		secretOf(6): "declared", secretOf(7): "", secretOf(8): "", "": "", "short": "",
	} {
		want(secret, tenant)
	}
	now = now.Add(time.Minute)
	want(secretOf(2), "")

	ended := keyOf(1, "acme")
	ended.RevokedAt = now
	l.key(ended)
	off.Enabled = true
	l.tenant(off)
	d.refresh(t)
	want(secretOf(1), "")
	want(secretOf(4), "off")
	if r := d.Retention("off"); r != d.Config.Current().Retention || r.Results == 0 {
		t.Errorf("retention %+v", r)
	}
	if r := d.Retention("never seen"); r != d.Config.Current().Retention {
		t.Errorf("retention of nobody %+v", r)
	}
}

// TestLooksAlike holds that keys whose digests begin alike are told apart, whatever happens to them.
func TestLooksAlike(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		next := (&state{}).copy()
		model := map[penstock.ID]store.APIKey{}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			n := rapid.IntRange(0, 4).Draw(t, "key")
			k := store.APIKey{ID: penstock.ID(fmt.Sprint(n)), Version: int64(rapid.IntRange(0, 9).Draw(t, "version"))}
			k.Hash[0], k.Hash[31] = byte(n%2), byte(n) // two places for five keys
			if rapid.Bool().Draw(t, "revoked") {
				k.RevokedAt = start
			}
			next = next.copy()
			next.replace(k)
			model[k.ID] = k
			for id, want := range model {
				got := next.find(want.Hash)
				if live := want.RevokedAt.IsZero(); live != (got != nil) || live && (got.ID != id || got.Version != want.Version) {
					t.Fatalf("key %s is found as %+v, want %+v", id, got, want)
				}
			}
		}
	})
}

func TestRunLooksAndNotesUses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		d := newDirectory(t, l, time.Now)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- d.Run(ctx) }()
		synctest.Wait()

		l.tenant(kept("acme"))
		l.key(keyOf(1, "acme"))
		d.Changes.Notify()
		synctest.Wait()
		for range 50 {
			if _, err := d.Principal(secretOf(1)); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		ended := keyOf(1, "acme")
		ended.RevokedAt = began
		l.key(ended) // nobody says so
		for {
			if _, err := d.Principal(secretOf(1)); err != nil {
				break
			}
			<-time.After(10 * time.Millisecond)
		}
		if late := time.Since(began); late > time.Second {
			t.Errorf("a revoked key worked for %v", late)
		}
		<-time.After(flushInterval)
		synctest.Wait()
		if len(l.used) != 1 || l.used[0].Key != "K1" {
			t.Errorf("%d uses were noted: %+v", len(l.used), l.used)
		}

		l.mu.Lock()
		l.err = errors.New("away")
		l.mu.Unlock()
		<-time.After(3 * time.Second)
		if _, err := d.Principal(fileSecret); err != nil {
			t.Errorf("while the store is away: %v", err)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestUsesAreBounded holds that more uses than can be kept never hold anybody up.
func TestUsesAreBounded(t *testing.T) {
	t.Parallel()
	l := newLedger()
	d := newDirectory(t, l, func() time.Time { return start })
	l.tenant(kept("acme"))
	for n := range maxUses + 10 {
		l.key(keyOf(n, "acme"))
	}
	d.refresh(t)
	for n := range maxUses + 10 {
		if _, err := d.Principal(secretOf(n)); err != nil {
			t.Fatal(err)
		}
	}
	for range maxUses/flushBatch + 2 {
		d.flush(t.Context())
	}
	if len(l.used) != maxUses {
		t.Errorf("%d uses were written, want %d", len(l.used), maxUses)
	}
}

// large is a directory of 10,000 tenants and 50,000 keys.
func large(t testing.TB) (*Directory, []string) {
	l := newLedger()
	secrets := make([]string, 50_000)
	for n := range 10_000 {
		l.tenant(kept(penstock.TenantID(fmt.Sprintf("tenant-%d", n))))
	}
	for n := range secrets {
		l.key(keyOf(n, penstock.TenantID(fmt.Sprintf("tenant-%d", n%10_000))))
		secrets[n] = secretOf(n)
	}
	d := newDirectory(t, l, time.Now)
	d.refresh(t)
	return d, secrets
}

func TestCallerAllocatesNothing(t *testing.T) {
	d, secrets := large(t)
	n := 0
	if got := testing.AllocsPerRun(1000, func() { _, _ = d.Principal(secrets[n%100]); n++ }); got > 0 {
		t.Errorf("a look-up allocates %v times", got)
	}
}

func BenchmarkCaller(b *testing.B) {
	d, secrets := large(b)
	for n := 0; b.Loop(); n++ {
		if _, err := d.Principal(secrets[n%len(secrets)]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRefreshOne is what one changed key costs a process that knows 50,000.
func BenchmarkRefreshOne(b *testing.B) {
	d, _ := large(b)
	known := d.known.Load()
	k := keyOf(7, "tenant-7")
	for b.Loop() {
		known.copy().apply(store.DirectoryChanges{Keys: []store.APIKey{k}})
	}
}

// Limits and budgets of keys reach callers and jobs by the key's name, over rotations and after the key's end, and
// the last word counts.
func TestKeysAreAllowed(t *testing.T) {
	t.Parallel()
	s := &state{}
	change := func(k store.APIKey) {
		next := s.copy()
		next.apply(store.DirectoryChanges{Keys: []store.APIKey{k}})
		s = next
	}
	key := func(id string, version int64, perMinute int64, budgets ...penstock.Budget) store.APIKey {
		k := store.APIKey{ID: penstock.ID(id), Tenant: "search", Name: "app", Version: version, Budgets: budgets}
		k.Limits.RequestsPerMinute = perMinute
		copy(k.Hash[:], id)
		return k
	}
	daily := penstock.Budget{Key: "app", Period: penstock.PeriodDaily, Limit: 5, Hard: true}
	check := func(when string, perMinute int64, budgets int) {
		t.Helper()
		tenant := s.paying(penstock.Tenant{ID: "search", Budgets: []penstock.Budget{{Period: penstock.PeriodTotal, Limit: 9}}})
		if got := s.allowed["search"]["app"].limits.RequestsPerMinute; got != perMinute || len(tenant.Budgets) != 1+budgets {
			t.Errorf("%s: %d requests/min and budgets %v", when, got, tenant.Budgets)
		}
		if other := s.paying(penstock.Tenant{ID: "other"}); len(other.Budgets) != 0 {
			t.Errorf("%s: another tenant has budgets %v", when, other.Budgets)
		}
	}
	change(key("first-key", 1, 0))
	check("without any", 0, 0)
	change(key("first-key", 2, 60, daily))
	check("allowed", 60, 1)
	before := s
	change(key("other-key", 3, 30, daily))
	check("rotated", 30, 1)
	change(key("first-key", 2, 60, daily)) // told again, late
	check("an older word", 30, 1)
	ended := key("other-key", 4, 30, daily)
	ended.RevokedAt = time.Now()
	change(ended)
	check("revoked: what was accepted with it still runs", 30, 1)
	change(key("third-key", 5, 0))
	check("made anew without any", 0, 0)
	if got := before.allowed["search"]["app"].limits.RequestsPerMinute; got != 60 || len(before.budgets["search"]) != 1 {
		t.Errorf("an earlier state was changed: %d", got)
	}
}
