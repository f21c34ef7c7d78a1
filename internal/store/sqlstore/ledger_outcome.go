package sqlstore

import (
	"context"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/itemstore"
	"penstock/internal/store/sqldb"
)

// outcomeStep is how many jobs an audit of outcomes looks at a time.
const outcomeStep = 256

// auditOutcomes holds the entries of each job against the outcomes that they are of: an item and the entry that settles
// it are written by one transaction, so they agree on target, price and the very time. A job whose entries are not as
// many outcomes is left to the audit that counts them; of one that was deleted there is nothing left to compare with.
func auditOutcomes(ctx context.Context, tx sqldb.Tx) (problems []string, err error) {
	var after penstock.ID
	for len(problems) < store.MaxLedgerProblems {
		c := comparison{of: map[penstock.ID]*jobOutcomes{}}
		err := tx.Ask(ctx, sqldb.Ask(sqldb.SQL(`SELECT id, total FROM jobs WHERE id > $1 ORDER BY id LIMIT $2`, after, outcomeStep), c.addJob))
		if err != nil || len(c.ids) == 0 {
			return problems, err
		}
		if err := c.read(ctx, tx); err != nil {
			return nil, err
		}
		for _, id := range c.ids {
			if !c.of[id].agree() {
				problems = append(problems, "job's entries have another target, price or time than its outcomes: "+string(id))
			}
		}
		after = c.ids[len(c.ids)-1]
	}
	return problems, nil
}

// comparison is what entries and outcomes of some jobs say, a group at a time. Its size is that of their entries.
type comparison struct {
	ids      []penstock.ID
	of       map[penstock.ID]*jobOutcomes
	lastItem penstock.ID // of all of them
}

// jobOutcomes are the entries of a job less its outcomes.
type jobOutcomes struct {
	left   map[bookedAs]tally
	broken bool // a result group cannot be read, which another rule reports
}

// bookedAs is what an entry and the outcomes in it have in common.
type bookedAs struct {
	kind          penstock.EntryKind
	target, price string
	at            int64
}

func (c *comparison) addJob(row sqldb.Row) error {
	var id penstock.ID
	var total int
	err := row.Scan(&id, &total)
	c.ids = append(c.ids, id)
	c.of[id] = &jobOutcomes{left: map[bookedAs]tally{}}
	c.lastItem = max(c.lastItem, penstock.ItemID(id, total-1))
	return err
}

func (c *comparison) read(ctx context.Context, tx sqldb.Tx) error {
	first, last := c.ids[0], c.ids[len(c.ids)-1]
	return tx.Ask(ctx,
		sqldb.Ask(sqldb.SQL(`SELECT job_id, kind, target, price_version, created_at, outcomes, cost_nano_usd FROM ledger WHERE key BETWEEN $1 AND $2`,
			"settle:"+string(first), "settle:"+string(last)+";"), c.addEntries), // ";" is next to ":"
		sqldb.Ask(sqldb.SQL(`SELECT job_id, CASE WHEN tries = 0 THEN 'release' ELSE 'settle' END, target, price_version, finished_at,
				-COUNT(*), -SUM(cost_nano_usd) /*pg ::bigint */
			FROM items WHERE id BETWEEN $1 AND $2 AND seq > 0 GROUP BY 1, 2, 3, 4, 5`, first, c.lastItem), c.addEntries),
		itemReader.AskSettled(first, last, c.addResultGroup))
}

func (c *comparison) addEntries(row sqldb.Row) error {
	var job penstock.ID
	var as bookedAs
	var t tally
	err := row.Scan(&job, &as.kind, &as.target, &as.price, &as.at, &t.subjects, &t.cost)
	if o := c.of[job]; o != nil {
		o.add(as, t)
	}
	return err
}

func (c *comparison) addResultGroup(g itemstore.CheckedGroup) {
	o := c.of[g.Job]
	if o == nil {
		return
	}
	o.broken = o.broken || g.Items == nil
	for i := range g.Items {
		r := &g.Items[i]
		o.add(bookedAs{penstock.EntrySettle, r.Target, r.PriceVersion, g.FinishedAt}, tally{-1, -r.Cost})
	}
}

func (o *jobOutcomes) add(as bookedAs, t tally) {
	sum := o.left[as]
	o.left[as] = tally{sum.subjects + t.subjects, sum.cost.Plus(t.cost)}
}

// agree reports whether entries and outcomes cancel each other out.
func (o *jobOutcomes) agree() bool {
	outcomes, differs := 0, false
	for _, t := range o.left {
		outcomes += t.subjects
		differs = differs || t != tally{}
	}
	return o.broken || outcomes != 0 || !differs
}
