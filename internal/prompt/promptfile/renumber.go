package promptfile

import (
	"slices"

	"penstock/internal/prompt/content"
	"penstock/internal/prompt/template"
)

// Renumber returns a content whose templates include other prompts as the map says, by the references as they are written.
func Renumber(c content.Content, references map[string]string) (content.Content, error) {
	var failed error
	change := func(text string) string {
		all, err := template.Tokens(text)
		for i := range all {
			if now, ok := references[all[i].Text]; ok && all[i].Kind == template.TokenPartial {
				all[i].Text = now
			}
		}
		out := text
		if err == nil {
			out, err = template.Print(all)
		}
		if err != nil {
			failed = err
		}
		return out
	}
	if c.Kind == content.KindText {
		c.Text = change(c.Text)
		return c, failed
	}
	c.Messages = slices.Clone(c.Messages)
	for i := range c.Messages {
		body := &c.Messages[i].Content
		if body.Parts == nil {
			body.Text = change(body.Text)
		}
		body.Parts = slices.Clone(body.Parts)
		for j := range body.Parts {
			part := &body.Parts[j]
			if part.ImageURL != nil {
				part.ImageURL = &content.ImageURL{URL: change(part.ImageURL.URL), Detail: part.ImageURL.Detail}
			} else {
				part.Text = change(part.Text)
			}
		}
	}
	return c, failed
}
