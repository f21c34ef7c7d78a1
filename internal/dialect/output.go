package dialect

import (
	"strconv"

	"penstock"
	"penstock/internal/body"
)

// This file and output_further.go are the one place that reads how much an inference may generate. A test at the root of the module holds that no other
// code names the members that say so.

// The members that bound an answer, each in the endpoints that outputBounds names.
const (
	maxTokens           = "max_tokens"
	maxCompletionTokens = "max_completion_tokens"
	maxOutputTokens     = "max_output_tokens"
)

// outputBounds are the members that bound the answers of an endpoint, the one to write first. Every server of the endpoint obeys them.
// An endpoint that is missing here has no such member.
var outputBounds = map[penstock.Endpoint][]string{
	penstock.EndpointChat:        {maxCompletionTokens, maxTokens},
	penstock.EndpointCompletions: {maxTokens},
	penstock.EndpointMessages:    {maxTokens},
	penstock.EndpointResponses:   {maxOutputTokens},
}

// OutputFields are the fields of a shape that bound the answers of an endpoint.
func OutputFields(e penstock.Endpoint) []body.Field { return body.Names(outputBounds[e]...) }

// OutputMembers are the names of the members that bound the answers of an endpoint, the one to write first.
func OutputMembers(e penstock.Endpoint) []string { return outputBounds[e] }

// DefaultOutput are the members that a job's messages get where they set no bound of their own: the format demands one.
const DefaultOutput = `{"` + maxTokens + `":4096}`

// OutputTokens reads the bound of one answer; where several members set one, the largest counts.
func (f *Fields) OutputTokens() int64 {
	var most int64
	for _, name := range outputBounds[f.format.Endpoint] {
		n, err := f.Object.Count(name)
		if err != nil {
			// Some servers accept 0, so that is for the upstream to refuse. To most of them 1 is the least.
			f.Refuse(name, "%s must be a whole number of at least 1.", name)
		}
		if n > MaxOutputTokens {
			f.Refuse(name, "%s must be at most %d.", name, MaxOutputTokens)
		}
		most = max(most, n)
	}
	return most
}

// OutputBound reads the bound of one answer of a body that was read before, 0 for none. Members of other formats bound nothing: the
// upstream does not know them.
func OutputBound(e penstock.Endpoint, o body.Object) (most int64) {
	for _, name := range outputBounds[e] {
		if n, err := o.Count(name); err == nil {
			most = max(most, n)
		}
	}
	return most
}

// OutputTokens is the most tokens of one answer that the body asks for, 0 when the caller set no bound.
func (inf *Inference) OutputTokens() int64 { return inf.Further.Most(inf.MaxOutputTokens) }

// FirstOutputBound reads the first member of a body that bounds its answer, and its value. ok is false when the body has none, and
// the value is then 0.
func FirstOutputBound(e penstock.Endpoint, o body.Object) (name string, value int64, ok bool) {
	for _, name := range outputBounds[e] {
		if raw := o.Raw(name); len(raw) > 0 && string(raw) != "null" {
			n, err := strconv.ParseInt(string(raw), 10, 64)
			if err != nil {
				n = 0 // a value that is no number is below every bound
			}
			return name, n, true
		}
	}
	return "", 0, false
}

// LimitOutput is a body whose answer has at most so many tokens, and the body itself when it says so already or its endpoint has no
// such member.
func LimitOutput(e penstock.Endpoint, text []byte, most int64) []byte {
	names := outputBounds[e]
	o, err := body.Scan(text)
	if err != nil || len(names) == 0 {
		return text
	}
	write := names[0]
	for _, name := range names {
		if n, err := o.Count(name); err == nil && n > 0 {
			if n <= most {
				return text
			}
			write = name // a body has one of them
		}
	}
	return body.Apply(text, o.Replace(write, strconv.FormatInt(most, 10)))
}

// Estimate reads the bounds of a body that need not be complete, nor say which endpoint it is for.
func Estimate(e penstock.Endpoint, o body.Object) Inference {
	inf := Inference{Object: o, Choices: 1, Silent: e == penstock.EndpointEmbeddings || e == penstock.EndpointRerank}
	for _, name := range []string{maxTokens, maxCompletionTokens, maxOutputTokens} {
		if n, err := o.Count(name); err == nil {
			inf.MaxOutputTokens = max(inf.MaxOutputTokens, n)
		}
	}
	for _, name := range []string{"n", "best_of"} {
		if n, err := o.Count(name); err == nil {
			inf.Choices = max(inf.Choices, n)
		}
	}
	if further, err := furtherOf(o); err == nil {
		inf.Further, inf.Choices = further, max(inf.Choices, further.Answers)
	}
	return inf
}

// Further reads the bounds that a body sets by names that only some servers obey. Nearly no body has one of them.
func (f *Fields) Further() Further {
	if f.CheckModel(); !f.Marked {
		return Further{}
	}
	further, err := furtherOf(f.Object)
	f.refuseWrong(err)
	return further
}
