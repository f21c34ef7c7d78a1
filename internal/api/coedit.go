package api

import (
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/prompt/changeset"
	"penstock/internal/prompt/coedit"
	"penstock/internal/prompt/content"
	"penstock/internal/rest"
)

// coedits answers the calls of people who edit a draft together.
type coedits struct{ *call }

// draftTextView is a text of a draft.
type draftTextView struct {
	ID      string `json:"id"`
	Where   string `json:"where" about:"The place of the text in the structure, such as text, messages[0].content or messages[1].content[2].text."`
	Version int64  `json:"version" about:"How many updates the text has had."`
	Text    string `json:"text"`
}

// draftStructureView is a draft as its editors share it.
type draftStructureView struct {
	Object      string                    `json:"object"`
	Name        string                    `json:"name"`
	Kind        content.Kind              `json:"kind"`
	Base        *int64                    `json:"base"`
	Messages    []promptMessage           `json:"messages"`
	Config      map[string]jsontext.Value `json:"config"`
	InputSchema jsontext.Value            `json:"input_schema"`
	Texts       []draftTextView           `json:"texts" about:"The texts, in the order in which the structure has them."`
	Comments    []draftCommentView        `json:"comments"`
	People      []draftPersonView         `json:"people" about:"The editors that are connected."`
	You         string                    `json:"you" about:"Your mark. The ids of your editors begin with it and a hyphen."`
	Revision    int64                     `json:"revision" about:"The after of the stream of events that follows this answer."`
	ETag        string                    `json:"etag" about:"For If-Match. It changes with the structure, not with the texts."`
}

// draftPersonView is a connected editor.
type draftPersonView struct {
	Client  string  `json:"client"`
	Person  string  `json:"person" about:"The mark of the person or key, the same for all of its editors."`
	Name    string  `json:"name"`
	Text    *string `json:"text" about:"The text with the cursor; null for none."`
	Version int64   `json:"version" about:"Of the text that the positions apply to."`
	Anchor  int     `json:"anchor" about:"Where the selection begins, in UTF-16 code units."`
	Head    int     `json:"head" about:"Where the cursor is."`
}

// draftUpdateView is an accepted update.
type draftUpdateView struct {
	Version int64          `json:"version" about:"Of the text after the update."`
	Client  string         `json:"client" about:"Empty for a draft that was replaced as a whole."`
	Author  string         `json:"author"`
	At      time.Time      `json:"at"`
	Changes jsontext.Value `json:"changes" about:"A change set of CodeMirror as JSON: a number keeps UTF-16 code units, [n] deletes some, [n, line, …] replaces some by lines."`
}

// draftUpdatesOrder are the updates of an editor.
type draftUpdatesOrder struct {
	Client  string             `json:"client" required:"true" about:"The id of the editor: the you of the structure, a hyphen, and 4 to 32 of a-z, A-Z and 0-9."`
	Version int64              `json:"version" about:"The version of the text that the first update applies to."`
	Updates []draftUpdateOrder `json:"updates" required:"true" about:"1 to 100 updates, each for the text after the one before."`
}

type draftUpdateOrder struct {
	Changes jsontext.Value `json:"changes" required:"true" about:"A change set of CodeMirror as JSON: a number keeps UTF-16 code units, [n] deletes some, [n, line, …] replaces some by lines."`
}

// draftUpdatesView answers updates.
type draftUpdatesView struct {
	Object  string            `json:"object"`
	Text    string            `json:"text"`
	Version int64             `json:"version" about:"Of the text after the last of the updates."`
	Updates []draftUpdateView `json:"updates" about:"The updates behind the version of the call. Those of the call are among them, unless the editor was more than 200 updates behind: then it sends them again."`
}

func newDraftUpdateView(u coedit.Update) draftUpdateView {
	return draftUpdateView{Version: u.Version, Client: u.Client, Author: u.Author.Name, At: stamp(u.At), Changes: u.Changes.AppendJSON(nil)}
}

