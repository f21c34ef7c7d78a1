// Package dialect is what the dialects of callers have in common: what Penstock has to know about the
// body of an inference, and how it is read without changing a byte. How each endpoint spells it is told
// by the packages below this one.
//
// It only reads bytes and holds no state; everything is safe for concurrent use.
package dialect

import (
	"encoding/json"
	"errors"
	"fmt"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/provider"
)

// Call is what Penstock has to know about a body. The rest is the upstream's business.
type Call struct {
	Object       body.Object // what is sent on
	Model        string
	Stream       bool
	IncludeUsage bool // the caller wants usage at the end of an OpenAI stream

	MaxOutputTokens int64            // of one answer, 0 when the caller set no bound
	Further         provider.Further // what it asks for by names that only some servers obey
	Choices         int64            // answers asked for at once
	Silent          bool             // nothing is generated, as with embeddings
}

// Bounds of what a body may ask for, so that what is reserved for it stays a number.
const (
	MaxChoices      = 128
	MaxPrompts      = 2048
	MaxOutputTokens = 1 << 24
)

// Fields reads members of a body and keeps the first complaint, so that the reader of an endpoint is
// a list of what it wants.
type Fields struct {
	body.Object
	err error
}

// Scan opens a body of a shape, which refuses members that some server takes for others. Codes: invalid_request.
func Scan(text []byte, s *body.Shape) (*Fields, error) {
	o, err := body.ScanAs(text, s)
	if err != nil {
		return nil, Refusal(err)
	}
	return &Fields{Object: o}, nil
}

// Refusal words why a body could not be scanned. Codes: invalid_request.
func Refusal(err error) error {
	if a, ok := errors.AsType[*body.Ambiguity](err); ok {
		return penstock.InvalidParam(a.Path, "%v.", a)
	}
	return penstock.InvalidParam("body", "The body %v.", err)
}

// String reads a member that must be a string, "" when it is missing or null.
func (f *Fields) String(name string) string { return keep(f, f.Object.String, name) }

// Bool reads a member that must be true or false, false when it is missing or null.
func (f *Fields) Bool(name string) bool { return keep(f, f.Object.Bool, name) }

// Count reads a member that must be a whole number of at least 0, and 0 when it is missing or null.
func (f *Fields) Count(name string) int64 { return keep(f, f.Object.Count, name) }

func keep[T any](f *Fields, read func(string) (T, error), name string) T {
	value, err := read(name)
	if err != nil && f.err == nil {
		f.err = penstock.InvalidParam(name, "%s.", err)
	}
	return value
}

// OutputTokens reads the bound of one answer; with several names the largest counts.
func (f *Fields) OutputTokens(names ...string) int64 {
	var most int64
	for _, name := range names {
		most = max(most, f.Count(name))
	}
	if most > MaxOutputTokens {
		f.Refuse(names[0], "%s must be at most %d.", names[0], MaxOutputTokens)
	}
	return most
}

// Choices reads how many answers are asked for at once.
func (f *Fields) Choices(name string) int64 {
	n := f.Count(name)
	if n > MaxChoices {
		f.Refuse(name, "%s must be at most %d.", name, MaxChoices)
	}
	return max(n, 1)
}

// Further reads what a body asks for by names that only some servers obey. Nearly no body has one of them.
func (f *Fields) Further() provider.Further {
	if f.CheckModel(); !f.Marked {
		return provider.Further{}
	}
	further, err := provider.FurtherOf(f.Object, provider.Further{
		Output: MaxOutputTokens, Added: MaxOutputTokens, Thinking: MaxOutputTokens, Answers: MaxChoices,
	})
	if wrong, ok := errors.AsType[*provider.WrongMember](err); ok {
		f.Refuse(wrong.Path, "%v.", wrong)
	}
	return further
}

// CheckModel refuses members by which some servers answer with another model than the one that was asked for.
func (f *Fields) CheckModel() {
	if !f.Marked {
		return
	}
	if wrong, ok := errors.AsType[*provider.WrongMember](provider.CheckModel(f.Object)); ok {
		f.Refuse(wrong.Path, "%v.", wrong)
	}
}

// Given reports whether a member is there and is not null.
func (f *Fields) Given(name string) bool {
	raw := f.Raw(name)
	return len(raw) > 0 && string(raw) != "null"
}

// Refuse complains about a member, unless something was wrong before.
func (f *Fields) Refuse(name, format string, args ...any) {
	if f.err == nil {
		f.err = penstock.InvalidParam(name, format, args...)
	}
}

// Err is the first complaint. Codes: invalid_request.
func (f *Fields) Err() error { return f.err }

// Question makes the body that asks one question, for whoever gives no more than that. In the template
// a %s stands where the question belongs.
func Question(template, question string) ([]byte, error) {
	text, err := json.Marshal(question)
	if err != nil {
		return nil, fmt.Errorf("quoting a question: %w", err)
	}
	return fmt.Appendf(nil, template, text), nil
}
