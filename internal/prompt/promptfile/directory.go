package promptfile

import (
	"maps"
	"slices"
	"strings"

	"penstock/internal/prompt/content"
)

// directoryExtension is that of the files of a directory.
const directoryExtension = ".yaml"

// LabelsFile is the file of a directory with the labels of its prompts. It is optional.
const LabelsFile = "labels.yaml"

// FileName is the path of a prompt in a directory.
func FileName(name string) string { return name + directoryExtension }

// readDirectory reads a file of a directory: the content of a prompt whose name is the path.
func (r *reader) readDirectory(f File) {
	root, wrong := r.yaml(f.Text)
	if wrong != nil {
		r.fail(wrong.line, "", "%s.", wrong.message)
		return
	}
	if f.Path == LabelsFile {
		return // labels are moved by the command line, which compares them with the registry
	}
	p := r.prompt(1, nameOf(f.Path, directoryExtension))
	if p == nil {
		return
	}
	if len(p.Versions) > 0 {
		r.report(p, Problem{Message: "Two files have the name " + p.Name + "; remove one of them."})
		return
	}
	c, ok := r.contentOf(p, root)
	if ok {
		r.add(p, 1, Version{Content: c})
	}
}

// contentKeys are the members of a content.
var contentKeys = []string{"kind", "text", "messages", "config", "input_schema"}

// contentOf reads a content as the API has it. Every mistake is a problem.
func (r *reader) contentOf(p *Prompt, root *node, more ...string) (c content.Content, ok bool) {
	if !root.isObject() {
		r.report(p, Problem{Line: root.place(), Message: "A prompt is a map with kind, text or messages, config and input_schema."})
		return c, false
	}
	ok = true
	for _, name := range root.names {
		if !slices.Contains(contentKeys, name) && !slices.Contains(more, name) {
			r.report(p, Problem{Line: root.members[name].line, Construct: name, Message: "There is no such member; the members are " + strings.Join(contentKeys, ", ") + "."})
			ok = false
		}
	}
	c.Kind = content.Kind(root.at("kind").scalar())
	c.Text = root.at("text").string()
	if config := root.at("config"); config.isObject() {
		c.Config = content.Config{}
		for _, name := range config.names {
			c.Config[name] = config.members[name].raw()
		}
	} else if config != nil {
		r.report(p, Problem{Line: config.line, Construct: "config", Message: "config must be a map."})
		ok = false
	}
	if schema := root.at("input_schema"); schema != nil {
		c.InputSchema = schema.raw()
	}
	for _, one := range root.at("messages").elements() {
		var m content.Message
		if err := strictly(one.raw(), &m); err != nil {
			r.report(p, Problem{Line: one.line, Construct: "messages", Message: "This is not a message: it has role and content, or placeholder (" + err.Error() + ")."})
			ok = false
			continue
		}
		c.Messages = append(c.Messages, m)
	}
	return c, ok
}

// contentNode shows a content, with its members in a fixed order.
func contentNode(c content.Content) *node {
	root := objectNode().put("kind", stringNode(string(c.Kind)))
	if c.Kind == content.KindText {
		root.put("text", stringNode(c.Text))
	}
	var messages []*node
	for _, m := range c.Messages {
		messages = append(messages, jsonNode(jsonOf(m)))
	}
	if messages != nil {
		root.put("messages", listNode(messages))
	}
	return root.put("config", configNode(c.Config)).put("input_schema", jsonNode(c.InputSchema))
}

// configNode shows a config: the model first, then the others in order; nil for none.
func configNode(c content.Config) *node {
	if len(c) == 0 {
		return nil
	}
	root := objectNode().put("model", jsonNode(c["model"]))
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if name != "model" {
			root.put(name, jsonNode(c[name]))
		}
	}
	return root
}

// DirectoryFile writes the file of a prompt in a directory.
func DirectoryFile(name string, c content.Content) File {
	var w yamlWriter
	w.object(0, contentNode(c))
	return File{Path: FileName(name), Text: w.String()}
}

// LabelsText writes the labels of prompts, by name and label.
func LabelsText(labels map[string]map[string]int64) string {
	root := objectNode()
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if len(labels[name]) == 0 {
			continue
		}
		of := objectNode()
		for _, label := range slices.Sorted(maps.Keys(labels[name])) {
			of.put(label, numberNode(labels[name][label]))
		}
		root.put(name, of)
	}
	var w yamlWriter
	w.object(0, root)
	return w.String()
}
