package promptfile

import (
	"strings"

	"penstock/internal/prompt/template"
)

// depth is how many each are open around the current place.
func (b *builder) depth() pathBase {
	n := pathBase(0)
	for _, f := range b.frames {
		if f.kind == frameEach && !f.inElse {
			n++
		}
	}
	return n
}

// contexts are the bases of paths around the current place, from the outside, with their prefixes. The variables are the first.
func (b *builder) contexts() []*frame {
	all := []*frame{{}}
	for _, f := range b.frames {
		if (f.kind == frameEach || f.kind == frameWith) && !f.inElse {
			all = append(all, f)
		}
	}
	return all
}

// context is where paths begin here.
func (b *builder) context() (pathBase, []string) {
	all := b.contexts()
	return all[len(all)-1].base, all[len(all)-1].prefix
}

// baseOf divides a path of ours into its base and its names.
func (b *builder) baseOf(path string) (pathBase, []string) {
	names := strings.Split(path, ".")
	if names[0] == "this" {
		return b.depth(), names[1:]
	}
	return baseVariables, names
}

// Reasons why a path cannot be translated.
const (
	reasonOuter  = "The element of an outer each cannot be named inside of an inner one."
	reasonData   = "Of the data variables, only @index and @root can be translated."
	reasonWhole  = "All variables together cannot be printed; name one of them."
	reasonPath   = "This is not a path of names with dots between them."
	reasonHelper = "Helpers inside of expressions cannot be translated."
)

// path translates a path of Handlebars. It returns the reason why it cannot be translated, "" for none.
func (h *handlebarsReader) path(text string) (ours, reason string) {
	if strings.ContainsAny(text, "( \t\r\n=\"'|") {
		return "", reasonHelper
	}
	all := h.contexts()
	if rest, data := strings.CutPrefix(text, "@"); data {
		if rest == "index" && h.depth() > 0 {
			return "@index", ""
		}
		names, ok := strings.CutPrefix(rest, "root.")
		if !ok {
			return "", reasonData
		}
		return h.join(baseVariables, strings.Split(names, "."))
	}
	level, up := len(all)-1, false
	for {
		rest, ok := strings.CutPrefix(text, "../")
		if !ok {
			break
		}
		text, up = rest, true
		if level--; level < 0 {
			return "", "The path leaves the variables."
		}
	}
	if text == ".." {
		return "", reasonPath
	}
	here := strings.HasPrefix(text, "./") || text == "this" || text == "." || strings.HasPrefix(text, "this.") || strings.HasPrefix(text, "this/")
	text = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(text, "./"), "this."), "this/")
	var names []string
	if text != "this" && text != "." {
		names = strings.Split(strings.ReplaceAll(text, "/", "."), ".")
	}
	if !here && !up && len(names) > 0 {
		if base, prefix, index, found := param(all, names[0]); found {
			if index {
				return h.index(base, names[1:])
			}
			return h.join(base, append(append([]string{}, prefix...), names[1:]...))
		}
	}
	c := all[level]
	return h.join(c.base, append(append([]string{}, c.prefix...), names...))
}

// param finds the section that gives a name to its element, from the inside.
func param(all []*frame, name string) (base pathBase, prefix []string, index, found bool) {
	for i := len(all) - 1; i >= 0; i-- {
		if of, ok := all[i].params[name]; ok {
			return all[i].base, all[i].prefix, of == "@index", true
		}
	}
	return 0, nil, false, false
}

// index is the number of an element.
func (h *handlebarsReader) index(base pathBase, names []string) (ours, reason string) {
	switch {
	case base != h.depth():
		return "", reasonOuter
	case len(names) > 0:
		return "", reasonPath
	}
	return "@index", ""
}

// join writes a path of ours.
func (b *builder) join(base pathBase, names []string) (ours, reason string) {
	if len(names) > template.MaxPathNames {
		return "", reasonPath
	}
	for i, name := range names {
		names[i] = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
		if !template.ValidName(names[i]) {
			return "", reasonPath
		}
	}
	switch {
	case base != baseVariables && base != b.depth():
		return "", reasonOuter
	case base != baseVariables:
		return strings.Join(append([]string{"this"}, names...), "."), ""
	case len(names) == 0:
		return "", reasonWhole
	}
	return strings.Join(names, "."), ""
}
