package promptfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/prompt/content"
	"penstock/internal/prompt/template"
)

// Stored is a prompt of the registry with the versions that are exported, oldest first.
type Stored struct {
	ID       string
	Name     string
	Kind     content.Kind
	Archived bool
	Labels   map[string]int64
	Aliases  []StoredAlias
	Versions []StoredVersion
}

// StoredAlias is an id of another registry with the versions that its numbers mean.
type StoredAlias struct {
	ID       string
	Versions map[string]int64
}

// StoredVersion is a version of the registry. A deleted version has no content.
type StoredVersion struct {
	N          int64
	SHA256     string
	Parent     int64
	Author     string
	Message    string
	CreatedAt  time.Time
	Deleted    bool
	Content    content.Content
	References []content.Resolved
}

// AllVersions reports whether the files of a format have all versions of a prompt, and not only one.
func (f Format) AllVersions() bool { return f == JSON || f == Langfuse || f == OpenAI }

// Written is a prompt in a format: a file, or for the format json an object.
type Written struct {
	File     File
	Problems []Problem // parts that the format cannot express
}

// Write writes a prompt in a format. Codes: invalid_request.
func Write(f Format, p Stored) (Written, error) {
	write, known := map[Format]func(*writer) File{
		JSON: (*writer).json, Dotprompt: (*writer).dotprompt, Promptfoo: (*writer).promptfoo, OpenAI: (*writer).openAI, Langfuse: (*writer).langfuse, Directory: (*writer).directory,
	}[f]
	if !known {
		return Written{}, penstock.InvalidParam("format", "format must be one of %s.", formatList())
	}
	w := &writer{Stored: p}
	file := write(w)
	return Written{File: file, Problems: w.problems}, nil
}

// writer writes one prompt.
type writer struct {
	Stored
	version  StoredVersion // that is being written
	problems []Problem
}

// lacks reports a part that the format cannot express.
func (w *writer) lacks(construct, format string, args ...any) {
	one := Problem{Path: w.Name, Construct: clipTo(construct, maxConstructText), Message: fmt.Sprintf(format, args...), Severity: SeverityWarning}
	if w.version.N > 0 {
		one.Message = fmt.Sprintf("Version %d: %s", w.version.N, one.Message)
	}
	if len(w.problems) < MaxProblems && !slices.Contains(w.problems, one) {
		w.problems = append(w.problems, one)
	}
}

// header are the problems as lines of comments.
func (w *writer) header() []string {
	lines := []string{fmt.Sprintf("%s, version %d", w.Name, w.version.N)}
	for _, one := range w.problems {
		lines = append(lines, strings.TrimSpace("Not expressed: "+one.Construct+" ")+": "+one.Message)
	}
	return lines
}

// newest is the newest version with content.
func (w *writer) newest() StoredVersion {
	for _, v := range slices.Backward(w.Versions) {
		if !v.Deleted {
			return v
		}
	}
	return StoredVersion{}
}

// tokens parses a template of the registry, which was checked when it was saved.
func tokens(text string) []template.Token {
	all, err := template.Tokens(text)
	if err != nil {
		return []template.Token{{Text: text}}
	}
	return all
}

// json writes a prompt as the complete export has it.
func (w *writer) json() File {
	root := objectNode().put("name", stringNode(w.Name)).put("id", stringNode(w.ID)).put("kind", stringNode(string(w.Kind)))
	if w.Archived {
		root.put("archived", &node{kind: kindBool, text: "true"})
	}
	labels := objectNode()
	for _, label := range slices.Sorted(maps.Keys(w.Labels)) {
		labels.put(label, numberNode(w.Labels[label]))
	}
	root.put("labels", labels)
	var aliases []*node
	for _, a := range w.Aliases {
		versions := objectNode()
		for _, written := range slices.Sorted(maps.Keys(a.Versions)) {
			versions.put(written, numberNode(a.Versions[written]))
		}
		aliases = append(aliases, objectNode().put("id", stringNode(a.ID)).put("versions", versions))
	}
	root.put("aliases", listNode(aliases))
	var versions []*node
	for _, v := range w.Versions {
		versions = append(versions, versionNode(v))
	}
	root.put("versions", listNode(versions))
	return File{Path: w.Name + ".json", Text: string(root.raw())}
}

func versionNode(v StoredVersion) *node {
	n := objectNode().put("version", numberNode(v.N)).put("sha256", stringNode(v.SHA256))
	if v.Parent > 0 {
		n.put("parent", numberNode(v.Parent))
	}
	n.putText("author", v.Author).putText("message", v.Message).put("created_at", stringNode(v.CreatedAt.UTC().Format(time.RFC3339Nano)))
	if v.Deleted {
		return n.put("deleted", &node{kind: kindBool, text: "true"})
	}
	c := contentNode(v.Content)
	for _, name := range c.names {
		n.put(name, c.members[name])
	}
	var references []*node
	for _, r := range v.References {
		references = append(references, objectNode().put("written", stringNode(r.Written)).put("name", stringNode(r.Name)).put("version", numberNode(r.Version)))
	}
	return n.put("references", listNode(references))
}

func (w *writer) directory() File {
	w.version = w.newest()
	return DirectoryFile(w.Name, w.version.Content)
}
