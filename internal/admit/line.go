package admit

import (
	"math"
	"time"

	"penstock"
	"penstock/internal/backlog"
	"penstock/internal/body"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/dialect/attach"
	"penstock/internal/route"
	"penstock/internal/store"
)

// Lines are the inferences of a job over the lines of a file. They are admitted by the file's totals, and read later, a
// few at a time.
type Lines struct {
	File  store.File
	Batch store.Batch
	// Each holds the defaults of every line as its body, and the bounds that they set.
	Each dialect.Inference
	// PromptBytes is the length of the longest prompt that the lines name, without its variables. Admission sets it.
	PromptBytes int64
}

// submit adds the lines to a submission. What they add to the queue is an upper bound, as for other jobs, unless lines
// ask for more than the defaults do; the bound of each line is known when it is read.
func (l *Lines) submit(targets []*penstock.Target, sub *store.Submission, a *backlog.Arrival) {
	batch := l.Batch
	for _, r := range attach.Find(batch.Defaults) {
		batch.References = append(batch.References, r.File)
	}
	sub.Job.File, sub.Lines, sub.Batch = l.File.ID, l.File.Lines, &batch
	each, lines := Bound(targets, l.Each, Terms{From: sub.Job.CreatedAt, Lane: sub.Job.Lane}), int64(l.File.Lines)
	a.Items = l.File.Lines
	added := int64(len(l.Each.Object.Text)) + l.PromptBytes
	a.Bytes = l.File.Bytes + lines*added
	const most = int64(1) << 53 // so small that the sum over many jobs does not overflow
	a.Tokens = most
	if each.Tokens < (most-l.File.Tokens)/max(lines, 1) {
		a.Tokens = l.File.Tokens + lines*each.Tokens
	}
}

// most is the most that one attempt at each line can use, assuming that every line has the average length and asks for
// no more than the defaults do.
func (l *Lines) most(targets []*penstock.Target, terms Terms) Most {
	lines := int64(l.File.Lines)
	if lines == 0 {
		return Most{}
	}
	usual := l.Each
	usual.Object = body.Object{Text: make([]byte, int64(len(l.Each.Object.Text))+l.PromptBytes+(l.File.Tokens+lines-1)/lines)} // only its length counts
	each := Bound(targets, usual, terms)
	most := Most{Tokens: math.MaxInt64, Cost: math.MaxInt64}
	if each.Tokens < most.Tokens/lines {
		most.Tokens = each.Tokens * lines
	}
	if each.Cost < most.Cost/penstock.NanoUSD(lines) {
		most.Cost = each.Cost * penstock.NanoUSD(lines)
	}
	return most
}

// ItemOrder is what the price of an item depends on besides its inference.
type ItemOrder struct {
	Job     penstock.Job
	Targets []*penstock.Target // that the job was resolved to
	Now     time.Time
}

// Item is an inference of a job as it is kept, with the most that it can use on any of the targets. Codes: budget_exceeded.
func Item(o ItemOrder, inf *dialect.Inference) (store.NewItem, error) {
	q, err := quoteOf(o.Job.Resolved, o.Targets, inf)
	return q.item(o.Targets, inf, Terms{From: o.Now, Lane: o.Job.Lane}), err
}

func (q quote) item(targets []*penstock.Target, inf *dialect.Inference, terms Terms) store.NewItem {
	bound := q.bound(targets, terms)
	item := store.NewItem{CustomID: inf.CustomID, Body: inf.Body(), EstimateTokens: bound.Tokens, Reserved: bound.Cost, Files: inf.Files, Truncated: inf.Truncated}
	if inf.Prompted != nil {
		item.Prompt = &inf.Prompted.PromptUse
	}
	return item
}

// ResolvedTargets are the targets that a job was resolved to, as far as they are still configured. If none is, nothing
// is reserved, and the job's items will fail because they have no target.
func ResolvedTargets(snapshot *config.Snapshot, j penstock.Job) []*penstock.Target {
	targets, err := route.Candidates(j.Resolved.Targets, snapshot.Targets)
	if err != nil {
		return nil
	}
	return targets
}
