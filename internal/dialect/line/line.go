// Package line reads the inputs of jobs and batches and writes their results, one line each, in the formats of the three APIs that
// batches come through: OpenAI's, Anthropic's and Penstock's own. It reads and writes bytes and holds no state.
package line

import (
	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
	"penstock/internal/dialect/catalog"
)

// Form is what the bodies of one job have in common: the endpoint that they are written for, the model, and the members that they
// are completed with.
type Form struct {
	Endpoint catalog.Entry
	Model    string
	Defaults body.Object
}

// FormOf is the form of a job whose inputs are read later.
func FormOf(j penstock.Job, defaults []byte) (Form, error) {
	e, ok := catalog.Of(j.Endpoint)
	if !ok { // admission refuses it
		e, _ = catalog.Of(penstock.EndpointChat)
	}
	f := Form{Endpoint: e, Model: j.Model}
	if len(defaults) == 0 {
		return f, nil
	}
	var err error
	f.Defaults, err = body.Scan(defaults)
	return f, err
}

// Input is one input of a job.
type Input struct {
	CustomID  string
	Body      []byte
	Variables []byte // of the prompt that the body or the job names; nil for none
	Path      string // by which errors name it
}

// Line is a line of an input file.
type Line struct {
	CustomID string
	Endpoint penstock.Endpoint // "" where the line names none
	Body     []byte
	// Variables are those of the prompt that the body or the job names; nil for none.
	Variables []byte
}

// Line completes and reads a line of a file as the input of any other job. Codes: invalid_request, too_large.
func (f Form) Line(l Line, most int64) (dialect.Inference, error) {
	if l.Endpoint != "" && l.Endpoint != f.Endpoint.Name {
		return dialect.Inference{}, penstock.InvalidParam("url", "url is %s, but the job's endpoint is %s.", l.Endpoint, f.Endpoint.Name)
	}
	inf, err := f.Inference(Input{CustomID: l.CustomID, Body: l.Body, Variables: l.Variables, Path: "body"})
	if err == nil && int64(len(inf.Body())) > most {
		err = penstock.Errorf(penstock.CodeTooLarge, "With defaults filled in, body is larger than %d bytes, the most for one.", most)
	}
	return inf, err
}

// Inference completes and reads one body. Codes: invalid_request.
func (f Form) Inference(in Input) (dialect.Inference, error) {
	if len(in.Body) == 0 || string(in.Body) == "null" {
		if in.Variables == nil && !f.prompted() {
			return dialect.Inference{}, penstock.InvalidParam(in.Path, "%s is missing.", in.Path)
		}
		in.Body = []byte("{}")
	}
	object, err := body.Scan(in.Body)
	if err != nil {
		return dialect.Inference{}, penstock.InvalidParam(in.Path, "%s %v.", in.Path, err)
	}
	text, err := f.complete(object, in)
	if err != nil {
		return dialect.Inference{}, err
	}
	inf, err := f.Endpoint.Read(text)
	if err != nil {
		e := penstock.AsError(err)
		return dialect.Inference{}, penstock.InvalidParam(in.Path+"."+e.Param, "%s.%s", in.Path, e.Message)
	}
	if inf.Stream {
		return dialect.Inference{}, penstock.InvalidParam(in.Path+".stream", "%s.stream is true; a job's answer is kept whole.", in.Path)
	}
	if inf.Model != "" && inf.Model != f.Model {
		return dialect.Inference{}, penstock.InvalidParam(in.Path+".model", "%s.model is %q, but the job's model is %q: a job or batch is for one model. Leave it out of the body, or put it into another job.",
			in.Path, clip(inf.Model), clip(f.Model))
	}
	inf.CustomID = in.CustomID
	return inf, nil
}

// ReadDefaults reads the members that every line of a file gets, as a body of its own. Codes: invalid_request.
func ReadDefaults(e catalog.Entry, defaults []byte) (dialect.Inference, error) {
	if len(defaults) == 0 {
		defaults = []byte("{}")
	}
	if _, err := body.Scan(defaults); err != nil {
		return dialect.Inference{}, penstock.InvalidParam("defaults", "defaults %v.", err)
	}
	text, err := e.Complete(defaults)
	if err != nil {
		return dialect.Inference{}, err
	}
	read := e.Read
	if e.ReadDefaults != nil {
		read = e.ReadDefaults
	}
	inf, err := read(text)
	if err != nil {
		e := penstock.AsError(err)
		return inf, penstock.InvalidParam("defaults."+e.Param, "defaults.%s", e.Message)
	}
	if inf.Stream {
		return inf, penstock.InvalidParam("defaults.stream", "defaults.stream is true; a job's answer is kept whole.")
	}
	return inf, nil
}
