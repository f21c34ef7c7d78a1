package dialect

import (
	"errors"

	"penstock"
	"penstock/internal/body"
)

// Fields reads members of a body and keeps the first error, so that the reader of an endpoint is a list of the members that it wants.
type Fields struct {
	body.Object
	format *Format
	err    error
}

// Scan opens a body of a format. It refuses members that some server takes for others. Codes: invalid_request.
func Scan(text []byte, format *Format) (*Fields, error) {
	o, err := body.ScanAs(text, format.Shape)
	if err != nil {
		return nil, Refusal(err)
	}
	return &Fields{Object: o, format: format}, nil
}

// Refusal words why a body could not be scanned. Codes: invalid_request.
func Refusal(err error) error {
	if a, ok := errors.AsType[*body.Ambiguity](err); ok {
		return penstock.InvalidParam(a.Path, "%v.", a)
	}
	return penstock.InvalidParam("body", "The body %v.", err)
}

// Inference reads the members that bodies of all endpoints have in common.
func (f *Fields) Inference() Inference {
	return Inference{Format: f.format, Object: f.Object, Model: f.String("model")}
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

// PromptMember is the member of a body that names a prompt of the registry.
const PromptMember = "prompt"

// Prompt reads the member that names a prompt of the registry, nil if there is none.
func (f *Fields) Prompt() []byte {
	if !f.Given(PromptMember) {
		return nil
	}
	raw := f.Raw(PromptMember)
	if raw[0] != '{' {
		f.Refuse(PromptMember, `prompt must be an object that names a prompt, such as {"name": "support/answer", "variables": {}}. A plain text goes into the messages or the input.`)
	}
	return raw
}

// Choices reads how many answers are asked for at once, from the least number that the member may have.
func (f *Fields) Choices(name string, least int64) int64 {
	n, err := f.Object.Count(name)
	if err != nil || n > MaxChoices || (f.Given(name) && n < least) {
		f.Refuse(name, "%s must be a whole number from %d to %d.", name, least, MaxChoices)
	}
	return max(n, 1)
}

// CheckModel refuses members that make some servers answer with another model than the caller asked for.
func (f *Fields) CheckModel() {
	if f.Marked {
		f.refuseWrong(checkModel(f.Object))
	}
}

// refuseWrong keeps the error of a member that cannot be passed on.
func (f *Fields) refuseWrong(err error) {
	if wrong, ok := errors.AsType[*WrongMember](err); ok {
		f.Refuse(wrong.Path, "%v.", wrong)
	}
}

// Given reports whether a member is there and is not null.
func (f *Fields) Given(name string) bool {
	raw := f.Raw(name)
	return len(raw) > 0 && string(raw) != "null"
}

// Refuse keeps an error about a member, unless there was one before.
func (f *Fields) Refuse(name, format string, args ...any) {
	if f.err == nil {
		f.err = penstock.InvalidParam(name, format, args...)
	}
}

// Err is the first error. Codes: invalid_request.
func (f *Fields) Err() error { return f.err }
