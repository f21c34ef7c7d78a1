package itemstore

import (
	"context"
	"fmt"
	"slices"

	"penstock"
	"penstock/internal/store"
	"penstock/internal/store/sqldb"
)

const (
	// inputGroupItems and inputGroupBytes bound an input group: claims read the facts of a whole one.
	inputGroupItems = 256
	inputGroupBytes = 1 << 20

	// MaxInputGroup is how many items an input group has at most.
	MaxInputGroup = inputGroupItems
)

// GroupKey names an input group.
type GroupKey struct {
	Job   penstock.ID
	First int // index of its first item
}

// InputGroup is the inputs of consecutive items of a job, and what is known of them while they wait.
type InputGroup struct {
	First   int
	Facts   []Fact
	encoded []byte
	sealed  []byte // the inputs, one behind the other
}

// Last is the index of the last item.
func (g *InputGroup) Last() int { return g.First + len(g.Facts) - 1 }

// Row is the i-th item of the group as a row would have it.
func (g *InputGroup) Row(j *penstock.Job, i int) *Row { return g.Facts[i].row(j, g.First+i) }

// GroupInputs puts the items of a job that may start at once into groups; first is the index of the first item. Items
// that start later are not in a group: they get rows ([Writer.Park]).
func GroupInputs(items []store.NewItem, inputs []Sealed, first int) (all []InputGroup) {
	for i := 0; i < len(items); {
		count := groupFrom(items[i:], inputs[i:])
		if count == 0 {
			i++
			continue
		}
		g := InputGroup{First: first + i, Facts: make([]Fact, 0, count)}
		var sealed joined
		for ; count > 0; i, count = i+1, count-1 {
			item, input, at := &items[i], &inputs[i], int64(len(sealed.bytes))
			sealed.add(input.Inline)
			g.Facts = append(g.Facts, Fact{
				CustomID: item.CustomID, Estimate: item.EstimateTokens, InputBytes: int64(len(item.Body)), Reserved: item.Reserved,
				input: span{at, int64(len(sealed.bytes))}, blob: input.Blob,
			})
		}
		g.encoded, g.sealed = encodeInputs(g.Facts), sealed.all()
		all = append(all, g)
	}
	return all
}

// groupFrom is how many of the items make the next group; none if the first one starts later.
func groupFrom(items []store.NewItem, inputs []Sealed) (count int) {
	bytes := 0
	for count < len(items) && count < inputGroupItems && items[count].StartIn <= 0 {
		more := bytes + len(inputs[count].Inline)
		if count > 0 && more > inputGroupBytes {
			break
		}
		count, bytes = count+1, more
	}
	return count
}

// row is the n-th item of a job as a row would have it.
func (f *Fact) row(j *penstock.Job, n int) *Row {
	return &Row{
		Item: penstock.Item{
			ID: penstock.ItemID(j.ID, n), Job: j.ID, Tenant: j.Tenant, Index: n, CustomID: f.CustomID, Status: penstock.StatusQueued,
		},
		Reserved: f.Reserved, Estimate: f.Estimate, InputBytes: f.InputBytes, NotBefore: sqldb.Micros(j.CreatedAt), Rowless: true,
	}
}

// Inputs are an input group as far as it was read.
type Inputs struct {
	key    GroupKey
	facts  []Fact
	sealed []byte
	from   int64 // where sealed begins in the group
}

// Fact is what the group knows of the n-th item of the job.
func (in *Inputs) Fact(n int) (*Fact, error) {
	if at := n - in.key.First; at >= 0 && at < len(in.facts) {
		return &in.facts[at], nil
	}
	return nil, fmt.Errorf("input group %d of job %s: %w", in.key.First, in.key.Job, errBrokenFacts)
}

// Row is the n-th item of the job as a row would have it.
func (in *Inputs) Row(j *penstock.Job, n int) (*Row, error) {
	f, err := in.Fact(n)
	if err != nil {
		return nil, err
	}
	return f.row(j, n), nil
}

