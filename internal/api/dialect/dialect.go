// Package dialect is what the dialects of callers have in common: what Penstock has to know about the
// body of an inference, and how it is read without changing a byte. How each endpoint spells it is told
// by the packages below this one.
//
// It only reads bytes and holds no state; everything is safe for concurrent use.
package dialect

import (
	"encoding/json"
	"fmt"

	"penstock"
	"penstock/internal/body"
)

// Call is what Penstock has to know about a body. The rest is the upstream's business.
type Call struct {
	Object       body.Object // what is sent on
	Model        string
	Stream       bool
	IncludeUsage bool // the caller wants usage at the end of an OpenAI stream

	MaxOutputTokens int64 // of one answer, 0 when the caller set no bound
	Choices         int64 // answers asked for at once
	Silent          bool  // nothing is generated, as with embeddings
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

// Scan opens a body. Codes: invalid_request.
func Scan(text []byte) (*Fields, error) {
	o, err := body.Scan(text)
	if err != nil {
		return nil, penstock.InvalidParam("body", "The body %v.", err)
	}
	return &Fields{Object: o}, nil
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
