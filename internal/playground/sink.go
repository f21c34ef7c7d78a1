package playground

import (
	"penstock"
	"penstock/internal/dialect/assemble"
	"penstock/internal/dialect/edit"
	"penstock/internal/provider"
	"penstock/internal/request"
)

// sink receives the answer of a call. It implements request.Sink.
type sink struct {
	step   *step
	id     penstock.ID
	editor *edit.Editor
	answer assemble.Answer
	deltas []edit.Delta
}

var _ request.Sink = (*sink)(nil)

func newSink(o *step, id penstock.ID) sink {
	answer, _ := assemble.For(penstock.EndpointChat)
	return sink{step: o, id: id, editor: edit.New(penstock.EndpointChat), answer: answer}
}

// Admitted implements request.Sink: the cell runs.
func (k *sink) Admitted(request.Admittance) {
	w := k.step.w
	k.step.admitted = true
	w.service.mu.Lock()
	defer w.service.mu.Unlock()
	w.cell.State, w.cell.Requests = CellRunning, append(w.cell.Requests[:len(w.cell.Requests):len(w.cell.Requests)], k.id)
	w.cell.change++
	w.service.mark()
}

// Begin implements request.Sink.
func (k *sink) Begin(h request.Head) error {
	w := k.step.w
	w.service.mu.Lock()
	defer w.service.mu.Unlock()
	w.cell.Target = h.Target
	w.cell.change++
	return nil
}

// Chunk implements request.Sink.
func (k *sink) Chunk(c provider.Chunk) error {
	var pieces []Piece
	w := k.step.w
	k.deltas, _ = k.editor.Read(k.deltas[:0], c.Wire, edit.Events)
	for i := range k.deltas {
		if d := &k.deltas[i]; d.Choice == 0 && d.Text != "" {
			if p, ok := w.piece(d); ok {
				pieces = append(pieces, p...)
			}
		}
	}
	if err := assemble.Events(c.Wire, k.answer.Add); err != nil {
		return &provider.Error{Kind: provider.KindMalformed, Message: "The answer is not of its protocol.", Err: err}
	}
	if len(pieces) == 0 {
		return nil
	}
	return w.push(pieces)
}

// Fail implements request.Sink.
func (k *sink) Fail(f request.Failure) bool {
	k.step.failure = f.Err
	return false
}

// End implements request.Sink.
func (k *sink) End(penstock.NanoUSD) {}

// piece makes pieces of output of a delta; ok is false for one that the output does not show.
func (w *writer) piece(d *edit.Delta) (all []Piece, ok bool) {
	switch d.Kind {
	case edit.Text:
		if w.apart {
			w.apart = false
			all = append(all, Piece{Kind: DeltaText, Offset: len(w.text), Text: "\n\n"})
			w.text = append(w.text, "\n\n"...)
		}
		all = append(all, Piece{Kind: DeltaText, Offset: len(w.text), Text: d.Text})
		w.text = append(w.text, d.Text...)
	case edit.Reasoning:
		all = append(all, Piece{Kind: DeltaReasoning, Offset: len(w.reasoning), Text: d.Text})
		w.reasoning = append(w.reasoning, d.Text...)
	case edit.Arguments:
		at := w.before + d.Block
		for len(w.calls) <= at && len(w.calls) < MaxToolResults {
			w.calls = append(w.calls, ToolCall{})
		}
		if at >= len(w.calls) {
			return nil, false
		}
		all = append(all, Piece{Kind: DeltaArguments, Call: at, Offset: w.arguments, Text: d.Text})
		w.calls[at].Arguments += d.Text
		w.arguments += len(d.Text)
	default:
		return nil, false
	}
	return all, true
}

// push adds pieces to those that are to be stored. It refuses more text than a cell, or a run, may have.
func (w *writer) push(pieces []Piece) error {
	s, c := w.service, w.cell
	s.mu.Lock()
	defer s.mu.Unlock()
	size := 0
	for i := range pieces {
		size += len(pieces[i].Text)
	}
	w.run.size += size
	if len(w.text)+len(w.reasoning)+w.arguments > MaxOutputBytes || w.run.size > MaxRunOutputBytes {
		return &provider.Error{Kind: provider.KindMalformed, Message: "The answer is larger than the playground keeps."}
	}
	for _, p := range pieces {
		c.pieces = joined(c.pieces, p)
	}
	c.change++
	s.mark()
	return nil
}

// joined adds a piece to a list, as a part of the last one where that is possible.
func joined(list []Piece, p Piece) []Piece {
	if n := len(list); n > 0 && list[n-1].Kind == p.Kind && list[n-1].Call == p.Call && list[n-1].Offset+len(list[n-1].Text) == p.Offset {
		list[n-1].Text += p.Text
		return list
	}
	return append(list, p)
}
