package promptfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"penstock/internal/prompt/content"
	"penstock/internal/prompt/template"
)

// promptfoo writes a configuration with one prompt, its model as the provider, and its examples as tests.
func (w *writer) promptfoo() File {
	w.version = w.newest()
	c := w.version.Content
	var raw *node
	if c.Kind == content.KindText {
		raw = stringNode(w.nunjucks(c.Text))
	} else {
		raw = stringNode(w.promptfooMessages(c))
	}
	root := objectNode().put("description", stringNode(w.Name)).put("prompts", listNode([]*node{objectNode().put("label", stringNode(w.Name)).put("raw", raw)}))
	config := objectNode()
	for _, name := range slices.Sorted(maps.Keys(c.Config)) {
		if name != "model" {
			config.put(name, jsonNode(c.Config[name]))
		}
	}
	if model := c.Config.Model(); model != "" || len(config.names) > 0 {
		provider := objectNode().put("id", stringNode("openai:chat:"+model))
		if len(config.names) > 0 {
			provider.put("config", config)
		}
		root.put("providers", listNode([]*node{provider}))
	}
	schema := jsonNode(c.InputSchema)
	if schema != nil {
		w.lacks("input_schema", "A configuration of promptfoo has no schema of the variables.")
	}
	var tests []*node
	for _, sample := range schema.at("examples").elements() {
		if sample.isObject() {
			tests = append(tests, objectNode().put("vars", sample))
		}
	}
	if tests != nil {
		root.put("tests", listNode(tests))
	}
	var out yamlWriter
	out.WriteString(yamlComment(w.header()))
	out.object(0, root)
	return File{Path: w.Name + ".yaml", Text: out.String()}
}

// promptfooMessages writes messages as promptfoo reads them: as JSON inside of the configuration.
func (w *writer) promptfooMessages(c content.Content) string {
	var all []*node
	for _, m := range c.Messages {
		if m.Placeholder != "" {
			w.lacks(m.Placeholder, "promptfoo has no list of messages in a variable; the placeholder is left out.")
			continue
		}
		n := jsonNode(jsonOf(m))
		if m.Content.Parts == nil {
			n.members["content"] = stringNode(w.nunjucks(m.Content.Text))
			if m.Content.Text == "" {
				n.names = append(slices.DeleteFunc(n.names, func(s string) bool { return s == "content" }), "content")
			}
		} else {
			w.nunjucksParts(n.at("content"), m.Content.Parts)
		}
		all = append(all, n)
	}
	lines := make([]string, len(all))
	for i, n := range all {
		lines[i] = "  " + string(n.raw())
	}
	return "[\n" + strings.Join(lines, ",\n") + "\n]\n"
}

func (w *writer) nunjucksParts(list *node, parts []content.Part) {
	for i, part := range parts {
		if part.Type == content.PartImage {
			list.list[i].at("image_url").members["url"] = stringNode(w.nunjucks(part.ImageURL.URL))
		} else if list.list[i].has("text") {
			list.list[i].members["text"] = stringNode(w.nunjucks(part.Text))
		}
	}
}

// njEscapes write the beginnings of tags as text.
var njEscapes = strings.NewReplacer("{{", `{{ '{{' }}`, "{%", `{{ '{%' }}`, "{#", `{{ '{#' }}`)

// nunjucks writes a template of ours as Nunjucks.
func (w *writer) nunjucks(text string) string {
	all := tokens(text)
	loops := &njLoops{free: freeName(all)}
	lists := map[string]bool{}
	for _, t := range all {
		if t.Kind == template.TokenEach {
			lists[t.Text] = true
		}
	}
	syntax := template.Syntax{
		Escape: func(text string, _ template.Follower) (string, error) { return njEscapes.Replace(text), nil },
		Tag: func(t template.Token, word string) string {
			switch t.Kind {
			case template.TokenIf:
				if lists[t.Text] {
					w.lacks(t.Text, "An empty list is false here, and true in Nunjucks.")
				}
				path := loops.path(t.Text)
				loops.push(false)
				return "{% if " + path + " %}"
			case template.TokenEach:
				path := loops.path(t.Text)
				return "{% for " + loops.push(true) + " in " + path + " %}"
			case template.TokenElse:
				loops.orElse()
				return "{% else %}"
			case template.TokenEnd:
				loops.pop()
				return map[string]string{"if": "{% endif %}", "each": "{% endfor %}"}[word]
			case template.TokenPartial:
				w.lacks("{{> "+t.Text+"}}", "promptfoo has no partials; the text of the other prompt is left out.")
				return ""
			case template.TokenComment:
				return "{# " + strings.ReplaceAll(t.Text, "#}", "# }") + " #}"
			}
			return "{{ " + loops.path(t.Text) + " }}"
		},
	}
	out, err := syntax.Print(all)
	if err != nil { // no escape fails, and the tokens are those of a template
		w.lacks("", "The template could not be written: %v.", err)
	}
	return out
}

// freeName is a name for the elements of loops that no variable has.
func freeName(all []template.Token) string {
	name := "item"
	for used := true; used; {
		used = false
		for _, t := range all {
			first, _, _ := strings.Cut(t.Text, ".")
			if t.Kind != template.TokenText && strings.HasPrefix(first, name) {
				name, used = name+"_", true
			}
		}
	}
	return name
}

// njLoops are the sections around a place. A section that is no loop, or whose else began, has no name.
type njLoops struct {
	free  string
	names []string
}

// isLoop is whether a section is a loop.
type isLoop bool

func (l *njLoops) push(loop isLoop) string {
	name := ""
	if loop {
		name = l.free
		if n := len(slices.DeleteFunc(slices.Clone(l.names), func(s string) bool { return s == "" })); n > 0 {
			name += fmt.Sprint(n + 1)
		}
	}
	l.names = append(l.names, name)
	return name
}

func (l *njLoops) orElse() { l.names[len(l.names)-1] = "" }

func (l *njLoops) pop() { l.names = l.names[:len(l.names)-1] }

func (l *njLoops) path(ours string) string {
	if ours == "@index" {
		return "loop.index0"
	}
	rest, element := strings.CutPrefix(ours, "this")
	if !element || rest != "" && rest[0] != '.' {
		return ours
	}
	for _, name := range slices.Backward(l.names) {
		if name != "" {
			return name + rest
		}
	}
	return ours
}
