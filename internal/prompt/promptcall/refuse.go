package promptcall

import (
	"fmt"
	"strings"

	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/prompt"
	"penstock/internal/prompt/naming"
)

// about gives an error of a rendering the path of the member and the name of the version.
func about(found *prompt.Found, err error) error {
	e := *penstock.AsError(err)
	if e.Code == penstock.CodeInternal || e.Code == penstock.CodeRateLimited || e.Code == penstock.CodeOverloaded {
		return err
	}
	if strings.HasPrefix(e.Param, "variables") {
		e.Param = dialect.PromptMember + "." + e.Param
	}
	e.Message = fmt.Sprintf("prompt %s@%d: %s", found.Name, found.Version, e.Message)
	return &e
}

// named gives an error about a reference the path of the member.
func named(r naming.Reference, err error) error {
	e := *penstock.AsError(err)
	if e.Code == penstock.CodeInternal {
		return err
	}
	if e.Param = dialect.PromptMember + ".name"; r.ID != "" {
		e.Param = dialect.PromptMember + ".id"
	}
	e.Message = "prompt: " + e.Message
	return &e
}

// notImported is the error for an id that names no prompt. Bodies with the ids of an upstream's prompts reached the upstream in earlier
// releases, so the error says how such a prompt moves here.
func notImported(err error) error {
	e := *penstock.AsError(err)
	if e.Code == penstock.CodeInternal {
		return err
	}
	e.Param, e.Message = dialect.PromptMember+".id", "prompt: "+e.Message
	if e.Code == penstock.CodeNotFound {
		e.Message += " Prompts that an upstream has stored are not used: import the prompt with POST /v1/prompts/import, and its id stays valid."
	}
	return &e
}

func join(list []penstock.Endpoint) string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	return strings.Join(words, ", ")
}
