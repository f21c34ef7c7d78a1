package api

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/admit"
	"penstock/internal/dialect/catalog"
	"penstock/internal/prompt"
	"penstock/internal/prompt/content"
	"penstock/internal/prompt/promptbody"
)

// promptRenderOrder asks for a rendering.
type promptRenderOrder struct {
	Label     string            `json:"label,omitzero" about:"The label of the version; production when neither label, version nor draft is given."`
	Version   int64             `json:"version,omitzero"`
	Draft     bool              `json:"draft,omitzero" about:"Render the draft instead of a version."`
	Variables jsontext.Value    `json:"variables,omitzero" about:"An object. Values are data: templates inside them are not read."`
	Model     string            `json:"model,omitzero" about:"For the worst-case cost; the model of the config when not given."`
	Endpoint  penstock.Endpoint `json:"endpoint,omitzero" about:"The dialect of body: /v1/chat/completions (default), /v1/messages or /v1/responses."`
}

// promptRenderView is a rendered prompt.
type promptRenderView struct {
	Object      string                    `json:"object"`
	Name        string                    `json:"name"`
	Version     *int64                    `json:"version" about:"null for the draft."`
	SHA256      *string                   `json:"sha256" about:"null for the draft."`
	Messages    []promptMessage           `json:"messages"`
	Config      map[string]jsontext.Value `json:"config"`
	Endpoint    penstock.Endpoint         `json:"endpoint"`
	Body        jsontext.Value            `json:"body" about:"The body of a call to the endpoint."`
	Dropped     []string                  `json:"dropped" about:"Members that the dialect of the endpoint lacks."`
	InputSchema jsontext.Value            `json:"input_schema" about:"The schema of the variables: the version's own, or the derived one."`
	InputTokens int64                     `json:"input_tokens" about:"Counted by the embedded tokenizer."`
	Model       *string                   `json:"model" about:"null if neither the call nor the config names one."`
	AtMost      *trialBoundView           `json:"at_most" about:"The most that one attempt can use on any target of the model; null without a model."`
}

// renderTokens bounds the answer of a message where the config sets no bound, because the dialect requires one.
const renderTokens = 4096

func (in promptRenderOrder) side(name string) (prompt.Side, error) {
	side := prompt.Side{Reference: content.Reference{Name: name, Label: in.Label, Version: in.Version}, Draft: in.Draft}
	given := 0
	for _, one := range []bool{in.Label != "", in.Version != 0, in.Draft} {
		if one {
			given++
		}
	}
	if given > 1 || in.Version < 0 {
		return side, penstock.InvalidParam("version", "Give one of label, version and draft.")
	}
	return side, nil
}

func (c prompts) render() error {
	var in promptRenderOrder
	if err := c.exists(); err != nil {
		return err
	}
	if c.R.ContentLength != 0 {
		if err := c.decode(&in); err != nil {
			return err
		}
	}
	side, err := in.side(c.promptName())
	if err != nil {
		return err
	}
	variables, err := content.ParseVariables([]byte(in.Variables))
	if err != nil {
		return err
	}
	done, err := c.Prompts.Render(c.R.Context(), c.Principal.Tenant.ID, side, variables)
	if err != nil {
		return err
	}
	if in.Model != "" {
		done.Rendered.Config = done.Rendered.Config.WithModel(in.Model)
	}
	view := promptRenderView{
		Object: "prompt.render", Name: side.Name, Version: number(done.Version), SHA256: text(done.SHA256), Messages: newPromptMessages(done.Rendered.Messages),
		Config: newPromptConfig(done.Rendered.Config), InputSchema: jsontext.Value(done.Schema), Dropped: []string{}, Model: text(done.Rendered.Config.Model()),
	}
	if err := writeRendered(&view, done.Rendered, in.Endpoint); err != nil {
		return err
	}
	if err := c.weighRendered(&view, done.Rendered); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, view)
}

// writeRendered adds the body in the dialect of an endpoint. Codes: invalid_request.
func writeRendered(view *promptRenderView, r content.Rendered, endpoint penstock.Endpoint) error {
	view.Endpoint = endpoint
	var body []byte
	var err error
	switch endpoint {
	case penstock.EndpointChat, "":
		view.Endpoint = penstock.EndpointChat
		body, err = promptbody.Chat(r)
	case penstock.EndpointMessages:
		var dropped []string
		body, dropped, err = promptbody.Messages(r, renderTokens)
		view.Dropped = append(view.Dropped, dropped...)
	case penstock.EndpointResponses:
		body, err = promptbody.Responses(r)
	default:
		return penstock.InvalidParam("endpoint", "endpoint must be one of %s, %s, %s.", penstock.EndpointChat, penstock.EndpointMessages, penstock.EndpointResponses)
	}
	view.Body = jsontext.Value(body)
	return err
}

