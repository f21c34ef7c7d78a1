package line

import (
	"strings"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
)

// prompted says whether the defaults name a prompt.
func (f Form) prompted() bool { return named(f.Defaults) }

// named says whether a body names a prompt.
func named(o body.Object) bool {
	raw := o.Raw(dialect.PromptMember)
	return len(raw) > 0 && raw[0] == '{'
}

// complete adds the defaults to a body, and the variables of an input to the prompt. A body that names a prompt gets no other members: the
// config of the prompt may have them.
func (f Form) complete(object body.Object, in Input) ([]byte, error) {
	text := object.WithDefaults(f.Defaults)
	if in.Variables != nil {
		return withVariables(text, in)
	}
	if named(object) || f.prompted() {
		return text, nil
	}
	return f.Endpoint.Complete(text)
}

// withVariables adds the variables of an input to the prompt that its body names. Those of the input win over those of the job. Codes:
// invalid_request.
func withVariables(text []byte, in Input) ([]byte, error) {
	where := strings.TrimSuffix(in.Path, "body") + "variables"
	o, err := body.Scan(text)
	if err != nil {
		return nil, penstock.InvalidParam(in.Path, "%s %v.", in.Path, err)
	}
	if !named(o) {
		return nil, penstock.InvalidParam(where, `%s belong to a prompt, and neither the body nor the job names one; give the job "prompt": {"name": …}.`, where)
	}
	own, err := body.Scan(in.Variables)
	if err != nil {
		return nil, penstock.InvalidParam(where, "%s %v.", where, err)
	}
	member := o.Raw(dialect.PromptMember)
	prompt, err := body.Scan(member)
	if err != nil {
		return nil, penstock.InvalidParam(in.Path+"."+dialect.PromptMember, "%s.%s %v.", in.Path, dialect.PromptMember, err)
	}
	variables := in.Variables
	if shared, err := body.Scan(prompt.Raw("variables")); err == nil {
		variables = own.WithDefaults(shared)
	}
	member = body.Apply(member, prompt.Replace("variables", string(variables)))
	return body.Apply(text, o.Replace(dialect.PromptMember, string(member))), nil
}
