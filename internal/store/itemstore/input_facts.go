package itemstore

import "penstock"

// inputLayout is the first byte of the facts of an input group.
const inputLayout = 2

// Fact is what an input group knows of one item.
type Fact struct {
	CustomID   string
	Estimate   int64 // tokens
	InputBytes int64 // of the input as it came
	Reserved   penstock.NanoUSD
	input      span   // of the sealed input in the group
	blob       string // that has the input instead, or ""
	unknown    fields
}

// span is a part of the payloads of a group.
type span struct{ from, to int64 }

func (s span) len() int64 { return s.to - s.from }

// encodeInputs writes the facts of an input group. For each item: custom id, estimate, bytes of the input, reservation,
// bytes of the sealed input, blob, fields.
func encodeInputs(facts []Fact) []byte {
	const usual = 17 // bytes of an item
	w := factWriter{buf: append(make([]byte, 0, usual*(1+len(facts))), inputLayout)}
	w.count(int64(len(facts)))
	for i := range facts {
		f := &facts[i]
		w.text(f.CustomID)
		w.count(f.Estimate)
		w.count(f.InputBytes)
		w.count(int64(f.Reserved))
		w.count(f.input.len())
		w.text(f.blob)
		w.fields(f.unknown)
	}
	return w.buf
}

// decodeInputs reads the facts of an input group. Each input begins where the one before it ends.
func decodeInputs(encoded []byte) ([]Fact, error) {
	r := factReader{buf: encoded}
	layout, count := r.byte(), r.count()
	if r.broken || layout != inputLayout || count > inputGroupItems {
		return nil, errBrokenFacts
	}
	facts := make([]Fact, count)
	var at int64
	for i := range facts {
		f := &facts[i]
		f.CustomID = r.text()
		f.Estimate, f.InputBytes, f.Reserved = r.count(), r.count(), penstock.NanoUSD(r.count())
		f.input = span{at, at + r.count()}
		f.blob = r.text()
		f.unknown = r.fields(nil)
		if at = f.input.to; r.broken || at < f.input.from {
			return nil, errBrokenFacts
		}
	}
	if r.more() {
		return nil, errBrokenFacts
	}
	return facts, nil
}
