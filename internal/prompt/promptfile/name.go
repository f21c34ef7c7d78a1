package promptfile

import (
	"path"
	"strings"
)

// nameOf makes the name of a prompt from the path of a file, without its extension. Paths that leave their folder stay as they are,
// so that the check of names refuses them.
func nameOf(file, extension string) string {
	return strings.TrimSuffix(strings.TrimPrefix(path.Clean(strings.ReplaceAll(file, `\`, "/")), "./"), extension)
}

// plainName replaces the characters that names of prompts cannot have.
func plainName(text string) string {
	segments := strings.Split(strings.TrimSpace(text), "/")
	for i, s := range segments {
		s = strings.Map(func(r rune) rune {
			if r == '.' || r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
				return r
			}
			return '-'
		}, s)
		segments[i] = strings.TrimLeft(s, "._-")
	}
	return strings.Join(segments, "/")
}

// renamed reads a name of another program. A name that prompts cannot have is changed, and the change is a warning of the prompt.
func (r *reader) renamed(line int, name string) *Prompt {
	plain := plainName(name)
	p := r.prompt(line, plain)
	if p == nil {
		return nil
	}
	if p.source == "" {
		p.source = name
	}
	if p.source != name {
		r.fail(line, name, "The names %s and %s both become %s; rename one of them.", clip(p.source), clip(name), p.Name)
		return nil
	}
	if plain != name {
		r.report(p, Problem{Line: line, Construct: name, Severity: SeverityWarning, Message: "The name has characters that names of prompts cannot have; it became " + p.Name + "."})
	}
	return p
}
