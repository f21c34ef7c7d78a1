package api

import (
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/prompt/changeset"
	"penstock/internal/prompt/coedit"
	"penstock/internal/prompt/content"
	"penstock/internal/rest"
)

// coeditSamples are answers about drafts that several people edit.
func coeditSamples() []any {
	actor := penstock.Author{ID: "key:app", Name: "app"}
	set, err := changeset.Replace(5, 1, 2, "x\ny")
	if err != nil {
		panic(err)
	}
	update := coedit.Update{Revision: 8, Text: "t4-0", Version: 3, Client: "0f3a5c7d9e1b-k3x9", Author: actor, At: sampleTime, Changes: set}
	comment := coedit.Comment{ID: "01JQ0000000000000000000000", Mark: coedit.Mark{Text: "t4-0", From: 1, To: 2}, Version: 3, Quote: "x", Body: "why?", Author: actor, CreatedAt: sampleTime}
	reply := comment
	reply.Parent, reply.EditedAt, reply.ResolvedBy, reply.ResolvedAt = comment.ID, sampleTime, "app", sampleTime
	people := newDraftPeople([]coedit.Person{{Client: update.Client, Tag: "0f3a5c7d9e1b", Name: "Ada", Text: "t4-0", Version: 3, Anchor: 1, Head: 2}, {Client: "0f3a5c7d9e1b-aaaa"}})
	comments := newDraftComments("acme", []coedit.Comment{comment, reply})
	return []any{
		draftStructureView{Object: "prompt.draft.structure", Name: "p", Kind: content.KindText, Base: number(1), Messages: []promptMessage{}, Config: map[string]jsontext.Value{}, InputSchema: null,
			Texts: []draftTextView{{ID: "t4-0", Where: "text", Version: 3, Text: "hello"}}, Comments: comments, People: people, You: "0f3a5c7d9e1b", Revision: 8, ETag: rest.ETag(4)},
		draftUpdatesView{Object: "prompt.draft.updates", Text: "t4-0", Version: 3, Updates: []draftUpdateView{newDraftUpdateView(update)}},
		draftTextAtView{Object: "prompt.draft.text", ID: "t4-0", Version: 2, Text: "hello"},
		numbered([]coedit.Update{update, update}, 1, newDraftLogView, func(u coedit.Update) int64 { return u.Revision }),
		draftPresenceView{Object: "prompt.draft.presence", Client: update.Client, ExpiresIn: coedit.PresenceExpiry.Seconds()}, comments[0], comments[1],
		draftEvent{Type: draftUpdates, Text: "t4-0", Updates: []draftUpdateView{newDraftUpdateView(update)}}, draftEvent{Type: draftStructure, ETag: rest.ETag(4)},
		draftEvent{Type: draftComments, Comments: comments}, draftEvent{Type: draftPeople, People: people}, draftEvent{Type: draftReset}, draftEvent{Type: draftGone},
	}
}
