package file

import (
	"bytes"
	"maps"
	"slices"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/prompt/naming"
	"penstock/internal/store"
)

// promptNames are the different references to prompts in the lines of a file.
type promptNames map[string]struct{}

// promptMember is in every body that names a prompt. All others are not read for it.
var promptMember = []byte(`"prompt"`)

// note notes the prompt that a body names. A body whose prompt is null is noted as "": it names none, whatever the job does. Other values
// are no names: a completion has a text there.
func (p *promptNames) note(text []byte) *store.LineError {
	if !bytes.Contains(text, promptMember) {
		return nil
	}
	o, err := body.Scan(text)
	if err != nil {
		return nil // the body is read again by its endpoint
	}
	raw, written := o.Raw("prompt"), ""
	switch {
	case len(raw) == 0 || raw[0] != '{' && string(raw) != "null":
		return nil
	case raw[0] == '{':
		use, err := naming.ParseMember(raw)
		if err != nil {
			e := penstock.AsError(err)
			return wrong(CodeInvalidPrompt, "body."+e.Param, "%s", e.Message)
		}
		written = use.String()
	}
	if *p == nil {
		*p = promptNames{}
	}
	if _, known := (*p)[written]; !known && len(*p) > penstock.MaxJobPrompts {
		return wrong(CodeTooManyPrompts, "body.prompt", "The lines of this file name more than %d prompts; split it.", penstock.MaxJobPrompts)
	}
	(*p)[written] = struct{}{}
	return nil
}

// sorted are the references in order; nil for none.
func (p promptNames) sorted() []string { return slices.Sorted(maps.Keys(p)) }

// readVariables reads the variables of a line in the native shape.
func readVariables(line *Line, o body.Object) *store.LineError {
	raw := o.Raw("variables")
	if line.Endpoint != "" || len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if raw[0] != '{' {
		return wrong(CodeInvalidVariables, "variables", "variables must be a JSON object.")
	}
	line.Variables = raw
	return nil
}
