package fan

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/provider"
	"penstock/internal/sse"
)

// maxEventBytes bounds one event of an answer.
const maxEventBytes = 16 << 20

// joiner writes the chunks of several answers as those of one. The id and all that is not about choices is that of the first chunk.
type joiner struct {
	plan   Plan
	first  *completion
	usages []jsontext.Value // by call, the latest
	wholes []*completion    // of plain answers, by call
	text   string           // of plain answers
}

// completion is a chat completion, a completion, or a chunk of one.
type completion struct {
	ID      jsontext.Value `json:"id,omitzero"`
	Choices []choice       `json:"choices"`
	Usage   jsontext.Value `json:"usage,omitzero"`
	Rest    jsontext.Value `json:",embed"`
}

type choice struct {
	Index int64          `json:"index"`
	Rest  jsontext.Value `json:",embed"`
}

var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

func newJoiner(plan Plan) joiner {
	return joiner{plan: plan, usages: make([]jsontext.Value, plan.Calls), wholes: make([]*completion, plan.Calls)}
}

// add takes up a chunk of a call. The chunk that it returns is empty if there is nothing to write yet.
func (j *joiner) add(call int, chunk provider.Chunk) (provider.Chunk, error) {
	if len(chunk.Wire) == 0 {
		return provider.Chunk{}, nil
	}
	if !j.plan.Stream {
		j.text += chunk.Text
		return provider.Chunk{}, j.whole(call, chunk.Wire)
	}
	out := provider.Chunk{Text: chunk.Text}
	events, found := sse.NewReader(bytes.NewReader(chunk.Wire), maxEventBytes), false
	defer events.Close()
	for {
		ev, err := events.Next()
		if data := bytes.TrimSpace(ev.Data); len(data) > 0 {
			found = true
			wire, err := j.event(call, data)
			if err != nil {
				return provider.Chunk{}, err
			}
			out.Wire = append(out.Wire, wire...)
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			if !found {
				out.Wire = sse.AppendComment(out.Wire, "ping") // it keeps the connection alive
			}
			return out, nil
		default:
			return provider.Chunk{}, malformed(err)
		}
	}
}

// event is an event of a stream, with the indexes of its choices; empty for one that the joined answer has once.
func (j *joiner) event(call int, data []byte) ([]byte, error) {
	if string(data) == "[DONE]" {
		return nil, nil
	}
	c, err := j.read(call, data)
	if err != nil || len(c.Choices) == 0 {
		return nil, err
	}
	if j.plan.IncludeUsage {
		c.Usage = jsontext.Value("null")
	}
	return sse.AppendEvent(nil, sse.Event{Data: encode(c)}), nil
}

// read reads a completion or a chunk, notes its usage, and numbers its choices.
func (j *joiner) read(call int, text []byte) (*completion, error) {
	c := new(completion)
	if err := json.Unmarshal(text, c, lenient); err != nil {
		return nil, malformed(err)
	}
	if len(c.Usage) > 0 && c.Usage.Kind() == '{' {
		j.usages[call] = c.Usage
	}
	c.Usage = nil
	if j.first == nil {
		j.first = &completion{ID: c.ID, Rest: c.Rest}
	}
	c.ID = j.first.ID
	c.Choices = slices.DeleteFunc(c.Choices, func(one choice) bool { return one.Index < 0 || one.Index >= int64(j.plan.Each) })
	for i := range c.Choices {
		c.Choices[i].Index += int64(call * j.plan.Each)
	}
	return c, nil
}

// whole takes up a plain answer.
func (j *joiner) whole(call int, text []byte) error {
	if j.plan.Memory != nil {
		if err := j.plan.Memory.Take(int64(len(text))); err != nil {
			return &provider.Error{Kind: provider.KindMemory, Message: "There was no memory for the answer: " + err.Error(), Err: err}
		}
	}
	c, err := j.read(call, text)
	j.wholes[call] = c
	return err
}

// end is the end of the joined answer: all of a plain one.
func (j *joiner) end() (provider.Chunk, error) {
	if j.first == nil {
		return provider.Chunk{}, malformed(errors.New("no call has an answer"))
	}
	last := &completion{ID: j.first.ID, Choices: []choice{}, Rest: j.first.Rest, Usage: sum(j.usages)}
	if j.plan.Stream {
		var wire []byte
		if j.plan.IncludeUsage {
			wire = sse.AppendEvent(wire, sse.Event{Data: encode(last)})
		}
		return provider.Chunk{Wire: sse.AppendEvent(wire, sse.Event{Data: []byte("[DONE]")}), Last: true}, nil
	}
	for _, c := range j.wholes {
		if c != nil {
			last.Choices = append(last.Choices, c.Choices...)
		}
	}
	return provider.Chunk{Wire: encode(last), Text: j.text, Last: true}, nil
}

func encode(c *completion) []byte {
	text, err := json.Marshal(c, lenient)
	if err != nil {
		panic("fan: encoding a completion that was decoded: " + err.Error())
	}
	return text
}

func malformed(err error) *provider.Error {
	return &provider.Error{Kind: provider.KindMalformed, Message: "one of the answers is not a completion", Err: err}
}

// sum adds up usage, with its counts at any depth; nil if no answer had usage.
func sum(usages []jsontext.Value) jsontext.Value {
	var all jsontext.Value
	for _, u := range usages {
		if len(u) > 0 {
			all = plus(all, u)
		}
	}
	return all
}

// plus adds two values: numbers by their sums, objects by their members. Of others the first is kept.
func plus(a, b jsontext.Value) jsontext.Value {
	switch {
	case len(a) == 0 || a.Kind() == 'n':
		return b
	case a.Kind() == '0' && b.Kind() == '0':
		return number(a, b)
	case a.Kind() != '{' || b.Kind() != '{':
		return a
	}
	var one, two map[string]jsontext.Value
	if json.Unmarshal(a, &one, lenient) != nil || json.Unmarshal(b, &two, lenient) != nil {
		return a
	}
	for name, value := range two {
		one[name] = plus(one[name], value)
	}
	text, err := json.Marshal(one, lenient, json.Deterministic(true))
	if err != nil {
		return a
	}
	return text
}

// number is the sum of two numbers, saturated.
func number(a, b jsontext.Value) jsontext.Value {
	one, errOne := strconv.ParseInt(string(a), 10, 64)
	two, errTwo := strconv.ParseInt(string(b), 10, 64)
	if errOne == nil && errTwo == nil {
		if added := one + two; (added > one) == (two > 0) {
			return jsontext.Value(strconv.FormatInt(added, 10))
		}
		return jsontext.Value(strconv.FormatInt(math.MaxInt64, 10))
	}
	x, errX := strconv.ParseFloat(string(a), 64)
	y, errY := strconv.ParseFloat(string(b), 64)
	if errX != nil || errY != nil || math.IsInf(x+y, 0) {
		return a
	}
	return jsontext.Value(strconv.FormatFloat(x+y, 'g', -1, 64))
}
