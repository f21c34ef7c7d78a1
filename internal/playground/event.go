package playground

import (
	"context"
	"iter"
	"slices"
	"time"

	"penstock"
	"penstock/internal/playground/position"
)

// EventKind is the kind of an event of a run.
type EventKind string

// The kinds of events.
const (
	EventCell  EventKind = "cell"  // the state of a cell changed
	EventDelta EventKind = "delta" // a piece of output
	EventRun   EventKind = "run"   // the run has ended; the last event
)

// Event is an event of a run.
type Event struct {
	Type  EventKind
	ID    string // the position behind it: see package position
	Cell  Cell   // of a cell, without its text; of a delta, with its number
	Piece Piece  // of a delta
	Run   Run    // of a run
}

// PositionOf is the position of a reader who has a run as it was read.
func PositionOf(o Opened) position.Position {
	p := position.Position{Seq: o.Seq, Parts: map[int]position.Part{}}
	for i := range o.Cells {
		if c := &o.Cells[i]; c.State == CellRunning {
			part := position.Part{Attempt: c.Attempt, Bytes: [3]int{len(c.Result.Output.Text), len(c.Result.Output.Reasoning)}}
			for j := range c.Result.Output.ToolCalls {
				part.Bytes[2] += len(c.Result.Output.ToolCalls[j].Arguments)
			}
			p.Parts[c.N] = part
		}
	}
	return p
}

// pollInterval is how often a reader looks if the signal is lost.
const pollInterval = time.Second

// Follow returns the events of a run behind a position, until the run has ended or ctx ends. A run that was deleted meanwhile is
// an error. Codes: not_found.
func (s *Service) Follow(ctx context.Context, reader penstock.Principal, id penstock.ID, from position.Position) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		changes := s.Changed.Subscribe(id)
		defer changes.Close()
		poll := time.NewTicker(pollInterval)
		defer poll.Stop()
		f := &follower{Position: from, yield: yield}
		for {
			if _, err := s.see(ctx, reader, id); err != nil {
				f.fail(ctx, err)
				return
			}
			found, err := s.Cells.Changes(ctx, reader.Tenant.ID, id, f.Seq)
			if err != nil {
				f.fail(ctx, err)
				return
			}
			if !f.tell(found) {
				return
			}
			if found.Run.State != RunRunning {
				found.Run.Mine = found.Run.Author.ID == reader.Author().ID
				yield(Event{Type: EventRun, ID: f.String(), Run: found.Run}, nil)
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-changes.C:
			case <-poll.C:
			}
		}
	}
}

// follower is the state of one reader.
type follower struct {
	position.Position
	yield func(Event, error) bool
}

// fail reports an error, unless the reader left.
func (f *follower) fail(ctx context.Context, err error) {
	if ctx.Err() == nil {
		f.yield(Event{}, err)
	}
}

// tell sends what changed, in the order of the changes, and reports whether the reader is still there. The events of a cell are:
// the cell if it begins, its deltas, and the cell if it has ended.
func (f *follower) tell(found Changes) bool {
	for i := range found.Cells {
		c := &found.Cells[i]
		part, known := f.Parts[c.N]
		if !known || part.Attempt != c.Attempt {
			part = position.Part{Attempt: c.Attempt}
			f.Parts[c.N] = part
			if len(c.Pieces) > 0 || c.State.Open() {
				began := c.Cell
				if !began.State.Open() { // its end follows its text
					began.State = CellRunning
				}
				if !f.cell(began) {
					return false
				}
			}
		} else if c.State.Open() && len(c.Pieces) == 0 && !f.cell(c.Cell) {
			return false
		}
		for _, p := range c.Pieces {
			if !f.delta(c, p) {
				return false
			}
		}
		if c.State != CellRunning {
			delete(f.Parts, c.N)
		}
		f.Seq = c.Seq
		if !c.State.Open() && !f.cell(c.Cell) {
			return false
		}
	}
	f.Seq = max(f.Seq, found.Run.Seq)
	return true
}

func (f *follower) cell(c Cell) bool {
	c.Result.Output.Text, c.Result.Output.Reasoning = "", ""
	return f.yield(Event{Type: EventCell, ID: f.String(), Cell: c}, nil)
}

// delta sends what the reader does not have of a piece.
func (f *follower) delta(c *Changed, p Piece) bool {
	part, at := f.Parts[c.N], slices.Index(DeltaKinds, p.Kind)
	have := part.Bytes[at]
	if end := p.Offset + len(p.Text); end <= have {
		return true
	}
	if p.Offset < have {
		p.Text, p.Offset = p.Text[have-p.Offset:], have
	}
	part.Bytes[at] = p.Offset + len(p.Text)
	f.Parts[c.N] = part
	return f.yield(Event{Type: EventDelta, ID: f.String(), Cell: Cell{N: c.N}, Piece: p}, nil)
}
