package api

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/dialect/catalog"
	"penstock/internal/dialect/line"
	"penstock/internal/prompt/naming"
	"penstock/internal/rest"
)

// anInput is one of several inputs: a prompt as a string, or an object.
type anInput struct{ jobInput }

// jobInput is an input as an object.
type jobInput struct {
	CustomID string         `json:"custom_id,omitzero" about:"The caller's own ID of the input, unique in the job."`
	Body     jsontext.Value `json:"body,omitzero" about:"A prompt as a string, or a body. Optional if the job names a prompt."`
	// Variables are those of the prompt that the body or the job names.
	Variables jsontext.Value `json:"variables,omitzero" about:"The variables of the prompt that the body or the job names. They replace variables of the job's prompt with the same name."`
}

// Forms implements rest.Forms.
func (anInput) Forms() []any { return []any{"", jobInput{}} }

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (in *anInput) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch kind := dec.PeekKind(); kind {
	case '"':
		prompt, err := dec.ReadValue()
		in.Body = prompt.Clone()
		return err
	case '{', 0: // 0 is broken JSON
		return json.UnmarshalDecode(dec, &in.jobInput)
	default:
		return &json.SemanticError{GoType: reflect.TypeFor[anInput](), JSONKind: kind}
	}
}

// Hints implements rest.Hinter.
func (jobInput) Hints(name string) string {
	switch {
	case name == "id":
		return `did you mean "custom_id"?`
	case slices.Contains([]string{"input", "prompt", "text", "content", "params"}, name):
		return `did you mean "body"? An input may also be a string.`
	}
	return inBody(name, `{"body": {…}}`)
}

// jobHints are fields of other APIs, with what they are here.
var jobHints = map[string]string{
	"text": "input", "content": "input", "query": "input", "body": "input", "request": "input",
	"prompts": "inputs", "requests": "inputs", "items": "inputs",
	"input_file_id": "input_file", "file": "input_file", "file_id": "input_file",
	"metadata": "tags", "labels": "tags", "priority": "lane", "queue": "lane", "service_tier": "lane", "url": "endpoint", "path": "endpoint",
	"timeout": "item_timeout", "retries": "max_attempts", "max_retries": "max_attempts", "attempts": "max_attempts",
	"completion_window": "deadline", "expires_at": "deadline", "expires_after": "deadline",
	"callback": "webhook", "callback_url": "webhook", "webhook_url": "webhook", "engine": "model",
}

// Hints implements rest.Hinter.
func (jobCreate) Hints(name string) string {
	switch {
	case name == "idempotency_key":
		return "send it as the header Idempotency-Key."
	case name == "user":
		return `did you mean "tags"? To send it to the model, put it into defaults.`
	case jobHints[name] == "webhook":
		return `did you mean "webhook": {"url": "https://…"}?`
	case jobHints[name] != "":
		return fmt.Sprintf("did you mean %q?", jobHints[name])
	}
	return inBody(name, `"defaults": {…}`)
}

// inBody is the hint for a member of a body that stands beside it.
func inBody(name, place string) string {
	for _, endpoint := range penstock.Endpoints {
		if e, ok := catalog.Of(endpoint); ok && e.Format.Shape.Has(name) {
			return fmt.Sprintf("%s is a member of a body; put it into %s.", rest.Clip(name), place)
		}
	}
	return ""
}

// inputs are the inferences of the envelope.
func (in *jobCreate) inputs(d catalog.Entry) ([]line.Input, error) {
	var names []string
	for name, is := range map[string]bool{"input": given(in.Input), "messages": given(in.Messages), "inputs": in.Inputs != nil} {
		if is {
			names = append(names, name)
		}
	}
	if slices.Sort(names); len(names) > 1 {
		return nil, penstock.InvalidParam(names[1], "Both %s and %s are given; give exactly one.", names[0], names[1])
	}
	switch {
	case given(in.Input):
		text, err := inputBody(in.Input, "input", d)
		return []line.Input{{Body: text, Path: "input"}}, err
	case given(in.Messages):
		text, err := conversationBody(in.Messages, d)
		return []line.Input{{Body: text, Path: "input"}}, err
	case in.Inputs == nil && given(in.Prompt):
		return []line.Input{{Body: []byte("{}"), Path: "input"}}, nil
	case len(in.Inputs) == 0:
		return nil, penstock.InvalidParam("input", "Nothing to run: give input or messages (one inference), inputs (several) or input_file (many).")
	case len(in.Inputs) > config.MaxInputs:
		return nil, penstock.InvalidParam("inputs", "inputs holds %d entries; at most %d are allowed. Upload more inputs as a file.", len(in.Inputs), config.MaxInputs)
	}
	named := make([]line.Input, len(in.Inputs))
	for i, input := range in.Inputs {
		path := fmt.Sprintf("inputs[%d].body", i)
		text, err := inputBody(input.Body, path, d)
		if err != nil {
			return nil, err
		}
		named[i] = line.Input{CustomID: input.CustomID, Body: text, Path: path}
		if given(input.Variables) {
			named[i].Variables = input.Variables
		}
	}
	return named, nil
}

// addPrompt makes the prompt of the job a default of its bodies. Codes: invalid_request.
func (in *jobCreate) addPrompt() error {
	if !given(in.Prompt) {
		return nil
	}
	if in.Prompt.Kind() != '{' {
		return penstock.InvalidParam("prompt", `prompt must name a prompt, such as {"name": "support/answer"}; a plain prompt goes into input.`)
	}
	if _, err := naming.ParseMember(in.Prompt); err != nil {
		return err
	}
	defaults, err := in.defaults()
	if err != nil {
		return err
	}
	if defaults.Text == nil {
		in.Defaults = fmt.Appendf(nil, `{"prompt":%s}`, in.Prompt)
		return nil
	}
	if defaults.Value(dialect.PromptMember).Found() {
		return penstock.InvalidParam("defaults.prompt", "Both prompt and defaults.prompt are given; give one of them.")
	}
	in.Defaults = body.Apply(defaults.Text, defaults.Replace(dialect.PromptMember, string(in.Prompt)))
	return nil
}

// inputBody turns a plain prompt into a body. An array of messages is not a body, but easily taken for one.
func inputBody(v jsontext.Value, path string, d catalog.Entry) ([]byte, error) {
	switch v.Kind() {
	case '[':
		return nil, penstock.InvalidParam(path, `%s must be a string or a body, not an array. Send messages as "messages", and several inputs as "inputs".`, path)
	case '"':
	default:
		return v, nil
	}
	question, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return nil, penstock.InvalidParam(path, "%s is not a valid string: %v.", path, err)
	}
	text, err := d.Question(string(question))
	if refused, ok := errors.AsType[*penstock.Error](err); ok {
		refused.Param = path // the endpoint takes no prompt
	}
	return text, err
}

// conversationBody makes the body of messages.
func conversationBody(v jsontext.Value, d catalog.Entry) ([]byte, error) {
	if d.Conversation == "" {
		return nil, penstock.InvalidParam("messages", "messages is given, but %s takes a prompt; give it as input.", d.Name)
	}
	if v.Kind() != '[' {
		return nil, penstock.InvalidParam("messages", `messages must be an array such as [{"role": "user", "content": "Hello"}]; a plain prompt goes into input.`)
	}
	return fmt.Appendf(nil, `{%q:%s}`, d.Conversation, v), nil
}
