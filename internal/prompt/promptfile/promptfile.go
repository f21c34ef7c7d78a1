// Package promptfile reads and writes prompts in the formats of other programs: dotprompt, promptfoo, OpenAI's prompt objects and
// Langfuse's exports. It also has two formats of its own: the complete JSON export, and readable files for a directory in Git.
//
// It owns the formats and the translation of their templates into the grammar of package template, and back. It stores nothing and
// reads no files: callers give texts with their paths.
//
// Invariants:
//   - Nothing is dropped silently. A construct that cannot be translated is a [Problem] with its file and line.
//   - A translation means the same as its source. Where it does not in rare cases, a warning says so.
//   - Reading takes time and memory in proportion to the texts, within the constants below. No text makes it panic.
package promptfile

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"penstock"
	"penstock/internal/prompt/content"
)

// Bounds of an import.
const (
	MaxFiles         = 1000
	MaxFileBytes     = 8 << 20   // of one file
	MaxTextBytes     = 512 << 10 // of one YAML document or template
	MaxPathBytes     = 512
	MaxPrompts       = 1000
	MaxVersions      = 10_000  // of all prompts
	MaxProblems      = 100     // of one prompt, and of the files
	MaxSamples       = 5       // of one prompt
	maxYAMLTokens    = 8000    // of one document: the parser's time grows with the square of the width of a map
	maxImportTokens  = 200_000 // of all YAML documents
	maxJSONNodes     = 500_000
	maxNodeDepth     = 48
	maxMessageBytes  = 2048
	maxConstructText = 80
)

// Format is a form of prompts in files.
type Format string

// The formats.
const (
	JSON      Format = "json"      // complete: all versions, labels and ids
	Dotprompt Format = "dotprompt" // YAML front matter and Handlebars
	Promptfoo Format = "promptfoo" // YAML with Nunjucks
	OpenAI    Format = "openai"    // JSON of hosted prompts
	Langfuse  Format = "langfuse"  // JSON of its API and exports
	Directory Format = "directory" // one YAML file for each prompt, for Git
)

// Formats lists every format.
var Formats = []Format{JSON, Dotprompt, Promptfoo, OpenAI, Langfuse, Directory}

// HasLabels reports whether the files of a format say which version is in use.
func (f Format) HasLabels() bool { return f == JSON || f == Langfuse || f == Directory }

// File is a text with its path. The path names the file in problems, and the prompt in some formats.
type File struct {
	Path string
	Text string
}

// Severity is how bad a problem is.
type Severity string

// The severities.
const (
	SeverityError   Severity = "error"   // the prompt is not imported
	SeverityWarning Severity = "warning" // it is imported, with a difference that the message says
)

// Problem is a part of a file that cannot be carried over as it is.
type Problem struct {
	Path      string
	Line      int    // from 1, 0 for the whole file
	Construct string // as the file has it
	Message   string // what happened, and what to do
	Severity  Severity
}

// Unsupported is what happens with constructs that cannot be translated.
type Unsupported string

// The choices.
const (
	Refuse Unsupported = ""     // the prompt is not imported
	Keep   Unsupported = "keep" // they stay as literal text
)

// Options are how files are read.
type Options struct {
	Format      Format // "" to find out
	Prefix      string // in front of every name
	Unsupported Unsupported
}

// Prompt is a prompt with versions, as files have it.
type Prompt struct {
	Name     string
	Path     string    // of the file
	Versions []Version // in the order of their numbers
	Labels   map[string]int
	Aliases  []Alias
	Base     *int64 // the newest version that the registry must have, 0 for none; nil for any
	Archived bool
	Problems []Problem

	source string // its name in the file
}

// Version is a state of a prompt.
type Version struct {
	Number     int64  // in the file, 0 for none
	Written    string // the number as the file has it, "" for none
	Content    content.Content
	Message    string
	Parent     int64              // a number of the file, 0 for none
	References []content.Resolved // that the file fixes, with versions of the file; nil to resolve them
}

// Alias is an id under which other programs know the prompt, with the indexes of its versions by their numbers there.
type Alias struct {
	Alias    string
	Versions map[string]int
}

// Failed reports whether the prompt has a problem that keeps it from being imported.
func (p *Prompt) Failed() bool {
	return slices.ContainsFunc(p.Problems, func(one Problem) bool { return one.Severity == SeverityError })
}

