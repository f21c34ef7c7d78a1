package itemstore

import (
	"context"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/usagerow"
)

const (
	// resultGroupItems and resultGroupBytes bound a result group: readers take the facts of a whole one.
	resultGroupItems = store.MaxTogether
	resultGroupBytes = 1 << 20
	// resultGroupSpan bounds how far apart the indexes in a result group lie, so that an item is looked for in few groups.
	resultGroupSpan = 4096
)

// resultGroup is items of a job that succeeded at their first try and are committed together. It is written once and
// stays as long as the job. An item in it has no row; the claim of the item, which has a bit for it, says that it ended
// only once.
type resultGroup struct {
	job      penstock.ID
	tenant   penstock.TenantID
	last     int64 // event number of the last item
	minN     int
	maxN     int
	items    int
	finished int64
	sum      sums
	facts    factWriter
	results  joined
}

// sums are what the items of a group add up to. The books are checked by them.
type sums struct {
	reserved, cost penstock.NanoUSD
	usage          penstock.Usage
}

func (s *sums) add(r *Row) {
	s.reserved = s.reserved.Plus(r.Reserved)
	s.cost = s.cost.Plus(r.Cost)
	s.usage = s.usage.Plus(r.Usage)
}

// groupable says whether an item that ended needs no row: nothing set it apart before, its claim has a bit for it, its
// only attempt succeeded, and its result is not in a blob.
func (r Ended) groupable() bool {
	a := r.Last
	return r.Rowless && r.Place > 0 && r.Place <= ClaimPlaces && r.Was == penstock.StatusRunning && r.Status == penstock.StatusSucceeded && r.Error == nil &&
		r.Sealed.Blob == "" && a != nil && r.Tries == 1 && r.Crashes == 0 && !a.Isolated && a.Fence == r.Fence && a.ErrorKind == "" && a.ErrorMessage == ""
}

// group adds an item that ended to the result group of its job. A group that cannot take the item is written, and the
// next one begins.
func (w *Writer) group(ctx context.Context, tx sqldb.Tx, r Ended) error {
	g := w.groups[r.Job]
	if g != nil && !g.takes(r.Row) {
		if err := g.insert(ctx, tx); err != nil {
			return err
		}
		g = nil
	}
	if g == nil {
		g = &resultGroup{
			job: r.Job, tenant: r.Tenant, minN: r.Index, maxN: r.Index, finished: sqldb.Micros(r.FinishedAt),
			facts: newResultFacts(min(r.Of.Counts.Total, resultGroupItems)),
		}
		if w.groups == nil {
			w.groups = make(map[penstock.ID]*resultGroup)
		}
		w.groups[r.Job] = g
	}
	g.add(r.Row)
	return nil
}

// takes says whether an item fits in as the next one.
func (g *resultGroup) takes(r *Row) bool {
	return r.Seq == g.last+1 && g.items < resultGroupItems && len(g.results.bytes)+len(r.Sealed.Inline) <= resultGroupBytes &&
		max(g.maxN, r.Index)-min(g.minN, r.Index) < resultGroupSpan
}

func (g *resultGroup) add(r *Row) {
	g.last, g.items = r.Seq, g.items+1
	g.minN, g.maxN = min(g.minN, r.Index), max(g.maxN, r.Index)
	g.sum.add(r)
	g.results.add(r.Sealed.Inline)
	g.facts.ended(r)
}

var addResultGroup = sqldb.InsertInto("result_groups", `job_id text, last_seq bigint, tenant_id text, min_n bigint, max_n bigint, items bigint,
	finished_at bigint, reserved_nano_usd bigint, cost_nano_usd bigint, facts bytea, results bytea, `+usagerow.Columns, "")

func (g *resultGroup) insert(ctx context.Context, tx sqldb.Tx) error {
	return tx.Put(ctx, addResultGroup, usagerow.Values(g.sum.usage, g.job, g.last, g.tenant, g.minN, g.maxN, g.items,
		g.finished, g.sum.reserved, g.sum.cost, g.facts.buf, g.results.all())...)
}
