package api

import (
	"fmt"
	"strings"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/api/dialect"
	"penstock/internal/body"
	"penstock/internal/file"
	"penstock/internal/rest"
	"penstock/internal/store"
)

// Form is what the bodies of one job have in common: how they are read, and what they are completed with.
type Form struct {
	inferenceEndpoint inferenceEndpoint
	model             string
	defaults          body.Object
}

// FormOf is the form of a job whose inputs are read later.
func FormOf(j penstock.Job, defaults []byte) (Form, error) {
	f := Form{inferenceEndpoint: inferenceEndpointOf(j.Endpoint), model: j.Model}
	if len(defaults) == 0 {
		return f, nil
	}
	var err error
	f.defaults, err = body.Scan(defaults)
	return f, err
}

// Line completes and reads a line of a file as the input of any other job. Codes: invalid_request (it cannot be
// run), too_large.
func (f Form) Line(l file.Line, most int64) (admit.Inference, error) {
	if l.Endpoint != "" && l.Endpoint != f.inferenceEndpoint.endpoint {
		return admit.Inference{}, penstock.InvalidParam("url", "url is %s, but the job's endpoint is %s.", l.Endpoint, f.inferenceEndpoint.endpoint)
	}
	inf, err := f.inference(namedInput{jobInput{CustomID: l.CustomID, Body: l.Body}, "body"})
	if err == nil && int64(len(inf.Body)) > most {
		err = penstock.Errorf(penstock.CodeTooLarge, "With defaults filled in, body is larger than %d bytes, the most for one.", most)
	}
	return inf, err
}

// inference completes one body and reads what has to be known of it.
func (f Form) inference(input namedInput) (admit.Inference, error) {
	if !given(input.Body) {
		return admit.Inference{}, penstock.InvalidParam(input.path, "%s is missing.", input.path)
	}
	object, err := body.Scan(input.Body)
	if err != nil {
		return admit.Inference{}, penstock.InvalidParam(input.path, "%s %v.", input.path, err)
	}
	text, err := f.inferenceEndpoint.complete(object.WithDefaults(f.defaults))
	if err != nil {
		return admit.Inference{}, err
	}
	asked, err := f.inferenceEndpoint.read(text)
	if err != nil {
		e := penstock.AsError(err)
		return admit.Inference{}, penstock.InvalidParam(input.path+"."+e.Param, "%s.%s", input.path, e.Message)
	}
	if asked.Stream {
		return admit.Inference{}, penstock.InvalidParam(input.path+".stream", "%s.stream is true; a job's answer is kept whole.", input.path)
	}
	if asked.Model != "" && asked.Model != f.model {
		return admit.Inference{}, penstock.InvalidParam(input.path+".model", "%s.model is %q, but the job's model is %q: a job or batch is for one model. Leave it out of the body, or put it into another job.",
			input.path, rest.Clip(asked.Model), rest.Clip(f.model))
	}
	inf := inferenceOf(asked)
	inf.CustomID = input.CustomID
	return inf, nil
}

// fileOrder makes an order one over the lines of a file.
func (c jobs) fileOrder(in *jobCreate, o *admit.JobOrder) error {
	if given(in.Input) || in.Inputs != nil {
		return penstock.InvalidParam("input_file", "input_file is given beside input or inputs; exactly one is wanted.")
	}
	f, err := c.batchFile(*in.InputFile, "input_file")
	if err != nil {
		return err
	}
	if f.ErrorCount > 0 {
		return badLines(f)
	}
	batch := store.Batch{Kind: store.BatchNative}
	if given(in.Defaults) {
		batch.Defaults = in.Defaults
	}
	return c.overLines(o, admit.Lines{File: f, Batch: batch})
}

// batchFile finds a file that requests are in. Codes: not_found, invalid_request.
func (c jobs) batchFile(name, param string) (store.File, error) {
	id, err := penstock.ViewFile.Parse(name)
	if err != nil {
		return store.File{}, penstock.InvalidParam(param, "%s: %v.", param, err)
	}
	f, err := c.Files.File(c.R.Context(), c.Principal.Tenant.ID, id)
	if err == nil && f.Purpose != store.PurposeBatch {
		err = penstock.InvalidParam(param, "%s has the purpose %s; only files with the purpose batch can be run.", name, f.Purpose)
	}
	return f, err
}

// badLines refuses a file and says which lines are no good, as far as one message goes.
func badLines(f store.File) error {
	const shown = 5
	var b strings.Builder
	fmt.Fprintf(&b, "%s has %d lines that are no good; upload it again without them.", penstock.ViewFile.Format(f.ID), f.ErrorCount)
	for _, e := range f.Errors[:min(len(f.Errors), shown)] {
		fmt.Fprintf(&b, " Line %d: %s", e.Line, e.Message)
	}
	if f.ErrorCount > shown {
		fmt.Fprintf(&b, " GET /v1/files/%s tells more.", penstock.ViewFile.Format(f.ID))
	}
	return penstock.InvalidParam("input_file", "%s", b.String())
}

// overLines completes an order over lines with what the lines themselves say.
func (c jobs) overLines(o *admit.JobOrder, l admit.Lines) error {
	switch {
	case l.File.Endpoint == "":
	case o.Endpoint == "":
		o.Endpoint = l.File.Endpoint
	case o.Endpoint != l.File.Endpoint:
		return penstock.InvalidParam("endpoint", "endpoint is %s, but the lines of the file name %s.", o.Endpoint, l.File.Endpoint)
	}
	if len(l.Batch.Defaults) > store.MaxDefaultsBytes {
		return penstock.InvalidParam("defaults", "defaults has more than %d bytes, the most beside a file.", store.MaxDefaultsBytes)
	}
	each, err := defaultsOf(inferenceEndpointOf(o.Endpoint), l.Batch.Defaults)
	if err != nil {
		return err
	}
	l.Each = inferenceOf(each)
	if o.Model == "" {
		o.Model = each.Model
	}
	if o.Model == "" {
		if o.Model, err = c.firstModel(l.File); err != nil {
			return err
		}
	}
	o.Lines = &l
	return nil
}

// defaultsOf reads what defaults say about every line.
func defaultsOf(d inferenceEndpoint, defaults []byte) (asked dialect.Call, err error) {
	if len(defaults) == 0 {
		defaults = []byte("{}")
	}
	if _, err := body.Scan(defaults); err != nil {
		return asked, penstock.InvalidParam("defaults", "defaults %v.", err)
	}
	text, err := d.complete(defaults)
	if err != nil {
		return asked, err
	}
	asked, err = d.read(text)
	if err != nil {
		e := penstock.AsError(err)
		return asked, penstock.InvalidParam("defaults."+e.Param, "defaults.%s", e.Message)
	}
	if asked.Stream {
		return asked, penstock.InvalidParam("defaults.stream", "defaults.stream is true; a job's answer is kept whole.")
	}
	return asked, nil
}

// firstModel is the model that the first line of a file names.
func (c jobs) firstModel(f store.File) (string, error) {
	r, err := c.Files.Open(c.R.Context(), f.Tenant, f.ID)
	if err != nil {
		return "", err
	}
	for line, err := range r.Lines(c.R.Context(), 0) {
		if err != nil {
			return "", err
		}
		o, err := body.Scan(line.Body)
		if err != nil {
			break
		}
		model, err := o.String("model")
		if err != nil {
			break
		}
		return model, nil
	}
	return "", nil // which admission refuses
}