// Set is what files contain.
type Set struct {
	Format   Format
	Prompts  []*Prompt
	Problems []Problem // of files, not of one prompt
}

// Read reads the prompts of files. The error says why the files cannot be read at all; problems of single files and prompts are in
// the set. Codes: invalid_request, too_large.
func Read(files []File, o Options) (*Set, error) {
	if len(files) == 0 || len(files) > MaxFiles {
		return nil, penstock.InvalidParam("files", "files must have 1 to %d files.", MaxFiles)
	}
	r := &reader{options: o, files: files, tokens: maxImportTokens, set: &Set{Format: o.Format}, names: map[string]*Prompt{}}
	for _, f := range files {
		if err := checkFile(f); err != nil {
			return nil, err
		}
	}
	if o.Format == "" {
		found, err := Detect(files)
		if err != nil {
			return nil, err
		}
		r.set.Format = found
	}
	if o.Prefix != "" && (r.set.Format == JSON || r.set.Format == Directory) {
		return nil, penstock.InvalidParam("prefix", "Names of the format %s stay as they are, because its templates include prompts by these names; leave prefix out.", r.set.Format)
	}
	read, known := map[Format]func(*reader, File){
		JSON: (*reader).readJSONExport, Dotprompt: (*reader).readDotprompt, Promptfoo: (*reader).readPromptfoo, OpenAI: (*reader).readOpenAI,
		Langfuse: (*reader).readLangfuse, Directory: (*reader).readDirectory,
	}[r.set.Format]
	if !known {
		return nil, penstock.InvalidParam("format", "format must be one of %s.", formatList())
	}
	for _, f := range files {
		r.file = f
		read(r, f)
	}
	for _, p := range r.set.Prompts {
		r.finish(p)
	}
	return r.set, nil
}

func formatList() string {
	words := make([]string, len(Formats))
	for i, f := range Formats {
		words[i] = string(f)
	}
	return strings.Join(words, ", ")
}

func checkFile(f File) error {
	switch {
	case f.Path == "" || len(f.Path) > MaxPathBytes || !utf8.ValidString(f.Path) || strings.ContainsRune(f.Path, 0):
		return penstock.InvalidParam("path", "Each file needs a path of 1 to %d bytes.", MaxPathBytes)
	case len(f.Text) > MaxFileBytes:
		return penstock.Errorf(penstock.CodeTooLarge, "The file %s has %d bytes; %d are the most.", clip(f.Path), len(f.Text), MaxFileBytes)
	case !utf8.ValidString(f.Text):
		return penstock.InvalidParam("files", "The file %s is not UTF-8 text.", clip(f.Path))
	}
	return nil
}

// Detect finds the format of files by their names and contents. Codes: invalid_request.
func Detect(files []File) (Format, error) {
	first := files[0]
	switch path.Ext(first.Path) {
	case ".prompt":
		return Dotprompt, nil
	case ".yaml", ".yml":
		root, _ := readYAML(first.Text, nil)
		if root.has("prompts") {
			return Promptfoo, nil
		}
		if root.has("kind") {
			return Directory, nil
		}
	default:
		if f := detectJSON(first.Text); f != "" {
			return f, nil
		}
		if strings.HasPrefix(strings.TrimLeft(first.Text, "\uFEFF \t\r\n"), "---") {
			return Dotprompt, nil
		}
	}
	return "", penstock.InvalidParam("format", "The format of %s is not known; name it: %s.", clip(first.Path), formatList())
}

func detectJSON(text string) Format {
	root, _ := readJSON(text)
	if root != nil && root.kind == kindList && len(root.list) > 0 {
		root = root.list[0]
	}
	if data := root.at("data"); data != nil && data.kind == kindList && len(data.list) > 0 {
		root = data.list[0]
	}
	object := root.at("object").string()
	switch {
	case root.has("prompts") && (object == exportObject || root.has("format")):
		return JSON
	case strings.HasPrefix(root.at("id").string(), openAIPrefix) || root.at("prompt").has("id") || root.has("instructions") || object == "response":
		return OpenAI
	case root.has("name") && root.has("prompt"):
		return Langfuse
	case root.has("prompts"):
		return Promptfoo
	}
	return ""
}

