package promptfile

import (
	"strings"

	"penstock/internal/prompt/template"
)

// values translates a template whose only tags are {{name}}, as in OpenAI's prompts and Langfuse. Other tags are reported. Line is
// the line of the file before its first. References finds other tags in the text between them; nil for none.
func (r *reader) values(p *Prompt, line int, text string, references func(b *builder, line int, text string)) string {
	b := &builder{r: r, prompt: p, line: line}
	if references == nil {
		references = func(b *builder, _ int, text string) { b.add(textPiece(text)) }
	}
	at := 1
	for text != "" {
		i := strings.Index(text, "{{")
		if i < 0 {
			break
		}
		end := strings.Index(text[i:], "}}")
		if end < 0 { // literal braces
			break
		}
		references(b, at, text[:i])
		at += strings.Count(text[:i], "\n")
		source := text[i : i+end+2]
		if name := strings.TrimSpace(source[2 : len(source)-2]); template.ValidName(name) {
			b.add(tag(template.TokenValue, name))
		} else {
			b.unsupported(at, source, "Only names of variables stand in {{ }} in this format.")
		}
		at += strings.Count(source, "\n")
		text = text[i+end+2:]
	}
	references(b, at, text)
	return r.print(p, line+1, b.done())
}
