package edit

// Form is how the bytes of a chunk are framed.
type Form uint8

// The forms.
const (
	Plain  Form = iota // a whole body, for Body
	Events             // whole events of a stream, for Chunk
	Error              // an error of the upstream, for Error
)

// snapshot is the chunk that Read read last, and the state of the editor before it.
type snapshot struct {
	wire  []byte
	form  Form
	open  []track
	added int64
}

// Read appends the deltas of a chunk to a list. It returns the chunk to pass on if no delta is replaced: such a chunk may still
// differ, because it repeats texts or continues numbers that earlier edits changed.
func (e *Editor) Read(to []Delta, wire []byte, form Form) (deltas []Delta, passed []byte) {
	e.before = snapshot{wire: wire, form: form, open: append(e.before.open[:0], e.open...), added: e.added}
	passed = e.edit(wire, form, func(d Delta) string {
		to = append(to, d)
		return d.Text
	})
	return to, passed
}

// Replace edits the chunk that Read read last: the text of each delta takes the place of the delta that Read returned at that
// index. There must be as many. A later Replace of the same chunk takes the place of an earlier one.
func (e *Editor) Replace(deltas []Delta) []byte {
	b := &e.before
	e.open, e.added = append(e.open[:0], b.open...), b.added
	next := 0
	return e.edit(b.wire, b.form, func(Delta) string { // asks for the same deltas: which they are does not depend on the new texts
		next++
		return deltas[next-1].Text
	})
}

func (e *Editor) edit(wire []byte, form Form, f Func) []byte {
	switch form {
	case Events:
		return e.Chunk(wire, f)
	case Error:
		return e.Error(wire, f)
	}
	return e.Body(wire, f)
}
