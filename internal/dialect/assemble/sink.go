package assemble

import (
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/provider"
)

// MaxBytes bounds the answer that a Sink keeps.
const MaxBytes = 32 << 20

// Sink keeps an answer while it arrives: a plain one as it is, the parts of a streamed one put together and shown.
type Sink struct {
	body      []byte
	assembled Answer // nil for a plain answer
	mode      penstock.Stream
	say       func(string)
	size      int
}

// NewSink is the sink of an answer to a body, and the body that asks for such an answer. With a mode, say is given what is to
// be shown, where answers of the endpoint can be.
func NewSink(endpoint penstock.Endpoint, mode penstock.Stream, text []byte, say func(string)) (Sink, []byte, error) {
	if mode == penstock.StreamNone {
		return Sink{}, text, nil
	}
	assembled, streams := For(endpoint)
	if !streams {
		return Sink{}, text, nil
	}
	asking, err := Ask(endpoint, text)
	if err != nil {
		return Sink{}, nil, err
	}
	return Sink{assembled: assembled, mode: mode, say: say}, asking, nil
}

// Streams says that the answer is asked for as a stream.
func (s *Sink) Streams() bool { return s.assembled != nil }

// Begin implements attempt.Sink.
func (s *Sink) Begin(string, provider.Meta) error { return nil }

// Chunk implements attempt.Sink.
func (s *Sink) Chunk(c provider.Chunk) error {
	if s.size+len(c.Wire) > MaxBytes {
		return &provider.Error{Kind: provider.KindMalformed, Message: "The answer is larger than an item may keep."}
	}
	s.size += len(c.Wire)
	if s.assembled == nil {
		s.body = append(s.body, c.Wire...)
		return nil
	}
	if s.mode == penstock.StreamText {
		s.say(c.Text)
	}
	err := Events(c.Wire, func(data []byte) error {
		if s.mode == penstock.StreamWire && !s.assembled.Last(data) {
			line := jsontext.Value(data).Clone()
			if err := line.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
				return err
			}
			s.say(string(line) + "\n")
		}
		return s.assembled.Add(data)
	})
	if err != nil {
		return &provider.Error{Kind: provider.KindMalformed, Message: "The answer is not of its protocol.", Err: err}
	}
	return nil
}

// Whole is the plain answer, once it is complete.
func (s *Sink) Whole() ([]byte, error) {
	if s.assembled == nil {
		return s.body, nil
	}
	whole, err := s.assembled.Whole()
	if err != nil {
		return nil, &provider.Error{Kind: provider.KindMalformed, Message: "The answer was empty.", Err: err}
	}
	return whole, nil
}
