package sqlstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"penstock"
	"penstock/internal/payload"
)

// An input group has what consecutive items of a job came with. It is written once, when they are accepted, and
// stays as long as the job: what becomes of its items is told by the line, by claims and by rows of their own.

const (
	// inputGroupItems and inputGroupBytes bound an input group: claims read the facts of a whole one.
	inputGroupItems = 256
	inputGroupBytes = 1 << 20
)

// fact is what an input group knows of one item.
type fact struct {
	customID   string
	estimate   int64
	inputBytes int64
	reserved   penstock.NanoUSD
	input      span   // of the sealed input in the input group
	blob       string // where the input lies instead, or ""
}

// span is a part of an input group's inputs.
type span struct{ from, to int64 }

// inputGroup is an input group as it is written.
type inputGroup struct {
	first   int
	facts   []fact
	encoded []byte // facts, as they are stored
	inputs  []byte
}

// factsFormat is the first byte of encoded facts.
const factsFormat = 1

// encodeFacts writes facts one behind the other, numbers in the few bytes that they need.
func encodeFacts(facts []fact) []byte {
	const usual = 16 // bytes of an item
	buf := binary.AppendUvarint(append(make([]byte, 0, usual*(1+len(facts))), factsFormat), uint64(len(facts)))
	text := func(s string) {
		buf = binary.AppendUvarint(buf, uint64(len(s)))
		buf = append(buf, s...)
	}
	for _, f := range facts {
		text(f.customID)
		for _, n := range []int64{f.estimate, f.inputBytes, int64(f.reserved), f.input.to - f.input.from} {
			buf = binary.AppendUvarint(buf, uint64(n))
		}
		text(f.blob)
	}
	return buf
}

var errBrokenFacts = errors.New("the facts of an input group are broken")

func decodeFacts(buf []byte) ([]fact, error) {
	d := factReader{rest: buf}
	if format := d.take(1); d.broken || format[0] != factsFormat {
		return nil, errBrokenFacts
	}
	count := d.number()
	if d.broken || count > inputGroupItems {
		return nil, errBrokenFacts
	}
	facts := make([]fact, count)
	var at int64
	for i := range facts {
		f := &facts[i]
		f.customID = d.text()
		f.estimate, f.inputBytes, f.reserved = d.number(), d.number(), penstock.NanoUSD(d.number())
		f.input = span{at, at + d.number()}
		at = f.input.to
		f.blob = d.text()
	}
	if d.broken || len(d.rest) > 0 {
		return nil, errBrokenFacts
	}
	return facts, nil
}

// factReader takes encoded facts apart. Once it found something broken it returns nothing more.
type factReader struct {
	rest   []byte
	broken bool
}

func (d *factReader) take(n int64) []byte {
	if n < 0 || n > int64(len(d.rest)) {
		d.broken, d.rest = true, nil
		return make([]byte, 1)
	}
	part := d.rest[:n]
	d.rest = d.rest[n:]
	return part
}