// Input is the sealed input of the n-th item of the job; none if it was not read.
func (in *Inputs) Input(n int) Sealed {
	f, err := in.Fact(n)
	if err != nil {
		return Sealed{}
	}
	if f.blob != "" {
		return Sealed{Blob: f.blob}
	}
	from, to := f.input.from-in.from, f.input.to-in.from
	if from < 0 || to > int64(len(in.sealed)) {
		return Sealed{}
	}
	return Sealed{Inline: in.sealed[from:to:to]}
}

// AskFacts is the question for the facts of a group.
func (in *Inputs) AskFacts(key GroupKey) sqldb.Question {
	in.key = key
	return sqldb.Ask(sqldb.SQL(`SELECT facts FROM input_groups WHERE job_id = $1 AND first_n = $2`, key.Job, key.First), func(row sqldb.Row) (err error) {
		var encoded []byte
		if err := row.Scan(&encoded); err != nil {
			return err
		}
		in.facts, err = decodeInputs(encoded)
		return err
	})
}

// AskAll is the question for facts and inputs of a group. Finding a row of this size costs more than reading it, so a
// caller that is likely to need most of the inputs reads both at once.
func (in *Inputs) AskAll(key GroupKey) sqldb.Question {
	in.key = key
	return sqldb.Ask(sqldb.SQL(`SELECT facts, inputs FROM input_groups WHERE job_id = $1 AND first_n = $2`, key.Job, key.First), in.scan)
}

func (in *Inputs) scan(row sqldb.Row) (err error) {
	var encoded []byte
	if err := row.Scan(&encoded, &in.sealed); err != nil {
		return err
	}
	in.facts, err = decodeInputs(encoded)
	return err
}

// AskInputs is the question for the sealed inputs from one item of the job to another, whose facts were read. There is
// none if the inputs were read already.
func (in *Inputs) AskInputs(first, last int) (q sqldb.Question, needed bool, err error) {
	a, err := in.Fact(first)
	if err != nil {
		return q, false, err
	}
	b, err := in.Fact(last)
	if err != nil {
		return q, false, err
	}
	if in.from == 0 && b.input.to <= int64(len(in.sealed)) {
		return q, false, nil
	}
	in.from = a.input.from
	return sqldb.Ask(sqldb.SQL(`SELECT substr(inputs, $3, $4) FROM input_groups WHERE job_id = $1 AND first_n = $2`,
		in.key.Job, in.key.First, in.from+1, b.input.to-in.from), func(row sqldb.Row) error { return row.Scan(&in.sealed) }), true, nil
}

// AskFirst is the question for the first input groups of several jobs.
func AskFirst(of map[penstock.ID]*Inputs) sqldb.Question {
	ids := make([]string, 0, len(of))
	for job, in := range of {
		in.key = GroupKey{Job: job}
		ids = append(ids, string(job))
	}
	return sqldb.Question{IDQuery: sqldb.IDQuery{IDs: ids, SQL: `SELECT job_id, facts, inputs FROM input_groups
		WHERE job_id = /*pg ANY */($1) AND first_n = 0`}, Scan: func(row sqldb.Row) (err error) {
		var job penstock.ID
		var encoded, sealed []byte
		if err := row.Scan(&job, &encoded, &sealed); err != nil {
			return err
		}
		in := of[job]
		in.sealed = sealed
		in.facts, err = decodeInputs(encoded)
		return err
	}}
}

// findGroups returns, for each of the items of a job that is in an input group, the facts of the group.
func findGroups(ctx context.Context, tx sqldb.Reader, job penstock.ID, ns []int) (map[int]*Inputs, error) {
	found := make(map[int]*Inputs, len(ns))
	var in *Inputs // the last group that was read
	for _, n := range slices.Sorted(slices.Values(ns)) {
		if in == nil || n-in.key.First >= len(in.facts) {
			first, ok, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT first_n FROM input_groups WHERE job_id = $1 AND first_n <= $2
				ORDER BY first_n DESC LIMIT 1`, job, n), sqldb.ScanOne[int])
			if err != nil {
				return nil, err
			}
			if !ok || (in != nil && in.key.First == first) {
				continue
			}
			in = &Inputs{}
			if err := tx.Ask(ctx, in.AskFacts(GroupKey{job, first})); err != nil {
				return nil, err
			}
		}
		if n-in.key.First < len(in.facts) {
			found[n] = in
		}
	}
	return found, nil
}
