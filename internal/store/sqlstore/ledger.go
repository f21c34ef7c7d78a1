package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"penstock"
	"penstock/internal/store/itemstore"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/usagerow"
)

// The key of a ledger entry names the subject of the entry. A key can be used once.
func reserveKey(job penstock.ID) string     { return "job:" + string(job) }
func requestKey(request penstock.ID) string { return "request:" + string(request) }

// splitKey is the key of a reservation for items of a later split; from is the index of the first.
func splitKey(job penstock.ID, from int) string { return reserveKey(job) + ":" + strconv.Itoa(from) }

// settleKey is the key of outcomes that were committed together; seq is the number of the first.
func settleKey(job penstock.ID, seq int64) string {
	return "settle:" + string(job) + ":" + strconv.FormatInt(seq, 10)
}

func fundingKey(h lostFunding) string {
	return "allowance:" + string(h.budget) + ":" + h.lease.Process + ":" + strconv.FormatInt(h.lease.Epoch, 10)
}

const forfeitPrefix = "forfeit:"

func forfeitKey(subject penstock.ID, fence int64) string {
	return forfeitPrefix + string(subject) + ":" + strconv.FormatInt(fence, 10)
}

var (
	entryColumns = `key text, tenant_id text, kind text, subject_id text, job_id text, target text,
	reserved_nano_usd bigint, cost_nano_usd bigint, price_version text, created_at bigint, outcomes bigint,
	key_name text, model text, lane text, tags text, budgets text, `
	addEntry     = usagerow.InsertInto("ledger", entryColumns, "")
	addEntryOnce = usagerow.InsertInto("ledger", entryColumns, "ON CONFLICT (key) DO NOTHING")
)

// book appends an entry. If its key is used already, the transaction fails.
func book(ctx context.Context, tx sqldb.Tx, e penstock.LedgerEntry) error {
	return put(ctx, tx, addEntry, e)
}

// bookOnce appends an entry unless its key is used already.
func bookOnce(ctx context.Context, tx sqldb.Tx, e penstock.LedgerEntry) error {
	return put(ctx, tx, addEntryOnce, e)
}

func put(ctx context.Context, tx sqldb.Tx, how usagerow.Insert, e penstock.LedgerEntry) error {
	tags, err := encodeTags(e.Origin.Tags)
	if err != nil {
		return err
	}
	return how.Put(ctx, tx, e.Usage, e.Key, e.Tenant, e.Kind, e.Subject, e.Job, e.Target, e.Reserved, e.Cost,
		e.PriceVersion, sqldb.Micros(tx.Now()), e.Outcomes, e.Origin.Key, e.Origin.Model, e.Origin.Lane, tags, budgetList(e.Origin.Budgets))
}

// settlements gathers the outcomes of a transaction. A terminal item is its own settlement; the ledger has the sums, which
// stay when the items are removed.
type settlements struct {
	sums map[settled]*penstock.LedgerEntry
	key  settled               // of last
	last *penstock.LedgerEntry // the one that was added to last: outcomes of a job mostly have the same
}

// settled is what outcomes have in common that are added up.
type settled struct {
	job     penstock.ID
	kind    penstock.EntryKind
	target  string
	price   string
	stretch int // of the job's items that are paid from the same budgets
}

// settlementKind is settle for an outcome that cost something, and release for one that only frees its reservation.
func settlementKind(r *itemstore.Row) penstock.EntryKind {
	if r.Tries == 0 {
		return penstock.EntryRelease
	}
	return penstock.EntrySettle
}

// add settles an outcome. Those of a job come in the order of their numbers.
func (s *settlements) add(r itemInJob) {
	of := settled{r.Job, settlementKind(r.Row), r.Target, r.PriceVersion, r.job.Stretch(r.Index)}
	if s.last == nil || s.key != of {
		s.key, s.last = of, s.sums[of]
	}
	sum := s.last
	if sum == nil {
		sum = &penstock.LedgerEntry{
			Key: settleKey(r.Job, r.Seq), Tenant: r.Tenant, Kind: of.kind, Subject: r.Job, Job: r.Job, Target: r.Target, PriceVersion: r.PriceVersion,
			Origin: r.job.Origin(r.Index),
		}
		s.sums[of], s.last = sum, sum
	}
	sum.Outcomes++
	sum.Reserved = sum.Reserved.Plus(r.Reserved)
	sum.Cost = sum.Cost.Plus(r.Cost)
	sum.Usage = sum.Usage.Plus(r.Usage)
}

func (s *settlements) book(ctx context.Context, tx sqldb.Tx) error {
	for _, sum := range s.sums {
		if err := book(ctx, tx, *sum); err != nil {
			return err
		}
	}
	return nil
}

// JobEntries implements store.Ledger. The settlement of an item is read from the item.
func (s *Store) JobEntries(ctx context.Context, tenant penstock.TenantID, job penstock.ID) (es []penstock.LedgerEntry, err error) {
	err = s.read(ctx, func(tx sqldb.Tx) error {
		j, err := findJob(ctx, tx, tenant, job)
		if err != nil {
			return err
		}
		// The keys of what was forfeited are one range, since the ids of a job's items are one.
		first, last := penstock.ItemID(job, 0), penstock.ItemID(job, j.Counts.Total-1)
		es, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT key, tenant_id, kind, subject_id, job_id, target, reserved_nano_usd, cost_nano_usd,
				price_version, created_at, outcomes, `+usagerow.Names+`
			FROM ledger WHERE key BETWEEN $1 AND $1 || ';' OR key BETWEEN $2 AND $3`,
			reserveKey(job), forfeitPrefix+string(first), forfeitPrefix+string(last)+";"), scanEntry) // ";" is next to ":"
		if err != nil {
			return err
		}
		items, err := itemReader.AllEnded(ctx, tx, &j)
		for i := range items {
			es = append(es, settlement(&items[i]))
		}
		slices.SortFunc(es, func(a, b penstock.LedgerEntry) int {
			return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Key, b.Key))
		})
		return err
	})
	return es, err
}

// settlement is the entry that an item is part of, for the item alone.
func settlement(r *itemstore.Row) penstock.LedgerEntry {
	return penstock.LedgerEntry{
		Key: "item:" + string(r.ID), Tenant: r.Tenant, Kind: settlementKind(r), Subject: r.ID, Job: r.Job, Target: r.Target, Outcomes: 1,
		Reserved: r.Reserved, Cost: r.Cost, Usage: r.Usage, PriceVersion: r.PriceVersion, CreatedAt: r.FinishedAt,
	}
}

func scanEntry(row sqldb.Row) (penstock.LedgerEntry, error) {
	var e penstock.LedgerEntry
	var created int64
	err := row.Scan(usagerow.Dest(&e.Usage, &e.Key, &e.Tenant, &e.Kind, &e.Subject, &e.Job, &e.Target, &e.Reserved, &e.Cost,
		&e.PriceVersion, &created, &e.Outcomes)...)
	e.CreatedAt = sqldb.FromMicros(created)
	return e, err
}