// weighRendered adds the tokens, and the most that a call can cost. A config that the endpoint would refuse is an error, and so is
// a model that does not exist. Codes: invalid_request, model_not_found.
func (c prompts) weighRendered(view *promptRenderView, r content.Rendered) error {
	body, err := promptbody.Chat(r)
	if err != nil {
		return err
	}
	view.InputTokens = c.tokens.Body(body)
	if view.Model == nil {
		return nil
	}
	entry, _ := catalog.Of(penstock.EndpointChat)
	inf, err := entry.Read(body)
	if err != nil {
		return err
	}
	most, err := admit.Quote(c.Config.Current(), c.Principal.Tenant, inf, c.Clock())
	if err != nil {
		return err
	}
	view.AtMost = &trialBoundView{most.Tokens, most.Cost.String()}
	return nil
}

// promptDiffView is the difference between two versions.
type promptDiffView struct {
	Object      string                    `json:"object"`
	Name        string                    `json:"name"`
	From        *int64                    `json:"from" about:"null for the draft."`
	To          *int64                    `json:"to" about:"null for the draft."`
	Identical   bool                      `json:"identical"`
	Messages    []promptMessageDiffView   `json:"messages"`
	Config      []promptMemberDiffView    `json:"config" about:"Members that differ."`
	InputSchema []promptMemberDiffView    `json:"input_schema" about:"Properties and members of the schema that differ."`
	References  []promptReferenceDiffView `json:"references" about:"Included prompts whose version differs."`
}

type promptMessageDiffView struct {
	Change content.Change       `json:"change"`
	From   *int                 `json:"from" about:"The place of the message, from 0."`
	To     *int                 `json:"to"`
	Role   string               `json:"role" about:"Empty for kind text; placeholder for a placeholder."`
	Lines  []promptLineDiffView `json:"lines"`
}

type promptLineDiffView struct {
	Change content.Change `json:"change"`
	Text   string         `json:"text"`
}

type promptMemberDiffView struct {
	Name string         `json:"name"`
	From jsontext.Value `json:"from" about:"null where the member is absent."`
	To   jsontext.Value `json:"to"`
}

type promptReferenceDiffView struct {
	Written string `json:"written"`
	From    *int64 `json:"from"`
	To      *int64 `json:"to"`
}

func newMemberDiffs(all []content.MemberDiff) []promptMemberDiffView {
	out := []promptMemberDiffView{}
	for _, m := range all {
		v := promptMemberDiffView{Name: m.Name, From: null, To: null}
		if m.From != nil {
			v.From = jsontext.Value(m.From)
		}
		if m.To != nil {
			v.To = jsontext.Value(m.To)
		}
		out = append(out, v)
	}
	return out
}

// diffSide reads a side of a comparison from the query: a version, a label or draft.
func (c prompts) diffSide(name, otherwise string) (side prompt.Side, err error) {
	side.Name = c.promptName()
	word := c.R.URL.Query().Get(name)
	if word == "" {
		word = otherwise
	}
	if word == "" {
		return side, penstock.InvalidParam(name, "%s must be a version, a label or draft.", name)
	}
	if word == "draft" {
		side.Draft = true
		return side, nil
	}
	if err := side.Select(word); err != nil {
		return side, penstock.InvalidParam(name, "%s: %s", name, penstock.AsError(err).Message)
	}
	return side, nil
}

func (c prompts) diff() error {
	if err := c.exists(); err != nil {
		return err
	}
	from, err := c.diffSide("from", "")
	if err != nil {
		return err
	}
	to, err := c.diffSide("to", content.LabelLatest)
	if err != nil {
		return err
	}
	d, err := c.Prompts.Compare(c.R.Context(), c.Principal.Tenant.ID, from, to)
	if err != nil {
		return err
	}
	view := promptDiffView{
		Object: "prompt.diff", Name: from.Name, From: number(d.From), To: number(d.To), Identical: d.Diff.Empty() && len(d.References) == 0,
		Messages: []promptMessageDiffView{}, Config: newMemberDiffs(d.Diff.Config), InputSchema: newMemberDiffs(d.Diff.Schema), References: []promptReferenceDiffView{},
	}
	for _, m := range d.Diff.Messages {
		one := promptMessageDiffView{Change: m.Change, From: m.From, To: m.To, Role: m.Role, Lines: []promptLineDiffView{}}
		for _, l := range m.Lines {
			one.Lines = append(one.Lines, promptLineDiffView(l))
		}
		view.Messages = append(view.Messages, one)
	}
	for _, r := range d.References {
		view.References = append(view.References, promptReferenceDiffView{r.Written, number(r.From), number(r.To)})
	}
	return c.JSON(http.StatusOK, view)
}
