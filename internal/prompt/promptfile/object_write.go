package promptfile

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"penstock/internal/prompt/content"
	"penstock/internal/prompt/template"
)

// openAI writes the versions of a prompt as a list of OpenAI's prompt objects.
func (w *writer) openAI() File {
	var all []*node
	for _, v := range w.Versions {
		if v.Deleted {
			continue
		}
		w.version = v
		one := objectNode().put("id", stringNode(w.ID)).put("version", stringNode(strconv.FormatInt(v.N, 10))).put("name", stringNode(w.Name)).putText("description", v.Message)
		if w.Labels[content.LabelDefault] == v.N {
			one.put("is_default", &node{kind: kindBool, text: "true"})
		}
		all = append(all, w.openAIObject(one, v.Content))
	}
	return File{Path: w.Name + ".json", Text: string(listNode(all).raw()) + "\n"}
}

func (w *writer) openAIObject(one *node, c content.Content) *node {
	var messages []*node
	if c.Kind == content.KindText {
		w.lacks("text", "A prompt of kind text became a message of the user.")
		messages = []*node{openAIMessage("user", []*node{objectNode().put("type", stringNode("input_text")).put("text", stringNode(w.mustaches(c.Text)))})}
	}
	for _, m := range c.Messages {
		if m.Placeholder != "" || m.Role == "tool" || len(m.ToolCalls) > 0 || m.Name != "" {
			w.lacks(firstText(m.Placeholder, m.Role), "Placeholders, names, tool calls and messages of tools have no place in OpenAI's prompts; the message is left out.")
			continue
		}
		messages = append(messages, openAIMessage(m.Role, w.openAIPartList(m)))
	}
	one.put("messages", listNode(messages))
	names := map[string]string{}
	for theirs, ours := range openAIConfig {
		names[ours] = theirs
	}
	text := objectNode()
	for _, name := range slices.Sorted(maps.Keys(c.Config)) {
		value := jsonNode(c.Config[name])
		switch {
		case name == "response_format":
			text.put("format", responseFormat(value))
		case name == "verbosity":
			text.put("verbosity", value)
		case name == "reasoning_effort":
			one.put("reasoning", objectNode().put("effort", value))
		case name == "tools":
			one.put("tools", responseTools(value))
		case name == "max_tokens":
			one.put("max_output_tokens", value)
		case names[name] != "":
			one.put(names[name], value)
		default:
			w.lacks("config."+name, "This member has no place in OpenAI's prompts.")
		}
	}
	if c.InputSchema != nil {
		w.lacks("input_schema", "OpenAI's prompts have no schema of the variables.")
	}
	if len(text.names) > 0 {
		one.put("text", text)
	}
	return one
}

func openAIMessage(role string, parts []*node) *node {
	return objectNode().put("type", stringNode("message")).put("role", stringNode(role)).put("content", listNode(parts))
}

func (w *writer) openAIPartList(m content.Message) []*node {
	kind := "input_text"
	if m.Role == "assistant" {
		kind = "output_text"
	}
	parts := m.Content.Parts
	if parts == nil {
		parts = []content.Part{{Type: content.PartText, Text: m.Content.Text}}
	}
	var all []*node
	for _, part := range parts {
		if part.Type == content.PartImage {
			all = append(all, objectNode().put("type", stringNode("input_image")).put("image_url", stringNode(w.mustaches(part.ImageURL.URL))).putText("detail", part.ImageURL.Detail))
		} else {
			all = append(all, objectNode().put("type", stringNode(kind)).put("text", stringNode(w.mustaches(part.Text))))
		}
	}
	return all
}

// responseFormat writes the form of the answer as a response has it.
func responseFormat(value *node) *node {
	out := objectNode().put("type", value.at("type"))
	if schema := value.at("json_schema"); schema.isObject() {
		for _, name := range schema.names {
			out.put(name, schema.members[name])
		}
	}
	return out
}

