package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/prompt/content"
	"penstock/internal/rest"
)

// promptVersionOrder is a version to be saved.
type promptVersionOrder struct {
	promptContent
	Message string `json:"message,omitzero" about:"What changed, for people."`
	Parent  int64  `json:"parent,omitzero" about:"The version that this one was made from; the newest when not given."`
}

// promptVersionView is a version.
type promptVersionView struct {
	Object      string                     `json:"object"`
	Name        string                     `json:"name"`
	Version     int64                      `json:"version"`
	Kind        content.Kind               `json:"kind"`
	SHA256      string                     `json:"sha256" about:"Of the canonical content, with the versions that it includes."`
	Parent      *int64                     `json:"parent"`
	Author      string                     `json:"author"`
	Message     string                     `json:"message"`
	CreatedAt   time.Time                  `json:"created_at"`
	DeletedAt   *time.Time                 `json:"deleted_at" about:"When its content was deleted."`
	Text        *string                    `json:"text" about:"null in lists, and for kind chat."`
	Messages    *[]promptMessage           `json:"messages" about:"null in lists, and for kind text."`
	Config      *map[string]jsontext.Value `json:"config" about:"null in lists."`
	InputSchema jsontext.Value             `json:"input_schema" about:"null in lists, and if the schema is derived from the templates."`
	// Pages make a form of it.
	VariablesSchema jsontext.Value        `json:"variables_schema" about:"The schema of the variables: input_schema, or the one derived from the templates and those that they include. null in lists."`
	References      []promptReferenceView `json:"references" about:"The prompts that its templates include, with the versions that they meant when it was saved."`
}

type promptReferenceView struct {
	Written string `json:"written" about:"As the template has it."`
	Name    string `json:"name"`
	Version int64  `json:"version"`
}

var null = jsontext.Value("null")

// newPromptVersionView shows a version without its content.
func newPromptVersionView(v prompt.Version) promptVersionView {
	return promptVersionView{
		Object: "prompt.version", Name: v.Name, Version: v.N, Kind: v.Kind, SHA256: v.SHA256, Parent: number(v.Parent), Author: v.Author.Name, Message: v.Message,
		CreatedAt: stamp(v.CreatedAt), DeletedAt: optional(v.DeletedAt), InputSchema: null, VariablesSchema: null, References: []promptReferenceView{},
	}
}

// newWholeVersionView shows a version with its content.
func newWholeVersionView(v prompt.Version) promptVersionView {
	out := newPromptVersionView(v)
	shown := newPromptContent(v.Content)
	out.Config = &shown.Config
	if v.Kind == content.KindText {
		out.Text = &shown.Text
	} else {
		out.Messages = &shown.Messages
	}
	if len(shown.InputSchema) > 0 {
		out.InputSchema = shown.InputSchema
	}
	for _, r := range v.References {
		out.References = append(out.References, promptReferenceView(r))
	}
	return out
}

func (c prompts) save() error {
	var in promptVersionOrder
	if err := c.decode(&in); err != nil {
		return err
	}
	v, created, err := c.Prompts.Save(c.R.Context(), c.Principal, prompt.Order{Name: c.promptName(), Content: in.content(), Message: in.Message, Parent: in.Parent})
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	c.W.Header().Set("Location", "/v1/prompts/"+v.Name+"/versions/"+strconv.FormatInt(v.N, 10))
	return c.answerVersion(status, v)
}

// answerVersion answers with a version and its content.
func (c prompts) answerVersion(status int, v prompt.Version) error {
	schema, err := c.Prompts.VersionSchema(c.R.Context(), c.Principal.Tenant.ID, prompt.VersionKey{Name: v.Name, N: v.N})
	if err != nil {
		return err
	}
	view := newWholeVersionView(v)
	view.VariablesSchema = jsontext.Value(schema)
	return c.JSON(status, view)
}

func (c prompts) listVersions() error {
	limit, err := c.PageLimit(pageSize)
	if err != nil {
		return err
	}
	before, err := c.cursor()
	if err != nil {
		return err
	}
	found, err := c.Prompts.ListVersions(c.R.Context(), c.Principal.Tenant.ID, prompt.VersionPage{Name: c.promptName(), Before: before, Limit: limit + 1})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, numbered(found, limit, newPromptVersionView, func(v prompt.Version) int64 { return v.N }))
}

// versionKey is the version in the path. Other text names no version. Codes: not_found.
func (c prompts) versionKey() (prompt.VersionKey, error) {
	k := prompt.VersionKey{Name: c.promptName()}
	n, err := strconv.ParseInt(c.R.PathValue("version"), 10, 64)
	if err != nil || n < 1 {
		return k, penstock.Errorf(penstock.CodeNotFound, "Versions are numbered from 1: there is no version %q. GET /v1/prompts/{name}/labels/{label} names the version of a label.", rest.Clip(c.R.PathValue("version")))
	}
	k.N = n
	return k, nil
}

func (c prompts) readVersion() error {
	k, err := c.versionKey()
	if err != nil {
		return err
	}
	v, err := c.Prompts.Version(c.R.Context(), c.Principal.Tenant.ID, k)
	if err != nil {
		return err
	}
	return c.answerVersion(http.StatusOK, v)
}

