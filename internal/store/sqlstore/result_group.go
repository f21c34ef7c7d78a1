package sqlstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"penstock"
	"penstock/internal/store"
)

// A result group has what items of a job came to that succeeded at their first try and were committed together. It is
// written once and stays as long as the job. An item in a result group has no row; that it ended but once is the word of
// its claim, in which every item has a bit.

const (
	// resultGroupItems and resultGroupBytes bound a result group: readers take the facts of a whole one.
	resultGroupItems = store.MaxTogether
	resultGroupBytes = 1 << 20
	// resultGroupSpan is how far apart the indexes in a result group may lie, so that those which may have an item are few.
	resultGroupSpan = 4096
	// resultGroupCounts is how many counts of a usage a result group tells, the first ones of all. There were no others when its
	// facts got their format, and all versions that may run side by side read it.
	resultGroupCounts = 5
)

// resultGroup is a result group as it is written.
type resultGroup struct {
	job      penstock.ID
	tenant   penstock.TenantID
	last     int64 // number of the last item
	minN     int
	maxN     int
	items    int
	finished int64
	reserved penstock.NanoUSD
	charge   charge // sums; no target, status or price
	facts    factWriter
	results  [][]byte
	bytes    int // of all results
}

// charge is what an item and the attempt that decided it both tell, nearly always the same.
type charge struct {
	target     string
	statusCode int
	price      string
	usage      penstock.Usage
	cost       penstock.NanoUSD
}

func (r *itemRow) charge() charge { return charge{r.Target, r.StatusCode, r.price, r.Usage, r.Cost} }

func chargeOf(a *penstock.Attempt) charge {
	return charge{a.Target, a.StatusCode, a.PriceVersion, a.Usage, a.Cost}
}

// groupable says whether an item that is about to end so needs no row to tell of it: nothing set it apart before, its
// claim has a bit for it, its only attempt succeeded, and a result group can tell what was used.
func (r itemInJob) groupable(o outcome) bool {
	a := o.attempt
	return r.fresh && placeBit(r.place) != 0 && r.Status == penstock.StatusRunning && o.transition == penstock.TransitionSucceed && o.err == nil &&
		o.result.blob == "" && a != nil && r.tries == 1 && r.crashes == 0 && !a.Isolated && a.Fence == r.Fence && a.ErrorKind == "" && a.ErrorMessage == "" &&
		isUsual(&r.Usage, resultGroupCounts) && isUsual(&a.Usage, resultGroupCounts)
}

// recordTogether puts an item that ended into the result group of its job, or into another one behind it.
func (r itemInJob) recordTogether(ctx context.Context, tx Tx) error {
	h := r.resultGroups[r.Job]
	if h != nil && !h.takes(r.itemRow) {
		if err := h.insert(ctx, tx); err != nil {
			return err
		}
		h = nil
	}
	if h == nil {
		h = &resultGroup{job: r.Job, tenant: r.Tenant, minN: r.Index, maxN: r.Index, finished: micros(r.FinishedAt), facts: newFactWriter(min(r.job.Counts.Total, resultGroupItems))}
		r.resultGroups[r.Job] = h
	}
	h.add(r.itemRow)
	return nil
}

// takes says whether an item fits in, as the next one.
func (h *resultGroup) takes(r *itemRow) bool {
	return r.Seq == h.last+1 && h.items < resultGroupItems && h.bytes+len(r.result.inline) <= resultGroupBytes &&
		max(h.maxN, r.Index)-min(h.minN, r.Index) < resultGroupSpan
}

func (h *resultGroup) add(r *itemRow) {
	h.last, h.items = r.Seq, h.items+1
	h.minN, h.maxN = min(h.minN, r.Index), max(h.maxN, r.Index)
	h.reserved = h.reserved.Plus(r.reserved)
	h.charge.cost = h.charge.cost.Plus(r.Cost)
	h.charge.usage = h.charge.usage.Plus(r.Usage)
	h.results, h.bytes = append(h.results, r.result.inline), h.bytes+len(r.result.inline)
	h.facts.grouped(r)
}

var addResultGroup = insertInto("result_groups", `job_id text, last_seq bigint, tenant_id text, min_n bigint, max_n bigint, items bigint,
	finished_at bigint, reserved_nano_usd bigint, cost_nano_usd bigint, facts bytea, results bytea, `+usageColumns, "")

func (h *resultGroup) insert(ctx context.Context, tx Tx) error {
	results := make([]byte, 0, h.bytes)
	for _, r := range h.results {
		results = append(results, r...)
	}
	return tx.Put(ctx, addResultGroup, withUsage(h.charge.usage, h.job, h.last, h.tenant, h.minN, h.maxN, h.items,
		h.finished, h.reserved, h.charge.cost, h.facts.buf, results)...)
}

// resultGroupFormat is the first byte of a result group's facts.
const resultGroupFormat = 1

// What is told of an attempt in one byte.
const (
	chargedAsItem = 1 << iota // it tells the same charge as its item
	usageIsKnown
)

// factWriter writes the facts of a result group one behind the other. Words that come again and again are written once.
type factWriter struct {
	buf   []byte
	words map[string]int
}

