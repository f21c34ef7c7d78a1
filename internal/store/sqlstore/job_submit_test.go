package sqlstore_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"penstock"
	"penstock/internal/blob/dir"
	"penstock/internal/payload"
	"penstock/internal/store"
	"penstock/internal/store/postgres"
	"penstock/internal/store/postgres/pgtest"
	"penstock/internal/store/schema"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/sqlite"
	"penstock/internal/store/sqlstore"
	"penstock/internal/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// engines open a fresh engine of each kind.
var engines = map[string]func(t *testing.T, clock func() time.Time) (sqldb.Engine, error){
	"sqlite": func(t *testing.T, clock func() time.Time) (sqldb.Engine, error) {
		return sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "penstock.db"), Clock: clock})
	},
	"postgres": func(t *testing.T, clock func() time.Time) (sqldb.Engine, error) {
		return postgres.Open(t.Context(), postgres.Config{URL: pgtest.URL(t), Clock: clock})
	},
}

// ledgered is a store with its engine, for looking at rows.
type ledgered struct {
	*sqlstore.Store
	engine sqldb.Engine
}

func openStore(t *testing.T, kind string, clock *storetest.Clock) ledgered {
	t.Helper()
	engine, err := engines[kind](t, clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	keys, err := payload.LoadOrCreate(filepath.Join(home, "keyset.json"))
	if err != nil {
		t.Fatal(err)
	}
	codec, err := payload.New(keys)
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := dir.New(filepath.Join(home, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	db, err := schema.Open(t.Context(), engine)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlstore.New(t.Context(), db, codec, blobs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return ledgered{s, engine}
}

// tables are the rows that submits write, without what is random in them. Keys that expired have no meaning: a refused submit may
// leave such a key or remove it.
var tables = []string{
	`SELECT id || ' ' || tenant_id || ' ' || lane || ' ' || status || ' ' || budgets || ' ' || CAST(seq AS TEXT) || ' ' || CAST(stored_bytes AS TEXT) FROM jobs ORDER BY 1`,
	`SELECT key || ' ' || job_id || ' ' || CAST(expires_at AS TEXT) FROM idempotency_keys WHERE expires_at > %d ORDER BY 1`,
	`SELECT id || ' ' || CAST(held_nano_usd AS TEXT) FROM budgets WHERE held_nano_usd > 0 ORDER BY 1`,
	`SELECT tenant_id || ' ' || CAST(stripe AS TEXT) || ' ' || CAST(job_bytes AS TEXT) FROM stored ORDER BY 1`,
	`SELECT lane || ' ' || tenant_id || ' ' || CAST(ready AS TEXT) || ' ' || CAST(parked AS TEXT) || ' ' || CAST(tokens AS TEXT) || ' ' || CAST(drained_items AS TEXT) FROM backlogs ORDER BY 1`,
	`SELECT lane || ' ' || tenant_id || ' ' || CAST(active AS TEXT) FROM shares ORDER BY 1`,
	`SELECT lane || ' ' || job_id || ' ' || CAST(last_n AS TEXT) FROM ready ORDER BY 1`,
	`SELECT job_id || ' ' || CAST(first_n AS TEXT) FROM input_groups ORDER BY 1`,
	`SELECT job_id || ' ' || CAST(open AS TEXT) FROM claims ORDER BY 1`,
	`SELECT key || ' ' || CAST(reserved_nano_usd AS TEXT) FROM ledger ORDER BY 1`,
}

func (l ledgered) rows(t *testing.T, now time.Time) (all []string) {
	t.Helper()
	err := l.engine.Read(t.Context(), func(tx sqldb.Tx) error {
		for _, sql := range tables {
			if strings.Contains(sql, "%d") {
				sql = fmt.Sprintf(sql, now.UnixMicro())
			}
			rows, err := tx.Query(t.Context(), sql)
			if err != nil {
				return err
			}
			for rows.Next() {
				var text string
				if err := rows.Scan(&text); err != nil {
					return err
				}
				all = append(all, text)
			}
			rows.Close()
			if err := rows.Err(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// arrivals makes submissions of every kind, many of which are refused.
type arrivals struct {
	random *rand.Rand
	ids    penstock.IDs
	clock  *storetest.Clock
	lease  store.Lease
}

const tenant penstock.TenantID = "acme"

func (a *arrivals) next(used map[string]bool) store.Submission {
	some := func(n int) bool { return a.random.IntN(n) == 0 }
	sub := store.Submission{
		Job: penstock.Job{
			ID: a.ids.New(a.clock.Now()), Tenant: tenant, Key: "app", Endpoint: penstock.EndpointChat, Model: "fast", Lane: penstock.LaneStandard,
			MaxAttempts: 4, ItemTimeout: time.Minute, Resolved: penstock.Resolved{Model: "fast", Targets: []string{"first"}},
		},
		DeadlineIn: time.Hour,
	}
	if some(3) {
		sub.Job.Lane = penstock.LaneBulk
	}
	for n := range 1 + a.random.IntN(3) {
		item := store.NewItem{Body: fmt.Appendf(nil, `{"n":%d}`, a.random.IntN(1000)), EstimateTokens: int64(100 + n), Reserved: penstock.NanoUSD(1000 * a.random.IntN(20))}
		if some(10) {
			item.StartIn = time.Minute
		}
		sub.Items = append(sub.Items, item)
	}
	if key := fmt.Sprint("key-", a.random.IntN(8)); some(2) && !used[key] {
		used[key] = true
		sub.Idempotency = &store.IdempotencyKey{Key: key, BodyHash: []byte{byte(a.random.IntN(2))}, TTL: time.Minute}
	}
	for _, b := range []penstock.Budget{{Limit: 300_000, Hard: true, Period: "day"}, {Limit: 100_000, Model: "fast", Period: "day"}} {
		if some(2) {
			sub.Accounts = append(sub.Accounts, store.Account{Budget: b})
		}
	}
	if some(3) {
		sub.StoredLimit = 700
	}
	if some(2) {
		sub.Starter = &a.lease
	}
	if some(10) { // there is no secret, so it is refused
		sub.Webhook = &store.JobWebhook{URL: "https://example.com", Events: []penstock.EventType{penstock.EventJobFinished}}
	}
	return sub
}

// Submissions that share a transaction have the outcomes, and leave the rows, of submissions that come one after the other.
func TestSubmitGroupEqualsOneByOne(t *testing.T) {
	t.Parallel()
	for kind := range engines {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(3) {
				compareGroups(t, kind, seed)
			}
		})
	}
}

func compareGroups(t *testing.T, kind string, seed uint64) {
	clock := storetest.NewClock()
	apart, together := openStore(t, kind, clock), openStore(t, kind, clock)
	lease := leaseOf(t, apart)
	if other := leaseOf(t, together); other != lease {
		t.Fatalf("leases %v and %v differ", lease, other)
	}
	a := &arrivals{random: rand.New(rand.NewPCG(seed, 1)), clock: clock, lease: lease}
	accepted, refused := 0, 0
	for range 8 {
		var group []store.Submission
		used := map[string]bool{}
		for range 2 + a.random.IntN(10) {
			group = append(group, a.next(used))
		}
		var want []string
		for _, sub := range group {
			receipt, err := apart.SubmitJob(t.Context(), tenant, sub)
			want = append(want, outcome(receipt, err))
			if err == nil {
				accepted++
			} else {
				refused++
			}
		}
		receipts, errs := together.SubmitGroup(t.Context(), tenant, group)
		var got []string
		for i := range group {
			got = append(got, outcome(receipts[i], errs[i]))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: outcomes differ (-one by one +together):\n%s", seed, diff)
		}
		if diff := cmp.Diff(apart.rows(t, clock.Now()), together.rows(t, clock.Now()), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d: rows differ (-one by one +together):\n%s", seed, diff)
		}
		clock.Advance(20 * time.Second)
	}
	if accepted == 0 || refused == 0 {
		t.Errorf("seed %d: %d were accepted and %d refused; the test needs both", seed, accepted, refused)
	}
}

func leaseOf(t *testing.T, s ledgered) store.Lease {
	t.Helper()
	lease, err := s.AcquireLease(t.Context(), "worker", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// outcome is all that a caller sees of a submit.
func outcome(r store.Receipt, err error) string {
	if err != nil {
		return fmt.Sprintf("%s: %v", penstock.ErrorCode(err), err)
	}
	return fmt.Sprintf("%s replayed %v, %d claimed, warnings %q, paid %v, seq %d, counts %+v, created %v",
		r.Job.ID, r.Replayed, len(r.Claimed), r.Warnings, r.Job.Paid, r.Job.Seq, r.Job.Counts, r.Job.CreatedAt)
}
