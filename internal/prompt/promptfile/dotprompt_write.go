package promptfile

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"penstock/internal/prompt/content"
	"penstock/internal/prompt/template"
)

// dotprompt writes a .prompt file. A text without a config is a partial, whose file begins with _.
func (w *writer) dotprompt() File {
	w.version = w.newest()
	c := w.version.Content
	body := w.dotpromptBody(c)
	front := w.dotpromptFront(c)
	folder, base := path.Split(w.Name)
	if c.Kind == content.KindText && len(front.names) == 0 {
		base = "_" + base
	}
	var out yamlWriter
	out.WriteString("---\n" + yamlComment(w.header()))
	out.object(0, front)
	out.WriteString("---\n" + body)
	return File{Path: folder + base + dotpromptExtension, Text: out.String()}
}

func (w *writer) dotpromptFront(c content.Content) *node {
	names := map[string]string{}
	for theirs, ours := range configNames {
		names[ours] = theirs
	}
	root, config := objectNode().put("model", jsonNode(c.Config["model"])), objectNode()
	for _, name := range slices.Sorted(maps.Keys(c.Config)) {
		switch name {
		case "model", "tools", "response_format":
		default:
			config.put(firstText(names[name], name), jsonNode(c.Config[name]))
		}
	}
	if len(config.names) > 0 {
		root.put("config", config)
	}
	if schema := jsonNode(c.InputSchema); schema != nil {
		root.put("input", objectNode().put("schema", schema))
	}
	return root.put("output", w.dotpromptOutput(jsonNode(c.Config["response_format"]))).put("tools", w.dotpromptTools(jsonNode(c.Config["tools"])))
}

func (w *writer) dotpromptOutput(form *node) *node {
	switch form.at("type").string() {
	case "json_object":
		return objectNode().put("format", stringNode("json"))
	case "json_schema":
		of := form.at("json_schema")
		if of.at("name").string() != outputName || len(of.names) != 2 {
			w.lacks("response_format", "name, description and strict of the schema of answers have no place in the front matter.")
		}
		return objectNode().put("format", stringNode("json")).put("schema", of.at("schema"))
	}
	return nil
}

func (w *writer) dotpromptTools(tools *node) *node {
	var all []*node
	for _, one := range tools.elements() {
		function := one.at("function")
		if function.has("strict") {
			w.lacks("strict", "The front matter does not say whether arguments of tools are strict.")
		}
		all = append(all, objectNode().put("name", function.at("name")).put("description", function.at("description")).put("inputSchema", function.at("parameters")))
	}
	if all == nil {
		return nil
	}
	return listNode(all)
}

func (w *writer) dotpromptBody(c content.Content) string {
	if c.Kind == content.KindText {
		return w.handlebars(c.Text)
	}
	var b strings.Builder
	for _, m := range c.Messages {
		if m.Placeholder != "" {
			if m.Placeholder != historyName {
				w.lacks(m.Placeholder, "The placeholder became {{history}}, the only list of messages of dotprompt.")
			}
			b.WriteString("{{history}}\n")
			continue
		}
		w.dotpromptMessage(&b, m)
	}
	return b.String()
}

func (w *writer) dotpromptMessage(b *strings.Builder, m content.Message) {
	role := m.Role
	switch m.Role {
	case "assistant":
		role = "model"
	case "developer":
		role = "system"
		w.lacks("developer", "The role developer became system.")
	case "tool":
		w.lacks("tool", "Messages of tools have no place in dotprompt; the message is left out.")
		return
	}
	if m.Name != "" || len(m.ToolCalls) > 0 {
		w.lacks("name, tool_calls", "Names and tool calls of messages have no place in dotprompt.")
	}
	b.WriteString(`{{role "` + role + "\"}}\n")
	parts := m.Content.Parts
	if parts == nil {
		parts = []content.Part{{Type: content.PartText, Text: m.Content.Text}}
	}
	for _, part := range parts {
		if part.Type == content.PartImage {
			b.WriteString(w.dotpromptMedia(part.ImageURL) + "\n")
			continue
		}
		if strings.TrimSpace(part.Text) != part.Text {
			w.lacks("", "White space around a message is lost when the file is read.")
		}
		b.WriteString(w.handlebars(part.Text) + "\n")
	}
}

func (w *writer) dotpromptMedia(image *content.ImageURL) string {
	if image.Detail != "" {
		w.lacks("detail", "The detail of images has no place in dotprompt.")
	}
	all := tokens(image.URL)
	switch {
	case len(all) == 1 && all[0].Kind == template.TokenValue:
		return "{{media url=" + all[0].Text + "}}"
	case len(all) == 1 && all[0].Kind == template.TokenText && !strings.ContainsAny(all[0].Text, `"\`):
		return `{{media url="` + all[0].Text + `"}}`
	}
	w.lacks(image.URL, "The URL of an image is one variable or a text in dotprompt; the image is left out.")
	return ""
}

// errBackslash is the error for a text that Handlebars cannot write.
var errBackslash = errors.New("a backslash in front of two literal braces")

// handlebars writes a template of ours as Handlebars.
func (w *writer) handlebars(text string) string {
	depth := 0 // of each
	var within []template.TokenKind
	syntax := template.Syntax{
		Guard: "{{!}}",
		Lone:  func(t template.Token) bool { return t.Kind != template.TokenValue },
		Escape: func(text string, next template.Follower) (string, error) {
			if strings.Contains(text, `\{{`) {
				return "", errBackslash
			}
			text = strings.ReplaceAll(text, "{{", `\{{`)
			if next == template.FollowedByTag && strings.HasSuffix(text, `\`) {
				text += `\`
			}
			return text, nil
		},
		Tag: func(t template.Token, word string) string {
			switch t.Kind {
			case template.TokenIf, template.TokenEach:
				out := "{{#if " + fromElement(depth, t.Text) + "}}"
				if within = append(within, t.Kind); t.Kind == template.TokenEach {
					out = "{{#each " + fromElement(depth, t.Text) + "}}"
					depth++
				}
				return out
			case template.TokenElse:
				if last := len(within) - 1; within[last] == template.TokenEach {
					depth, within[last] = depth-1, template.TokenElse
				}
				return "{{else}}"
			case template.TokenEnd:
				last := len(within) - 1
				if within[last] == template.TokenEach {
					depth--
				}
				within = within[:last]
				return "{{/" + word + "}}"
			case template.TokenPartial:
				return w.handlebarsPartial(depth, t.Text)
			case template.TokenComment:
				return "{{!-- " + strings.ReplaceAll(t.Text, "--", "- -") + " --}}"
			}
			return "{{" + fromElement(depth, t.Text) + "}}"
		},
	}
	out, err := syntax.Print(tokens(text))
	if err != nil {
		w.lacks(`\{{`, "The template has %v, which Handlebars cannot write; the text is left out.", err)
	}
	return out
}

// fromElement writes a path for a place inside of each, where paths begin at the element.
func fromElement(depth int, path string) string {
	if depth == 0 || strings.HasPrefix(path, "@") || path == "this" || strings.HasPrefix(path, "this.") {
		return path
	}
	return "@root." + path
}

func (w *writer) handlebarsPartial(depth int, reference string) string {
	name, selector, selected := strings.Cut(reference, "@")
	if selected {
		w.lacks("@"+selector, "Partials have no versions and labels in dotprompt.")
	}
	if depth > 0 {
		return "{{> " + name + " @root}}"
	}
	return "{{> " + name + "}}"
}
