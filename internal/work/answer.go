package work

import (
	"penstock"
	"penstock/internal/assemble"
	"penstock/internal/store"
)

// answer is what becomes of an item's answer while it arrives.
type answer struct {
	*assemble.Sink
	speech *speech // nil when nothing is shown
}

// newAnswer is the answer of a claimed item, and the body that asks for it.
func (p *Pool) newAnswer(c *store.Claimed) (answer, []byte, error) {
	mode := c.Stream
	if p.speaker == nil {
		mode = penstock.StreamNone
	}
	var a answer
	sink, body, err := assemble.NewSink(c.Endpoint, mode, c.Body, func(piece string) { a.speech.say(piece) })
	if err != nil {
		return answer{}, nil, err
	}
	a.Sink = sink
	if sink.Streams() {
		a.speech = p.speaker.begin(*c)
	}
	return a, body, nil
}

// close says that nothing more arrives, and returns what is left to be shown.
func (a answer) close() []store.Delta {
	if a.speech == nil {
		return nil
	}
	return a.speech.end()
}
