package api

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/prompt/content"
	"penstock/internal/prompt/naming"
)

// requestPromptView is the prompt of a synchronous call.
type requestPromptView struct {
	promptUseView
	Object    string                    `json:"object"`
	RequestID string                    `json:"request_id"`
	Variables jsontext.Value            `json:"variables" about:"As the caller sent them."`
	Messages  []promptMessage           `json:"messages" about:"The rendered messages."`
	Config    map[string]jsontext.Value `json:"config" about:"The config of the version. Members of the caller's body won over it."`
}

// readRequestPrompt renders the prompt of a call again: the same version with the stored variables.
func (c inferences) readRequestPrompt() error {
	id, err := c.PathID(penstock.ViewRequest)
	if err != nil {
		return err
	}
	ctx, tenant := c.R.Context(), c.Principal.Tenant.ID
	use, variables, err := c.Requests.PromptOf(ctx, tenant, id)
	if err != nil {
		return err
	}
	values, err := naming.Use{Reference: naming.Reference{Reference: content.Reference{Name: use.Name}}, Variables: variables}.Values()
	if err != nil {
		return penstock.Internal(err)
	}
	done, err := c.Prompts.Render(ctx, tenant, prompt.Side{Reference: content.Reference{Name: use.Name, Version: use.Version}}, values)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, requestPromptView{
		promptUseView: *newPromptUseView(&use), Object: "request.prompt", RequestID: penstock.ViewRequest.Format(id), Variables: jsontext.Value(variables),
		Messages: newPromptMessages(done.Rendered.Messages), Config: newPromptConfig(done.Rendered.Config),
	})
}

// queryPrompt reads a prompt to filter by. Codes: invalid_request.
func queryPrompt(written string) (u penstock.PromptUse, err error) {
	if written == "" {
		return u, nil
	}
	r, err := content.ParseReference(written)
	if err != nil || r.Label != "" {
		return u, penstock.InvalidParam("prompt", "prompt must be the name of a prompt, or NAME@VERSION.")
	}
	return penstock.PromptUse{Name: r.Name, Version: r.Version}, nil
}