func (c prompts) deleteVersion() error {
	k, err := c.versionKey()
	if err != nil {
		return err
	}
	if err := c.Prompts.DeleteVersion(c.R.Context(), c.Principal, k); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, deletedView{ID: k.Name + "@" + strconv.FormatInt(k.N, 10), Object: "prompt.version", Deleted: true})
}

// promptUsesView is what names versions of a prompt.
type promptUsesView struct {
	Object     string                `json:"object"`
	Name       string                `json:"name"`
	Labels     []promptLabelView     `json:"labels"`
	Dependants []promptDependantView `json:"dependants" about:"Versions of other prompts that include it; 200 at the most."`
	HasMore    bool                  `json:"has_more" about:"Whether there are more dependants."`
}

type promptDependantView struct {
	Name    string `json:"name"`
	Version int64  `json:"version"`
	Of      int64  `json:"of" about:"The version that is included."`
}

func (c prompts) uses() error {
	n, err := c.QueryInt("version", 0)
	if err != nil {
		return err
	}
	u, err := c.Prompts.Uses(c.R.Context(), c.Principal.Tenant.ID, prompt.VersionKey{Name: c.promptName(), N: n})
	if err != nil {
		return err
	}
	out := promptUsesView{Object: "prompt.uses", Name: c.promptName(), Labels: []promptLabelView{}, Dependants: []promptDependantView{}, HasMore: u.More}
	for _, l := range u.Labels {
		out.Labels = append(out.Labels, newPromptLabelView(l))
	}
	for _, d := range u.Dependants {
		out.Dependants = append(out.Dependants, promptDependantView(d))
	}
	return c.JSON(http.StatusOK, out)
}

// promptDraftOrder is a draft to be stored.
type promptDraftOrder struct {
	promptContent
	Base int64 `json:"base,omitzero" about:"The version that it was made from."`
}

// promptDraftView is a draft.
type promptDraftView struct {
	Object      string                    `json:"object"`
	Name        string                    `json:"name"`
	Kind        content.Kind              `json:"kind"`
	Base        *int64                    `json:"base"`
	Text        string                    `json:"text"`
	Messages    []promptMessage           `json:"messages"`
	Config      map[string]jsontext.Value `json:"config"`
	InputSchema jsontext.Value            `json:"input_schema"`
	// Pages make a form of it.
	VariablesSchema jsontext.Value  `json:"variables_schema" about:"The schema of the variables: input_schema, or the one derived from the templates and those that they include. null while there is a problem."`
	Problem         *rest.ErrorBody `json:"problem" about:"Why it cannot be saved as a version; null if it can."`
	UpdatedBy       string          `json:"updated_by"`
	UpdatedAt       time.Time       `json:"updated_at"`
	ETag            string          `json:"etag" about:"For If-Match."`
}

func (c prompts) answerDraft(d prompt.Draft) error {
	shown := newPromptContent(d.Content)
	out := promptDraftView{
		Object: "prompt.draft", Name: c.promptName(), Kind: shown.Kind, Base: number(d.Base), Text: shown.Text, Messages: append([]promptMessage{}, shown.Messages...),
		Config: shown.Config, InputSchema: null, VariablesSchema: null, UpdatedBy: d.UpdatedBy, UpdatedAt: stamp(d.UpdatedAt), ETag: rest.ETag(d.Revision),
	}
	if len(shown.InputSchema) > 0 {
		out.InputSchema = shown.InputSchema
	}
	schema, err := c.Prompts.Schema(c.R.Context(), c.Principal.Tenant.ID, d.Content)
	if err != nil {
		body, _ := c.ErrorBody(penstock.AsError(err))
		out.Problem = &body
	} else {
		out.VariablesSchema = jsontext.Value(schema)
	}
	c.W.Header().Set("ETag", out.ETag)
	return c.JSON(http.StatusOK, out)
}

func (c prompts) readDraft() error {
	d, err := c.Prompts.Draft(c.R.Context(), c.Principal.Tenant.ID, c.promptName())
	if err != nil {
		return err
	}
	return c.answerDraft(d)
}

func (c prompts) putDraft() error {
	var in promptDraftOrder
	if err := c.decode(&in); err != nil {
		return err
	}
	revision, err := rest.IfMatch(c.R)
	if err != nil {
		return err
	}
	absent, err := rest.IfAbsent(c.R)
	if err != nil {
		return err
	}
	d, err := c.Prompts.PutDraft(c.R.Context(), c.Principal, prompt.DraftOrder{
		Name: c.promptName(), Content: in.content(), Base: in.Base, IfRevision: revision, IfAbsent: absent,
	})
	if err != nil {
		return err
	}
	return c.answerDraft(d)
}

func (c prompts) deleteDraft() error {
	revision, err := rest.IfMatch(c.R)
	if err != nil {
		return err
	}
	if err := c.Prompts.DeleteDraft(c.R.Context(), c.Principal, prompt.DraftRemoval{Name: c.promptName(), IfRevision: revision}); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, deletedView{ID: c.promptName(), Object: "prompt.draft", Deleted: true})
}