// newFactWriter returns a writer that is likely to be told of so many items.
func newFactWriter(items int) factWriter {
	const usual, words = 70, 100 // bytes of an item, and of what is written once
	return factWriter{buf: append(make([]byte, 0, words+items*usual), resultGroupFormat), words: map[string]int{}}
}

func (w *factWriter) number(n int64) { w.buf = binary.AppendVarint(w.buf, n) }

func (w *factWriter) text(s string) {
	w.buf = binary.AppendUvarint(w.buf, uint64(len(s)))
	w.buf = append(w.buf, s...)
}

// word writes the number of a word, with the word behind it when it is a new one.
func (w *factWriter) word(s string) {
	at, known := w.words[s]
	if !known {
		at = len(w.words)
		w.words[s] = at
	}
	w.buf = binary.AppendUvarint(w.buf, uint64(at))
	if !known {
		w.text(s)
	}
}

func (w *factWriter) charge(c charge) {
	w.word(c.target)
	w.number(int64(c.statusCode))
	w.word(c.price)
	counts := c.usage.Counts()
	for _, n := range counts[:resultGroupCounts] {
		w.number(*n)
	}
	w.number(int64(c.cost))
}

func (w *factWriter) grouped(r *itemRow) {
	a, known, paid := r.last, byte(0), r.charge()
	if chargeOf(a) == paid {
		known |= chargedAsItem
	}
	if a.UsageKnown {
		known |= usageIsKnown
	}
	w.number(int64(r.Index))
	w.text(r.CustomID)
	w.number(int64(r.Attempts))
	w.number(int64(r.reserved))
	w.number(int64(len(r.result.inline)))
	w.charge(paid)
	w.buf = append(w.buf, known)
	if known&chargedAsItem == 0 {
		w.charge(chargeOf(a))
	}
	w.text(string(a.ID))
	w.word(a.Reason)
	w.word(a.Config)
	started := micros(a.StartedAt)
	w.number(started)
	w.number(micros(a.FirstTokenAt) - started)
	w.number(micros(a.FinishedAt) - started)
}

var errBrokenResultGroup = errors.New("the facts of a result group are broken")

// resultGroupReader takes the facts of a result group apart.
type resultGroupReader struct {
	factReader
	words []string
}

func (d *resultGroupReader) word() string {
	at := d.number()
	if at == int64(len(d.words)) {
		d.words = append(d.words, d.text())
	}
	if at >= int64(len(d.words)) || d.broken {
		d.broken, d.rest = true, nil
		return ""
	}
	return d.words[at]
}

func (d *resultGroupReader) charge() (c charge) {
	c.target, c.statusCode, c.price = d.word(), int(d.signed()), d.word()
	counts := c.usage.Counts()
	for _, n := range counts[:resultGroupCounts] {
		*n = d.signed()
	}
	c.cost = penstock.NanoUSD(d.signed())
	return c
}

// grouped reads the next item and the attempt that decided it. Its result begins where that of the one before it ends.
func (d *resultGroupReader) grouped(r *itemRow, a *penstock.Attempt, from int64) {
	r.Index, r.CustomID = int(d.signed()), d.text()
	r.Attempts, r.reserved = int(d.signed()), penstock.NanoUSD(d.signed())
	r.lies.result = span{from, from + d.signed()}
	paid := d.charge()
	r.Target, r.StatusCode, r.price, r.Usage, r.Cost = paid.target, paid.statusCode, paid.price, paid.usage, paid.cost
	known := d.take(1)[0]
	if known&chargedAsItem == 0 {
		paid = d.charge()
	}
	*a = penstock.Attempt{
		Number: 1, Fence: 1, Target: paid.target, StatusCode: paid.statusCode, PriceVersion: paid.price, Usage: paid.usage, Cost: paid.cost,
		UsageKnown: known&usageIsKnown != 0, ID: penstock.ID(d.text()), Reason: d.word(), Config: d.word(),
	}
	started := d.signed()
	a.StartedAt, a.FirstTokenAt, a.FinishedAt = fromMicros(started), fromMicros(started+d.signed()), fromMicros(started+d.signed())
	r.last = a
}

// decodeResultGroup reads the items of a result group, which are as many as its row says.
func decodeResultGroup(facts []byte, items int64) ([]itemRow, error) {
	d := resultGroupReader{factReader: factReader{rest: facts}}
	if d.take(1)[0] != resultGroupFormat || items < 1 || items > resultGroupItems {
		return nil, errBrokenResultGroup
	}
	rows, attempts := make([]itemRow, items), make([]penstock.Attempt, items)
	var at int64
	for i := range rows {
		d.grouped(&rows[i], &attempts[i], at)
		lies := rows[i].lies.result
		if at = lies.to; d.broken || at < lies.from {
			return nil, errBrokenResultGroup
		}
	}
	if len(d.rest) > 0 {
		return nil, errBrokenResultGroup
	}
	return rows, nil
}

// brokenResultGroup says that a result group cannot be read.
func brokenResultGroup(of resultGroupOf, err error) error {
	return fmt.Errorf("result group %d of job %s: %w", of.last, of.job, err)
}
