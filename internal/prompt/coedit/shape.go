package coedit

import (
	"fmt"
	"slices"

	"penstock"
	"penstock/internal/prompt/changeset"
	"penstock/internal/prompt/content"
)

// Shape is how editors name the texts of a draft, in the order of the texts.
type Shape struct {
	Structure int64 // the revision of the draft at which its structure last changed
	Texts     []Text
}

// NewShape names the texts of a draft that nobody has edited with others yet. The names follow from the revision, so reading a draft
// stores nothing, and they are never used again.
func NewShape(c content.Content, revision int64) Shape {
	s := Shape{Structure: revision}
	for i := range c.Texts() {
		s.Texts = append(s.Texts, Text{ID: textID(revision, i)})
	}
	return s
}

func textID(revision int64, i int) string { return fmt.Sprintf("t%d-%d", revision, i) }

// find returns the place of a text. Codes: not_found.
func (s Shape) find(id string) (int, error) {
	i := slices.IndexFunc(s.Texts, func(t Text) bool { return t.ID == id })
	if i < 0 {
		return 0, penstock.Errorf(penstock.CodeNotFound, "The draft has no such text; it may have been removed. Read the structure of the draft again.")
	}
	return i, nil
}

// Edit is a change of one text of a draft.
type Edit struct {
	Text    string
	Version int64 // after it
	Client  string
	Changes changeset.Set
	Inverse changeset.Set
}

// Follow names the texts of a content that replaces another as a whole, in the revision given. A text that continues an earlier one
// keeps its name, and the difference becomes an edit, so that editors see it come in.
func (s Shape) Follow(was, now content.Content, revision int64) (Shape, []Edit, error) {
	from, to := was.Texts(), now.Texts()
	next := Shape{Structure: s.Structure}
	var edits []Edit
	for j, i := range content.PairTexts(was, now) {
		t := Text{ID: textID(revision, j)}
		if i >= 0 {
			t = s.Texts[i]
			if before, after := *from[i].Value, *to[j].Value; before != after {
				changes := changeset.Diff(before, after)
				inverse, err := changes.Invert(before)
				if err != nil {
					return Shape{}, nil, penstock.Internal(err)
				}
				t.Version++
				edits = append(edits, Edit{Text: t.ID, Version: t.Version, Changes: changes, Inverse: inverse})
			}
		}
		next.Texts = append(next.Texts, t)
	}
	same, err := content.SameStructure(was, now)
	if err != nil {
		return Shape{}, nil, penstock.Internal(err)
	}
	if !same || !slices.EqualFunc(s.Texts, next.Texts, func(x, y Text) bool { return x.ID == y.ID }) {
		next.Structure = revision
	}
	return next, edits, nil
}

// Restructure makes the content that an order asks for, and names its texts. Codes: invalid_request.
func (s Shape) Restructure(was content.Content, o StructureOrder, revision int64) (content.Content, Shape, error) {
	now, next := o.Content.Clone(), Shape{Structure: revision}
	from, to := was.Texts(), now.Texts()
	if len(o.Texts) != len(to) {
		return now, next, penstock.InvalidParam("texts", "texts has %d ids, but the structure has %d texts.", len(o.Texts), len(to))
	}
	for j, id := range o.Texts {
		t := Text{ID: textID(revision, j)}
		if id != "" {
			i, err := s.find(id)
			if err != nil || slices.Contains(o.Texts[:j], id) {
				return now, next, penstock.InvalidParam("texts", "texts[%d] must be the id of a text of the draft, each at most once, or empty for a new text.", j)
			}
			t = s.Texts[i]
			*to[j].Value = *from[i].Value
		}
		next.Texts = append(next.Texts, t)
	}
	return now, next, nil
}

// Accept maps the updates of a submission over the accepted ones, and applies them to the text in a content, which it changes. Codes:
// not_found, invalid_request.
func (s Shape) Accept(c *content.Content, sub Submission, over []Update) ([]Edit, error) {
	i, err := s.find(sub.Text)
	if err != nil {
		return nil, err
	}
	sent, accepted := make([]changeset.Update, len(sub.Updates)), make([]changeset.Update, len(over))
	for k, changes := range sub.Updates {
		sent[k] = changeset.Update{Client: sub.Client, Changes: changes}
	}
	for k, u := range over {
		accepted[k] = changeset.Update{Client: u.Client, Changes: u.Changes}
	}
	rebased, skipped, err := changeset.Rebase(sent, accepted)
	if err != nil {
		return nil, penstock.InvalidParam("updates", "updates: %v of version %d.", err, sub.Version)
	}
	text := c.Texts()[i].Value
	version := s.Texts[i].Version
	var edits []Edit
	for k, u := range rebased {
		inverse, err := u.Changes.Invert(*text)
		if err == nil {
			*text, err = u.Changes.Apply(*text)
		}
		if err != nil {
			return nil, penstock.InvalidParam(fmt.Sprintf("updates[%d]", skipped+k), "updates[%d]: %v.", skipped+k, err)
		}
		version++
		edits = append(edits, Edit{Text: sub.Text, Version: version, Client: sub.Client, Changes: u.Changes, Inverse: inverse})
	}
	return edits, nil
}

// Applied is the shape after edits.
func (s Shape) Applied(edits []Edit) Shape {
	s.Texts = slices.Clone(s.Texts)
	for _, e := range edits {
		if i, err := s.find(e.Text); err == nil {
			s.Texts[i].Version = e.Version
		}
	}
	return s
}

// Version is the version of a text. Codes: not_found.
func (s Shape) Version(id string) (int64, error) {
	i, err := s.find(id)
	if err != nil {
		return 0, err
	}
	return s.Texts[i].Version, nil
}

// Mark is a range of a text that moves with the edits of it.
type Mark struct {
	Text     string
	From, To int
}

// Moved is the mark after edits. Text that is inserted at its ends stays outside. A mark whose text was deleted is empty, where the
// text was.
func (m Mark) Moved(edits []Edit) Mark {
	for _, e := range edits {
		if e.Text == m.Text {
			m.From = e.Changes.Position(m.From, changeset.Right)
			m.To = max(m.From, e.Changes.Position(m.To, changeset.Left))
		}
	}
	return m
}
