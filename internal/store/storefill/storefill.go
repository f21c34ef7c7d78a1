// Package storefill fills a database with the work of weeks, for measurements and for tests of query plans.
//
// It writes rows directly, in bulk and in the shares that a busy tenant has: most jobs succeeded, some failed, few are open;
// some models, keys and tags are common and some are rare. The rows are what lists read, and no more: a filled database
// has no inputs, results or ledger, and no server runs on it. Package sqlstore owns the tables.
package storefill

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"penstock"
	"penstock/internal/store/sqldb"
)

// The tenants. Busy has nearly everything; the others have a tenth of it, among the rows of Busy.
const (
	Busy  penstock.TenantID = "busy"
	Other penstock.TenantID = "other"
)

// What few rows of a filled database have.
const (
	RareModel       = "refund-risk"
	RareKey         = "nightly"
	RareFingerprint = string(RareCode) + "/timeout/openai-main/504/000000ff"
	RareCode        = penstock.CodePoison
	RareTag         = "incident:4711"
)

// Webhook is the endpoint of the deliveries.
const Webhook penstock.ID = "01J00000000000000000000WHK"

// Size is how many rows of each kind Busy gets.
type Size struct {
	Jobs, Requests, DeadLetters, Files, Deliveries int
}

// Same is a size with so many rows of every kind.
func Same(n int) Size { return Size{n, n, n, n, n} }

// Filled says what was written.
type Filled struct {
	From, Until time.Time     // of the creations
	JobIDs      []penstock.ID // of some jobs of Busy
	ItemID      penstock.ID   // of a dead letter of Busy
	Requests    []penstock.ID // of some
	Files       []penstock.ID // of some
	Deliveries  []penstock.ID // of some
}

// span is the time over which the rows are spread.
const span = 30 * 24 * time.Hour

// step is how many rows a transaction writes.
const step = 4000

// Fill writes rows, the newest created a short while before the given time. The same seed writes the same shares.
func Fill(ctx context.Context, db *sqldb.DB, n Size, now time.Time) (Filled, error) {
	f := &filler{db: db, random: rand.New(rand.NewPCG(1, 2)), filled: Filled{From: now.Add(-span), Until: now}, waiting: map[*sqldb.Bulk][][]any{}}
	for _, part := range []struct {
		rows  int
		write func(at time.Time, i int)
	}{
		{n.Jobs, f.job}, {n.DeadLetters, f.deadLetter}, {n.Requests, f.request}, {n.Files, f.file}, {n.Deliveries, f.delivery},
	} {
		if err := f.rows(ctx, part.rows, part.write); err != nil {
			return f.filled, err
		}
	}
	return f.filled, f.endpoint(ctx)
}

type filler struct {
	db      *sqldb.DB
	ids     penstock.IDs
	random  *rand.Rand
	failed  failedJob // of the dead letters that are being written
	filled  Filled
	waiting map[*sqldb.Bulk][][]any // rows of the next transaction
}

// rows writes rows of one kind, in the order of their times.
func (f *filler) rows(ctx context.Context, n int, write func(at time.Time, i int)) error {
	f.ids = penstock.IDs{}
	for first := 0; first < n; first += step {
		for i := first; i < min(first+step, n); i++ {
			at := f.filled.From.Add(time.Duration(float64(span) * float64(i) / float64(n)))
			write(at.Truncate(time.Microsecond), i)
		}
		if err := f.db.Write(ctx, "fill", func(tx sqldb.Tx) error { return f.save(ctx, tx) }); err != nil {
			return fmt.Errorf("filling: %w", err)
		}
		clear(f.waiting)
	}
	return nil
}

// put adds a row to those of the next transaction.
func (f *filler) put(b *sqldb.Bulk, row ...any) { f.waiting[b] = append(f.waiting[b], row) }

// save writes the rows, table by table: only rows of the same table travel together.
func (f *filler) save(ctx context.Context, tx sqldb.Tx) error {
	tx.Relax()
	for b, rows := range f.waiting {
		for _, row := range rows {
			if err := tx.Put(ctx, b, row...); err != nil {
				return err
			}
		}
	}
	return nil
}

// tenant is the tenant of the next row.
func (f *filler) tenant() penstock.TenantID {
	if f.random.IntN(11) == 0 {
		return Other
	}
	return Busy
}

// pick is one of some values; each is half as frequent as the one before.
func pick[T any](r *rand.Rand, of ...T) T {
	for i := range of {
		if r.IntN(2) == 0 {
			return of[i]
		}
	}
	return of[0]
}

// oneIn reports whether an event happens that happens once in n times.
func (f *filler) oneIn(n int) bool { return f.random.IntN(n) == 0 }

func (f *filler) model() string {
	if f.oneIn(50_000) {
		return RareModel
	}
	return pick(f.random, "fast", "smart", "embed", "vision", "judge")
}

func (f *filler) key() string {
	if f.oneIn(50_000) {
		return RareKey
	}
	return pick(f.random, "app", "web", "etl", "lab")
}

func (f *filler) tags(i int) string {
	switch {
	case f.oneIn(50_000):
		return `{"env":"prod","incident":"4711"}`
	case f.oneIn(100):
		return fmt.Sprintf(`{"env":"prod","run":"%d"}`, i)
	case f.oneIn(3):
		return "{}"
	}
	return fmt.Sprintf(`{"env":"%s","team":"%s"}`, pick(f.random, "prod", "staging", "dev"), pick(f.random, "ads", "search", "support", "risk"))
}

// sample keeps about a thousand ids of n rows.
func sample(to *[]penstock.ID, id penstock.ID, i int) {
	if i%997 == 0 {
		*to = append(*to, id)
	}
}
