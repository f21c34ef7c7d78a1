// Package assemble makes plain answers of streamed ones: a job whose answers are shown while they arrive asks its
// upstream for a stream, and keeps what the same call would have answered in one piece.
//
// It owns how the streams of each dialect add up to an answer, and how a body asks for one. It does not read
// connections, and it does not judge an answer: adapters did both. Members that it does not know are kept, of several
// the last.
//
// An Answer belongs to one goroutine. It holds what it was given, so whoever gives has to bound it.
package assemble

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/sse"
)

// Answer puts the events of one streamed answer together.
type Answer interface {
	// Add takes the data of the next event.
	Add(data []byte) error
	// Whole is the plain answer, once the stream has ended.
	Whole() ([]byte, error)
	// Last reports whether an event is the one that ends the stream and repeats all of it.
	Last(data []byte) bool
}

// MaxEventBytes bounds one event: those with an image or sound inside have megabytes.
const MaxEventBytes = 32 << 20

// For returns an empty answer of an endpoint, and false where answers are never streamed.
func For(endpoint penstock.Endpoint) (Answer, bool) {
	switch endpoint {
	case penstock.EndpointChat, penstock.EndpointCompletions:
		return &completion{object: objects[endpoint]}, true
	case penstock.EndpointMessages:
		return &message{}, true
	case penstock.EndpointResponses:
		return &response{}, true
	}
	return nil, false
}

// objects are what plain answers call themselves.
var objects = map[penstock.Endpoint]string{
	penstock.EndpointChat: "chat.completion", penstock.EndpointCompletions: "text_completion",
}

// Ask makes a body ask for a stream that adds up to the plain answer: with its usage, where that is told on demand.
func Ask(endpoint penstock.Endpoint, text []byte) ([]byte, error) {
	o, err := body.Scan(text)
	if err != nil {
		return nil, fmt.Errorf("asking for a stream: %w", err)
	}
	edits := []body.Edit{o.Replace("stream", "true")}
	if endpoint == penstock.EndpointChat || endpoint == penstock.EndpointCompletions {
		edits = append(edits, o.Replace("stream_options", `{"include_usage":true}`))
	}
	if len(o.Members) == 0 && len(edits) > 1 {
		edits[0].Text += ","
	}
	return body.Apply(text, edits...), nil
}

// Events hands the data of the events in wire to add, one by one. Comments and other events without data are left out.
func Events(wire []byte, add func(data []byte) error) error {
	r := sse.NewReader(bytes.NewReader(wire), MaxEventBytes)
	for {
		ev, err := r.Next()
		if len(ev.Data) > 0 {
			if err := add(ev.Data); err != nil {
				return err
			}
		}
		if err != nil {
			return nil // the bytes ended; whether the stream did was the adapter's to say
		}
	}
}

// errEmpty says that a stream had nothing to put together.
var errEmpty = errors.New("the stream had no answer in it")

// lenient takes what upstreams send as it is.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// object is a JSON object whose members keep their order and their bytes.
type object struct {
	names  []string
	values map[string]jsontext.Value
}

func (o *object) set(name string, value jsontext.Value) {
	if o.values == nil {
		o.values = map[string]jsontext.Value{}
	}
	if _, known := o.values[name]; !known {
		o.names = append(o.names, name)
	}
	o.values[name] = value.Clone()
}

func (o *object) drop(name string) {
	if _, known := o.values[name]; !known {
		return
	}
	delete(o.values, name)
	for i, n := range o.names {
		if n == name {
			o.names = append(o.names[:i], o.names[i+1:]...)
			return
		}
	}
}

// read takes the members of a JSON object.
func (o *object) read(text jsontext.Value) error {
	scanned, err := body.Scan(text)
	if err != nil {
		return err
	}
	for _, m := range scanned.Members {
		o.set(m.Name, text[m.Value.Start:m.Value.End])
	}
	return nil
}

func (o *object) encode() (jsontext.Value, error) {
	var buf bytes.Buffer
	buf.WriteByte('{')
	for i, name := range o.names {
		if i > 0 {
			buf.WriteByte(',')
		}
		quoted, err := jsontext.AppendQuote(nil, name)
		if err != nil {
			return nil, fmt.Errorf("quoting a name: %w", err)
		}
		buf.Write(quoted)
		buf.WriteByte(':')
		buf.Write(o.values[name])
	}
	buf.WriteByte('}')
	return buf.Bytes(), nil
}

// isNull says that a member is not there, or null.
func isNull(v jsontext.Value) bool { return len(v) == 0 || string(v) == "null" }

// quote is a text as JSON.
func quote(text string) (jsontext.Value, error) { return json.Marshal(text, lenient) }

// unquote is the text of a JSON string.
func unquote(v jsontext.Value) (string, error) {
	var text string
	err := json.Unmarshal(v, &text, lenient)
	return text, err
}
