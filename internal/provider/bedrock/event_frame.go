package bedrock

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/provider/wire"
	"penstock/internal/sse"
)

// framing is AWS's binary event stream.
var framing = wire.Framing{
	Type: "application/vnd.amazon.eventstream",
	Events: func(stream io.Reader) io.Reader {
		return &eventReader{stream: stream, decoder: eventstream.NewDecoder()}
	},
}

const (
	// preludeBytes begin a message: its length, the length of its headers, and a checksum of both.
	preludeBytes = 12
	// minMessageBytes is the length of a message without headers and payload: prelude and checksum.
	minMessageBytes = preludeBytes + 4
	// maxMessageBytes bounds a message. AWS's own limit is the same.
	maxMessageBytes = 16 << 20
)

// eventReader reads an event stream and returns its messages as server-sent events. It reads one message at a time.
type eventReader struct {
	stream  io.Reader
	decoder *eventstream.Decoder
	payload []byte // memory for the next message
	text    []byte // the last event
	rest    []byte // of it
}

func (r *eventReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// next reads a message. io.EOF means that the stream ended between two messages.
func (r *eventReader) next() error {
	var prelude [preludeBytes]byte
	if _, err := io.ReadFull(r.stream, prelude[:]); err != nil {
		return err
	}
	// The decoder believes the length, so it is checked first.
	total, headers := binary.BigEndian.Uint32(prelude[:]), binary.BigEndian.Uint32(prelude[4:])
	switch {
	case total > maxMessageBytes:
		return &sse.TooLargeError{Limit: maxMessageBytes}
	case total < minMessageBytes || headers > total-minMessageBytes:
		return &wire.FramingError{Err: errors.New("a message is shorter than its parts")}
	}
	whole := io.MultiReader(bytes.NewReader(prelude[:]), io.LimitReader(r.stream, int64(total)-preludeBytes))
	source := &watched{from: whole}
	m, err := r.decoder.Decode(source, r.payload[:0])
	switch {
	case source.err != nil:
		return source.err // the connection, and not the message
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return io.ErrUnexpectedEOF
	case err != nil:
		return &wire.FramingError{Err: err}
	}
	r.payload = m.Payload
	r.text, err = appendMessage(r.text[:0], m)
	r.rest = r.text
	return err
}

// watched remembers why reading failed: the decoder may hide it.
type watched struct {
	from io.Reader
	err  error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.from.Read(p)
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// appendMessage writes a message as a server-sent event: an object with one member, named as the type of the event or exception.
func appendMessage(to []byte, m eventstream.Message) ([]byte, error) {
	header := func(name string) string {
		if v := m.Headers.Get(name); v != nil {
			return v.String()
		}
		return ""
	}
	name, payload := header(":event-type"), m.Payload
	switch header(":message-type") {
	case "exception":
		name = header(":exception-type")
	case "error":
		message, err := jsontext.AppendQuote(nil, header(":error-message"))
		if err != nil {
			return nil, &wire.FramingError{Err: err}
		}
		name, payload = header(":error-code"), append(append([]byte(`{"message":`), message...), '}')
	}
	quoted, err := jsontext.AppendQuote(nil, name)
	if err != nil || name == "" {
		return nil, &wire.FramingError{Err: errors.New("a message does not name its type")}
	}
	data := append(append(append(append([]byte{'{'}, quoted...), ':'), payload...), '}')
	return sse.AppendEvent(to, sse.Event{Data: data}), nil
}
