package anthropic

import (
	"errors"

	"penstock"
	"penstock/internal/provider/wire"
	"penstock/internal/sse"
)

// messageReader reads one message, plain or streamed.
type messageReader struct {
	delta wire.Template
	tally tally
}

// Plain implements [wire.Reader].
func (r *messageReader) Plain(body []byte) (wire.Part, error) {
	m, err := readMessage(body)
	switch {
	case err != nil:
		return wire.Part{}, err
	case m.kind == typeError || wire.IsSet(m.failure):
		return wire.Part{Failed: true}, nil
	case !m.hasContent:
		return wire.Part{}, errors.New("it has no content")
	}
	r.tally.last = r.tally.add(m.usage)
	return wire.Part{Text: m.text}, nil
}

// Event implements [wire.Reader]. Events of a type that is not known pass: the protocol promises to add
// some.
func (r *messageReader) Event(ev sse.Event) (wire.Part, error) {
	if text, ok := r.delta.Text(ev.Data); ok {
		return wire.Part{Text: text}, nil
	}
	e, err := readEvent(ev.Data)
	switch {
	case err != nil:
		return wire.Part{}, err
	case e.kind == typeError || wire.IsSet(e.failure):
		return wire.Part{Failed: true}, nil
	case e.kind == typeNone:
		return wire.Part{}, errors.New("it has no type")
	}
	switch e.kind {
	case typePing:
		return wire.Part{Alive: true}, nil
	case typeMessageStart:
		r.tally.add(e.begun)
	case typeMessageDelta:
		// Its counts are totals so far, and with tools of the server's own the input grows too.
		r.tally.last = r.tally.add(e.usage) || r.tally.last
	case typeMessageStop:
		return wire.Part{Last: true}, nil
	case typeBlockStart:
		return wire.Part{Text: e.block.text()}, nil
	case typeBlockDelta:
		if e.delta.isText && e.delta.at.End > 0 {
			r.delta.Learn(ev.Data, e.delta.at)
		}
		return wire.Part{Text: e.delta.text()}, nil
	}
	return wire.Part{}, nil
}

// Usage implements [wire.Reader].
func (r *messageReader) Usage() (penstock.Usage, wire.Reported) { return r.tally.usage() }