func newDraftPeople(people []coedit.Person) []draftPersonView {
	all := []draftPersonView{}
	for _, p := range people {
		all = append(all, draftPersonView{Client: p.Client, Person: p.Tag, Name: p.Name, Text: text(p.Text), Version: p.Version, Anchor: p.Anchor, Head: p.Head})
	}
	return all
}

func (c coedits) promptName() string { return c.R.PathValue("name") }

// decode reads the body of a call, which nobody judges for a prompt that does not exist. Codes: not_found, invalid_request.
func (c coedits) decode(into any) error {
	p := prompts(c)
	if err := p.exists(); err != nil {
		return err
	}
	return p.decode(into)
}

func (c coedits) answerStructure(d coedit.Draft) error {
	shown := newPromptContent(d.Content)
	tenant := c.Principal.Tenant.ID
	out := draftStructureView{
		Object: "prompt.draft.structure", Name: c.promptName(), Kind: shown.Kind, Base: number(d.Base), Messages: append([]promptMessage{}, shown.Messages...), Config: shown.Config, InputSchema: null,
		Texts: []draftTextView{}, Comments: newDraftComments(tenant, d.Comments), People: newDraftPeople(d.People),
		You: coedit.Tag(tenant, c.Principal.Author()), Revision: d.Revision, ETag: rest.ETag(d.Structure),
	}
	if len(shown.InputSchema) > 0 {
		out.InputSchema = shown.InputSchema
	}
	for i, t := range d.Content.Texts() {
		out.Texts = append(out.Texts, draftTextView{ID: d.Texts[i].ID, Where: t.Where, Version: d.Texts[i].Version, Text: *t.Value})
	}
	c.W.Header().Set("ETag", out.ETag)
	return c.JSON(http.StatusOK, out)
}

func (c coedits) open() error {
	d, err := c.Coedit.Open(c.R.Context(), c.Principal.Tenant.ID, c.promptName())
	if err != nil {
		return err
	}
	return c.answerStructure(d)
}

// draftStructureOrder is a structure to be stored.
type draftStructureOrder struct {
	promptContent
	Base  int64    `json:"base,omitzero" about:"The version that the draft was made from."`
	Texts []string `json:"texts" required:"true" about:"The ids of the texts, in the order of the structure. A text with an id keeps its text, whatever the content says. An empty id is a new text, which begins with the text of the content."`
}

func (c coedits) putStructure() error {
	var in draftStructureOrder
	if err := c.decode(&in); err != nil {
		return err
	}
	revision, err := rest.IfMatch(c.R)
	if err != nil {
		return err
	}
	d, err := c.Coedit.PutStructure(c.R.Context(), c.Principal, coedit.Structure{
		Name: c.promptName(), Content: in.content(), Texts: in.Texts, Base: in.Base, IfStructure: revision,
	})
	if err != nil {
		return err
	}
	return c.answerStructure(d)
}

func (c coedits) submit() error {
	var in draftUpdatesOrder
	if err := c.decode(&in); err != nil {
		return err
	}
	e := coedit.Edits{Name: c.promptName(), Text: c.R.PathValue("text"), Client: in.Client, Version: in.Version}
	for i, u := range in.Updates {
		changes, err := changeset.Parse(u.Changes)
		if err != nil {
			return penstock.InvalidParam(fmt.Sprintf("updates[%d].changes", i), "updates[%d].changes: %v.", i, err)
		}
		e.Updates = append(e.Updates, changes)
	}
	updates, err := c.Coedit.Submit(c.R.Context(), c.Principal, e)
	if err != nil {
		return err
	}
	out := draftUpdatesView{Object: "prompt.draft.updates", Text: e.Text, Version: e.Version, Updates: []draftUpdateView{}}
	for _, u := range updates {
		out.Updates, out.Version = append(out.Updates, newDraftUpdateView(u)), u.Version
	}
	return c.JSON(http.StatusOK, out)
}

