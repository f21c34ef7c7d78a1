package api

import (
	"net/http"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
	"penstock/internal/prompt/naming"
	"penstock/internal/prompt/promptcall"
	"penstock/internal/rest"
)

// The headers by which a call names a prompt, in canonical form. Answers name the version in the first.
const (
	headerPrompt          = "X-Penstock-Prompt"
	headerPromptVariables = "X-Penstock-Prompt-Variables"
)

var (
	promptHeaderParam = rest.Param{Name: "x-penstock-prompt", In: "header", About: "The prompt whose messages come before those of the body: NAME, NAME@LABEL or NAME@VERSION, with the name or the id of the prompt. " +
		"Without a label or a version, the label production counts. It means the same as the member prompt of a body, which must not be given as well."}
	promptVariablesParam = rest.Param{Name: "x-penstock-prompt-variables", In: "header", About: "With x-penstock-prompt: the variables, as a JSON object in ASCII, or one with percent-encoding."}
)

// promptUseView is the version of a prompt that was used.
type promptUseView struct {
	Name    string  `json:"name"`
	Version int64   `json:"version"`
	SHA256  string  `json:"sha256" about:"Of the version."`
	Label   *string `json:"label" about:"The label that named the version; null if its number did."`
}

// newPromptUseView returns nil for none.
func newPromptUseView(u *penstock.PromptUse) *promptUseView {
	if u == nil {
		return nil
	}
	return &promptUseView{Name: u.Name, Version: u.Version, SHA256: u.SHA256, Label: text(u.Label)}
}

// newPinViews are the prompts of a job; nil for none.
func newPinViews(pins []penstock.PromptPin) (views []promptUseView) {
	for i := range pins {
		views = append(views, *newPromptUseView(&pins[i].PromptUse))
	}
	return views
}

// setPromptHeader names the version of the prompt in an answer.
func setPromptHeader(h http.Header, u *penstock.PromptUse) {
	if u != nil {
		h.Set(headerPrompt, u.String())
	}
}

// namesPrompt says whether headers name a prompt.
func namesPrompt(h http.Header) bool {
	return len(h[headerPrompt]) > 0 || len(h[headerPromptVariables]) > 0
}

// withPrompt writes the prompt that the headers name into a body: from then on, both forms are one. Codes: invalid_request.
func withPrompt(h http.Header, endpoint penstock.Endpoint, sent []byte) ([]byte, error) {
	names, variables := h[headerPrompt], h[headerPromptVariables]
	if len(names) != 1 || len(variables) > 1 {
		return nil, penstock.InvalidParam(promptHeaderParam.Name, "%s must be given once, and %s at most once and not alone.", promptHeaderParam.Name, promptVariablesParam.Name)
	}
	if !promptcall.Serves(endpoint) {
		return nil, penstock.InvalidParam(promptHeaderParam.Name, "Calls of %s cannot name prompts; leave out %s.", endpoint, promptHeaderParam.Name)
	}
	use, err := naming.ParseHeader(names[0], append(variables, "")[0])
	if err != nil {
		e, param := *penstock.AsError(err), promptHeaderParam.Name
		if e.Param == "variables" {
			param = promptVariablesParam.Name
		}
		e.Param, e.Message = param, param+": "+e.Message
		return nil, &e
	}
	object, err := body.Scan(sent)
	if err != nil {
		return nil, dialect.Refusal(err)
	}
	if raw := object.Raw(dialect.PromptMember); len(raw) > 0 && string(raw) != "null" {
		return nil, penstock.InvalidParam(promptHeaderParam.Name, "Both the header %s and the member prompt of the body name a prompt; give one of them.", promptHeaderParam.Name)
	}
	member, err := use.Member()
	if err != nil {
		return nil, err
	}
	return body.Apply(sent, object.Replace(dialect.PromptMember, string(member))), nil
}