// reader collects what files contain.
type reader struct {
	options  Options
	files    []File
	set      *Set
	file     File // that is being read
	names    map[string]*Prompt
	versions int
	tokens   int // of YAML that are left
}

// fail reports a problem of the file.
func (r *reader) fail(line int, construct, format string, args ...any) {
	if len(r.set.Problems) < MaxProblems {
		r.set.Problems = append(r.set.Problems, Problem{Path: r.file.Path, Line: line, Construct: clipTo(construct, maxConstructText), Message: fmt.Sprintf(format, args...), Severity: SeverityError})
	}
}

// prompt finds or adds a prompt. It returns nil, with a problem of the file, for a name that no prompt can have.
func (r *reader) prompt(line int, name string) *Prompt {
	full := r.options.Prefix + name
	if err := content.CheckName(full); err != nil {
		r.fail(line, name, "%s", penstock.AsError(err).Message)
		return nil
	}
	if p := r.names[full]; p != nil {
		return p
	}
	if len(r.set.Prompts) == MaxPrompts {
		r.fail(line, name, "An import has at most %d prompts; import the others by themselves.", MaxPrompts)
		return nil
	}
	p := &Prompt{Name: full, Path: r.file.Path, Labels: map[string]int{}}
	r.names[full], r.set.Prompts = p, append(r.set.Prompts, p)
	return p
}

// report adds a problem to a prompt.
func (r *reader) report(p *Prompt, one Problem) {
	one.Path, one.Construct = r.file.Path, clipTo(one.Construct, maxConstructText)
	if one.Severity == "" {
		one.Severity = SeverityError
	}
	switch {
	case len(p.Problems) < MaxProblems:
		p.Problems = append(p.Problems, one)
	case one.Severity == SeverityError && !p.Failed():
		p.Problems[MaxProblems-1] = one
	}
}

// unsupported reports a construct that cannot be translated: an error, or a warning if such constructs are kept.
func (r *reader) unsupported(p *Prompt, line int, construct, message string) {
	one := Problem{Line: line, Construct: construct, Message: message}
	if r.options.Unsupported == Keep {
		one.Severity = SeverityWarning
		one.Message += " It stays as literal text."
	}
	r.report(p, one)
}

// add adds a version to a prompt.
func (r *reader) add(p *Prompt, line int, v Version) {
	if r.versions++; r.versions > MaxVersions {
		r.report(p, Problem{Line: line, Message: fmt.Sprintf("An import has at most %d versions.", MaxVersions)})
		return
	}
	if len(v.Message) > maxMessageBytes {
		v.Message = clipTo(v.Message, maxMessageBytes-len("…"))
	}
	p.Versions = append(p.Versions, v)
}

// finish checks a prompt after all files are read.
func (r *reader) finish(p *Prompt) {
	fail := func(format string, args ...any) {
		p.Problems = append(p.Problems, Problem{Path: p.Path, Message: fmt.Sprintf(format, args...), Severity: SeverityError})
	}
	if len(p.Versions) == 0 {
		if !p.Failed() {
			fail("The prompt has no content.")
		}
		return
	}
	p.sort()
	seen := map[int64]bool{}
	for _, v := range p.Versions {
		if v.Content.Kind != p.Versions[0].Content.Kind {
			fail("The versions are of different kinds; import them under different names.")
			return
		}
		if seen[v.Number] && v.Number > 0 {
			fail("There are two versions %d.", v.Number)
			return
		}
		seen[v.Number] = true
		if _, err := content.Parse(v.Content); err != nil && !p.Failed() {
			fail("%s", penstock.AsError(err).Message)
		}
	}
}

// sort orders the versions by their numbers, and keeps the indexes of labels and aliases right.
func (p *Prompt) sort() {
	order := make([]int, len(p.Versions))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		return int(min(max(p.Versions[x].Number-p.Versions[y].Number, -1), 1))
	})
	sorted, at := make([]Version, len(order)), make([]int, len(order))
	for to, from := range order {
		sorted[to], at[from] = p.Versions[from], to
	}
	p.Versions = sorted
	for label, i := range p.Labels {
		p.Labels[label] = at[i]
	}
	for _, a := range p.Aliases {
		for written, i := range a.Versions {
			a.Versions[written] = at[i]
		}
	}
}

func clip(text string) string { return clipTo(text, 64) }

// clipTo shortens a text before a problem quotes it.
func clipTo(text string, most int) string {
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