// draftTextAtView is a text at a version.
type draftTextAtView struct {
	Object  string `json:"object"`
	ID      string `json:"id"`
	Version int64  `json:"version"`
	Text    string `json:"text"`
}

func (c coedits) readText() error {
	k := coedit.TextKey{Name: c.promptName(), Text: c.R.PathValue("text")}
	var err error
	if k.Version, err = c.QueryInt("version", -1); err != nil {
		return err
	}
	if k.Version < 0 {
		d, err := c.Coedit.Open(c.R.Context(), c.Principal.Tenant.ID, k.Name)
		if err != nil {
			return err
		}
		if k.Version, err = d.Version(k.Text); err != nil {
			return err
		}
	}
	text, err := c.Coedit.TextAt(c.R.Context(), c.Principal.Tenant.ID, k)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, draftTextAtView{Object: "prompt.draft.text", ID: k.Text, Version: k.Version, Text: text})
}

// draftLogView is an update in the history of a draft.
type draftLogView struct {
	draftUpdateView
	Revision int64  `json:"revision" about:"Of the draft after the update."`
	Text     string `json:"text" about:"The id of the text."`
	Inserted int    `json:"inserted" about:"UTF-16 code units."`
	Deleted  int    `json:"deleted"`
}

func newDraftLogView(u coedit.Update) draftLogView {
	return draftLogView{draftUpdateView: newDraftUpdateView(u), Revision: u.Revision, Text: u.Text, Inserted: u.Changes.Inserted(), Deleted: u.Changes.Deleted()}
}

func (c coedits) history() error {
	if err := prompts(c).exists(); err != nil {
		return err
	}
	limit, err := c.PageLimit(pageSize)
	if err != nil {
		return err
	}
	before, err := prompts(c).cursor()
	if err != nil {
		return err
	}
	found, err := c.Coedit.History(c.R.Context(), c.Principal.Tenant.ID, coedit.LogPage{Name: c.promptName(), Text: c.R.URL.Query().Get("text"), Before: before, Limit: limit + 1})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, numbered(found, limit, newDraftLogView, func(u coedit.Update) int64 { return u.Revision }))
}

// draftPresenceOrder is the cursor of an editor.
type draftPresenceOrder struct {
	Client  string `json:"client" required:"true" about:"The id of the editor, as for updates."`
	Text    string `json:"text,omitzero" about:"The text with the cursor; empty for none."`
	Version int64  `json:"version,omitzero" about:"The version of the text that the positions apply to."`
	Anchor  int    `json:"anchor,omitzero"`
	Head    int    `json:"head,omitzero"`
}

