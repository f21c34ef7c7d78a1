package api

import (
	"fmt"
	"strings"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/dialect/line"
	"penstock/internal/store"
)

// fileOrder completes an order over the lines of a file.
func (c jobs) fileOrder(in *jobCreate, o *admit.JobOrder) error {
	if given(in.Input) || given(in.Messages) || in.Inputs != nil {
		return penstock.InvalidParam("input_file", "input_file is given together with input, messages or inputs; give exactly one.")
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

// batchFile finds a file of requests. Codes: not_found, invalid_request.
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

// badLines refuses a file and lists its invalid lines, as many as fit into one message.
func badLines(f store.File) error {
	const shown = 5
	var b strings.Builder
	fmt.Fprintf(&b, "%s has %d invalid lines; upload it again without them.", penstock.ViewFile.Format(f.ID), f.ErrorCount)
	for _, e := range f.Errors[:min(len(f.Errors), shown)] {
		fmt.Fprintf(&b, " Line %d: %s", e.Line, e.Message)
	}
	if f.ErrorCount > shown {
		fmt.Fprintf(&b, " GET /v1/files/%s lists more.", penstock.ViewFile.Format(f.ID))
	}
	return penstock.InvalidParam("input_file", "%s", b.String())
}

// overLines completes an order with the endpoint and model of its lines.
func (c jobs) overLines(o *admit.JobOrder, l admit.Lines) error {
	switch {
	case l.File.Endpoint == "":
	case o.Endpoint == "":
		o.Endpoint = l.File.Endpoint
	case o.Endpoint != l.File.Endpoint:
		return penstock.InvalidParam("endpoint", "endpoint is %s, but the lines of the file name %s.", o.Endpoint, l.File.Endpoint)
	}
	if len(l.Batch.Defaults) > store.MaxDefaultsBytes {
		return penstock.InvalidParam("defaults", "defaults has more than %d bytes, the maximum for a job over a file.", store.MaxDefaultsBytes)
	}
	each, err := line.ReadDefaults(jobEndpoint(o.Endpoint), l.Batch.Defaults)
	if err != nil {
		return err
	}
	l.Each = each
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

// firstModel is the model that the first line of a file names.
func (c jobs) firstModel(f store.File) (string, error) {
	r, err := c.Files.Open(c.R.Context(), f.Tenant, f.ID)
	if err != nil {
		return "", err
	}
	for l, err := range r.Lines(c.R.Context(), 0) {
		return line.ModelOf(l.Body), err
	}
	return "", nil // admission refuses it
}