// responseTools writes functions as a response has them.
func responseTools(tools *node) *node {
	var all []*node
	for _, tool := range tools.elements() {
		out := objectNode().put("type", tool.at("type"))
		if function := tool.at("function"); function.isObject() {
			for _, name := range function.names {
				out.put(name, function.members[name])
			}
		}
		all = append(all, out)
	}
	return listNode(all)
}

// mustaches writes a template whose only tags are values of variables.
func (w *writer) mustaches(text string) string { return w.plainTags(text, nil) }

// plainTags writes a template with tags for values, and for partials if there is a form of them.
func (w *writer) plainTags(text string, partial func(reference string) string) string {
	var b strings.Builder
	for _, t := range tokens(text) {
		switch {
		case t.Kind == template.TokenText:
			if strings.Contains(t.Text, "{{") {
				w.lacks("{{", "Literal braces are written as they are, and read as a tag if }} follows.")
			}
			b.WriteString(t.Text)
		case t.Kind == template.TokenValue && template.ValidName(t.Text):
			b.WriteString("{{" + t.Text + "}}")
		case t.Kind == template.TokenPartial && partial != nil:
			b.WriteString(partial(t.Text))
		default:
			source, err := template.Print([]template.Token{t})
			if err != nil {
				source = map[template.TokenKind]string{template.TokenIf: "{{#if " + t.Text + "}}", template.TokenEach: "{{#each " + t.Text + "}}", template.TokenElse: "{{else}}", template.TokenEnd: "{{/…}}"}[t.Kind]
			}
			w.lacks(source, "This format has variables only; the tag is left out, and the text inside of sections stays.")
		}
	}
	return b.String()
}

// langfuse writes the versions of a prompt as a list of Langfuse's prompt objects.
func (w *writer) langfuse() File {
	var all []*node
	for _, v := range w.Versions {
		if v.Deleted {
			continue
		}
		w.version = v
		one := objectNode().put("name", stringNode(w.Name)).put("version", numberNode(v.N)).put("type", stringNode(string(w.Kind))).put("prompt", w.langfuseBody(v))
		config := configNode(v.Content.Config)
		if config == nil {
			config = objectNode()
		}
		if v.Content.InputSchema != nil {
			w.lacks("input_schema", "Langfuse's prompts have no schema of the variables.")
		}
		var labels []*node
		for _, label := range slices.Sorted(maps.Keys(w.Labels)) {
			if w.Labels[label] == v.N {
				labels = append(labels, stringNode(label))
			}
		}
		all = append(all, one.put("config", config).put("labels", listNode(labels)).put("tags", listNode(nil)).putText("commitMessage", v.Message))
	}
	return File{Path: w.Name + ".json", Text: string(listNode(all).raw()) + "\n"}
}

func (w *writer) langfuseBody(v StoredVersion) *node {
	partial := func(reference string) string {
		for _, r := range v.References {
			if r.Written == reference {
				return referenceOpen + "name=" + r.Name + "|version=" + strconv.FormatInt(r.Version, 10) + referenceEnd
			}
		}
		return ""
	}
	if v.Content.Kind == content.KindText {
		return stringNode(w.plainTags(v.Content.Text, partial))
	}
	var all []*node
	for _, m := range v.Content.Messages {
		if m.Placeholder != "" {
			all = append(all, objectNode().put("type", stringNode("placeholder")).put("name", stringNode(m.Placeholder)))
			continue
		}
		if m.Content.Parts != nil || m.Name != "" || len(m.ToolCalls) > 0 || m.ToolCallID != "" {
			w.lacks("messages", "Images, names and tool calls of messages have no place in Langfuse's prompts.")
		}
		text := m.Content.Text
		for _, part := range m.Content.Parts {
			text += part.Text
		}
		all = append(all, objectNode().put("role", stringNode(m.Role)).put("content", stringNode(w.plainTags(text, partial))))
	}
	return listNode(all)
}