func (c coedits) sight() error {
	var in draftPresenceOrder
	if err := c.decode(&in); err != nil {
		return err
	}
	err := c.Coedit.Sight(c.R.Context(), c.Principal, coedit.Sighting{
		Prompt: c.promptName(), Person: coedit.Person{Client: in.Client, Text: in.Text, Version: in.Version, Anchor: in.Anchor, Head: in.Head},
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, draftPresenceView{Object: "prompt.draft.presence", Client: in.Client, ExpiresIn: coedit.PresenceExpiry.Seconds()})
}

// draftPresenceView answers a cursor.
type draftPresenceView struct {
	Object    string  `json:"object"`
	Client    string  `json:"client"`
	ExpiresIn float64 `json:"expires_in_s" about:"The editor is shown for so long. A stream of events with its id shows it for as long as the stream is open."`
}

// draftCommentView is a comment.
type draftCommentView struct {
	ID         string     `json:"id"`
	Object     string     `json:"object"`
	Text       string     `json:"text" about:"The id of the text. The text may have been removed since."`
	Version    int64      `json:"version" about:"Of the text that the positions apply to: comments move with their text. 0 if the text was removed."`
	From       int        `json:"from" about:"In UTF-16 code units."`
	To         int        `json:"to" about:"The same as from if the text was deleted."`
	Quote      string     `json:"quote" about:"The text that the comment was made on."`
	Parent     *string    `json:"parent" about:"The comment that this one replies to; null for none."`
	Body       string     `json:"body"`
	Author     string     `json:"author"`
	Person     string     `json:"person" about:"The mark of the author."`
	CreatedAt  time.Time  `json:"created_at"`
	EditedAt   *time.Time `json:"edited_at"`
	ResolvedBy *string    `json:"resolved_by" about:"null while the comment is open."`
	ResolvedAt *time.Time `json:"resolved_at"`
}

func newDraftCommentView(tenant penstock.TenantID, m coedit.Comment) draftCommentView {
	v := draftCommentView{
		ID: coedit.ViewComment.Format(m.ID), Object: "prompt.draft.comment", Text: m.Text, Version: m.Version, From: m.From, To: m.To, Quote: m.Quote, Body: m.Body, Author: m.Author.Name,
		Person: coedit.Tag(tenant, m.Author), CreatedAt: stamp(m.CreatedAt), EditedAt: optional(m.EditedAt), ResolvedBy: text(m.ResolvedBy), ResolvedAt: optional(m.ResolvedAt),
	}
	if m.Parent != "" {
		v.Parent = text(coedit.ViewComment.Format(m.Parent))
	}
	return v
}

func newDraftComments(tenant penstock.TenantID, comments []coedit.Comment) []draftCommentView {
	all := []draftCommentView{}
	for _, m := range comments {
		all = append(all, newDraftCommentView(tenant, m))
	}
	return all
}

// draftCommentOrder is a comment to be stored.
type draftCommentOrder struct {
	Text    string `json:"text,omitzero" about:"The id of the text; not of a reply."`
	Version int64  `json:"version,omitzero" about:"The version of the text that the positions apply to."`
	From    int    `json:"from,omitzero" about:"In UTF-16 code units."`
	To      int    `json:"to,omitzero"`
	Parent  string `json:"parent,omitzero" about:"The comment to reply to."`
	Body    string `json:"body" required:"true" about:"At most 4096 bytes."`
}

func (c coedits) addComment() error {
	var in draftCommentOrder
	if err := c.decode(&in); err != nil {
		return err
	}
	n := coedit.NewComment{Name: c.promptName(), Mark: coedit.Mark{Text: in.Text, From: in.From, To: in.To}, Version: in.Version, Body: in.Body}
	if in.Parent != "" {
		var err error
		if n.Parent, err = coedit.ViewComment.Parse(in.Parent); err != nil {
			return err
		}
	}
	m, err := c.Coedit.AddComment(c.R.Context(), c.Principal, n)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, newDraftCommentView(c.Principal.Tenant.ID, m))
}

// draftCommentChange changes a comment.
type draftCommentChange struct {
	Body  *string             `json:"body,omitzero" about:"Only the author changes the body."`
	State coedit.CommentState `json:"state,omitzero" about:"open or resolved."`
}

func (c coedits) changeComment() error {
	id, err := c.PathID(coedit.ViewComment)
	if err != nil {
		return err
	}
	var in draftCommentChange
	if err := c.decode(&in); err != nil {
		return err
	}
	m, err := c.Coedit.ChangeComment(c.R.Context(), c.Principal, coedit.CommentChange{Name: c.promptName(), ID: id, Body: in.Body, State: in.State})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newDraftCommentView(c.Principal.Tenant.ID, m))
}

func (c coedits) removeComment() error {
	id, err := c.PathID(coedit.ViewComment)
	if err != nil {
		return err
	}
	if err := c.Coedit.RemoveComment(c.R.Context(), c.Principal, coedit.CommentRemoval{Name: c.promptName(), ID: id}); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, deletedView{ID: coedit.ViewComment.Format(id), Object: "prompt.draft.comment", Deleted: true})
}