func (d *factReader) number() int64 {
	n, width := binary.Uvarint(d.rest)
	if width <= 0 || int64(n) < 0 {
		d.broken, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[width:]
	return int64(n)
}

// signed reads a number that may be below zero.
func (d *factReader) signed() int64 {
	n, width := binary.Varint(d.rest)
	if width <= 0 {
		d.broken, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[width:]
	return n
}

func (d *factReader) text() string { return string(d.take(d.number())) }

var (
	addInputGroup = insertInto("input_groups", `job_id text, first_n bigint, facts bytea, inputs bytea`, "")
	addInputBlob  = insertInto("input_blobs", `name text, job_id text`, "")
)

func (b inputGroup) insert(ctx context.Context, tx Tx, job penstock.ID) error {
	if err := tx.Put(ctx, addInputGroup, job, b.first, b.encoded, b.inputs); err != nil {
		return err
	}
	for _, f := range b.facts {
		if f.blob == "" {
			continue
		}
		if err := tx.Put(ctx, addInputBlob, f.blob, job); err != nil {
			return err
		}
	}
	return nil
}

// groupInputs puts items that may start at once into input groups. The others stand apart from the beginning.
func (a submittedItems) groupInputs() (all []inputGroup) {
	for i := 0; i < len(a.items); {
		items, bytes := a.inputGroupFrom(i)
		if items == 0 {
			i++
			continue
		}
		b := inputGroup{first: a.first + i, facts: make([]fact, 0, items), inputs: make([]byte, 0, bytes)}
		for ; items > 0; i, items = i+1, items-1 {
			item, input, at := &a.items[i], &a.inputs[i], int64(len(b.inputs))
			b.inputs = append(b.inputs, input.inline...)
			b.facts = append(b.facts, fact{
				customID: item.CustomID, estimate: item.EstimateTokens, inputBytes: int64(len(item.Body)), reserved: item.Reserved,
				input: span{at, int64(len(b.inputs))}, blob: input.blob,
			})
		}
		b.encoded = encodeFacts(b.facts)
		all = append(all, b)
	}
	return all
}

// inputGroupFrom is how many items from the i-th on make an input group, and how many bytes their inputs have; none if it is held
// back.
func (a submittedItems) inputGroupFrom(i int) (items, bytes int) {
	for ; i < len(a.items) && items < inputGroupItems && a.items[i].StartIn <= 0; i++ {
		if more := bytes + len(a.inputs[i].inline); items == 0 || more <= inputGroupBytes {
			items, bytes = items+1, more
			continue
		}
		break
	}
	return items, bytes
}

// inputGroupOf is the place of an input group.
type inputGroupOf struct {
	job   penstock.ID
	first int
}

// askFacts is the question for the facts of an input group.
func askFacts(of inputGroupOf, facts *[]fact) Question {
	return ask(sqlf(`SELECT facts FROM input_groups WHERE job_id = $1 AND first_n = $2`, of.job, of.first), func(row Row) error {
		var buf []byte
		if err := row.Scan(&buf); err != nil {
			return err
		}
		var err error
		*facts, err = decodeFacts(buf)
		return err
	})
}

// askInputGroup is the question for all of an input group. To find a row of this size costs more than to read it, so what is needed
// of both parts is read at once.
func askInputGroup(of inputGroupOf, facts *[]fact, inputs *[]byte) Question {
	return ask(sqlf(`SELECT facts, inputs FROM input_groups WHERE job_id = $1 AND first_n = $2`, of.job, of.first), func(row Row) error {
		var buf []byte
		if err := row.Scan(&buf, inputs); err != nil {
			return err
		}
		var err error
		*facts, err = decodeFacts(buf)
		return err
	})
}

// askInputs is the question for the sealed inputs of some consecutive items of an input group.
func askInputs(of inputGroupOf, part span, inputs *[]byte) Question {
	return ask(sqlf(`SELECT substr(inputs, $3, $4) FROM input_groups WHERE job_id = $1 AND first_n = $2`,
		of.job, of.first, part.from+1, part.to-part.from), func(row Row) error { return row.Scan(inputs) })
}

// groupedInput is an item that has no row: what its input group and its job know of it.
type groupedInput struct {
	fact
	inputGroupOf
	n int
}

// findGroupedInput returns those of a job's items that are in input groups. They may have rows as well.
func findGroupedInput(ctx context.Context, tx Tx, job penstock.ID, ns []int) (map[int]groupedInput, error) {
	found := make(map[int]groupedInput, len(ns))
	known := map[int][]fact{}
	for _, n := range ns {
		first, ok, err := queryOne(ctx, tx, sqlf(`SELECT first_n FROM input_groups WHERE job_id = $1 AND first_n <= $2
			ORDER BY first_n DESC LIMIT 1`, job, n), scanInt)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		of := inputGroupOf{job, int(first)}
		facts, read := known[of.first]
		if !read {
			if err := tx.Ask(ctx, askFacts(of, &facts)); err != nil {
				return nil, err
			}
			known[of.first] = facts
		}
		if at := n - of.first; at < len(facts) {
			found[n] = groupedInput{facts[at], of, n}
		}
	}
	return found, nil
}

// sealedInput reads the sealed input of a bundled item.
func (b groupedInput) sealedInput(ctx context.Context, tx Tx) (p placed, err error) {
	if b.blob != "" {
		return placed{blob: b.blob}, nil
	}
	err = tx.Ask(ctx, askInputs(b.inputGroupOf, b.input, &p.inline))
	return p, err
}

// inputOwner is whom the sealed input of an item belongs to.
func inputOwner(tenant penstock.TenantID, item penstock.ID) payload.Owner {
	return owner(tenant, item, partInput)
}

// row is the item as a row would have it.
func (b groupedInput) row(j *penstock.Job) *itemRow {
	return &itemRow{
		Item: penstock.Item{
			ID: penstock.ItemID(j.ID, b.n), Job: j.ID, Tenant: j.Tenant, Index: b.n, CustomID: b.customID, Status: penstock.StatusQueued,
		},
		reserved: b.reserved, estimate: b.estimate, inputBytes: b.inputBytes, notBefore: micros(j.CreatedAt), fresh: true,
	}
}

// brokenInputGroup says that an input group is not what the line says it is.
func brokenInputGroup(of inputGroupOf) error {
	return fmt.Errorf("input group %d of job %s: %w", of.first, of.job, errBrokenFacts)
}
