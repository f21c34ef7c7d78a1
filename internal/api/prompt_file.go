package api

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/prompt/promptfile"
	"penstock/internal/rest"
)

// promptFiles answers the calls on files with prompts.
type promptFiles struct{ *call }

// maxImportBytes bounds the body of an import.
const maxImportBytes = 16 << 20

// promptImportOrder are files with prompts.
type promptImportOrder struct {
	Format        promptfile.Format     `json:"format,omitzero" about:"json, dotprompt, promptfoo, openai, langfuse or directory; found out by the files when not given."`
	Files         []promptFile          `json:"files" required:"true" about:"1 to 1,000 files."`
	Prefix        string                `json:"prefix,omitzero" about:"Text in front of every name, such as support/. Not with json and directory."`
	Labels        prompt.ExistingLabels `json:"labels,omitzero" about:"keep: labels that name another version stay. move: they move to the imported version. keep when not given."`
	AllowProblems bool                  `json:"allow_problems,omitzero" about:"Import prompts with constructs that cannot be translated. The constructs stay as literal text."`
	DryRun        bool                  `json:"dry_run,omitzero" about:"Report what would happen, and change nothing."`
	// An export can be imported as it is.
	Object   string           `json:"object,omitzero" about:"Ignored: an export can be sent as it is."`
	Problems []jsontext.Value `json:"problems,omitzero" about:"Ignored: an export can be sent as it is."`
}

type promptFile struct {
	Path string `json:"path" required:"true" about:"The name of the file. In some formats it is the name of the prompt. The server reads no files."`
	Text string `json:"text" required:"true"`
}

// promptExportedFileView is a file of an export.
type promptExportedFileView struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// promptProblemView is a part of a file that was not carried over as it is.
type promptProblemView struct {
	Path      string              `json:"path"`
	Line      *int64              `json:"line" about:"null for the whole file."`
	Construct string              `json:"construct" about:"As the file has it; it may be empty."`
	Message   string              `json:"message"`
	Severity  promptfile.Severity `json:"severity" about:"error: the prompt is not imported. warning: it is imported, with a difference that the message says."`
}

// promptImportView is the result of an import.
type promptImportView struct {
	Object   string                   `json:"object"`
	Format   promptfile.Format        `json:"format"`
	DryRun   bool                     `json:"dry_run"`
	Prompts  []promptImportResultView `json:"prompts"`
	Problems []promptProblemView      `json:"problems" about:"Problems of files, not of one prompt."`
}

type promptImportResultView struct {
	Name     string                    `json:"name"`
	State    prompt.ImportState        `json:"state" about:"created, updated, unchanged or failed."`
	Versions []promptImportVersionView `json:"versions"`
	Labels   []string                  `json:"labels" about:"The labels that were moved."`
	IDs      []string                  `json:"ids" about:"The ids of other registries under which the prompt is now known."`
	Problems []promptProblemView       `json:"problems"`
}

type promptImportVersionView struct {
	Written *string `json:"written" about:"The version in the file; null if the file has no versions."`
	Version int64   `json:"version"`
	Created bool    `json:"created" about:"false if a version had the same content already."`
}

func newPromptProblemViews(all []promptfile.Problem) []promptProblemView {
	out := []promptProblemView{}
	for _, p := range all {
		out = append(out, promptProblemView{Path: p.Path, Line: number(int64(p.Line)), Construct: p.Construct, Message: p.Message, Severity: p.Severity})
	}
	return out
}

func newPromptImportView(r *prompt.ImportReport) promptImportView {
	out := promptImportView{Object: "prompt.import", Format: r.Format, Prompts: []promptImportResultView{}, Problems: newPromptProblemViews(r.Problems)}
	for _, p := range r.Prompts {
		one := promptImportResultView{Name: p.Name, State: p.State, Versions: []promptImportVersionView{}, Labels: []string{}, IDs: append([]string{}, p.Aliases...), Problems: newPromptProblemViews(p.Problems)}
		for _, v := range p.Versions {
			one.Versions = append(one.Versions, promptImportVersionView{Written: text(v.Written), Version: v.N, Created: v.Created})
		}
		for _, l := range p.Labels {
			one.Labels = append(one.Labels, l.Label)
		}
		out.Prompts = append(out.Prompts, one)
	}
	return out
}

// importFiles answers POST /v1/prompts/import.
func (c promptFiles) importFiles() error {
	o, err := c.importOrder()
	if err != nil {
		return err
	}
	if o.Existing == "" {
		o.Existing = prompt.KeepLabels
	}
	if o.Existing != prompt.KeepLabels && o.Existing != prompt.MoveLabels {
		return penstock.InvalidParam("labels", "labels must be keep or move.")
	}
	report, err := c.Prompts.Import(c.R.Context(), c.Principal, o)
	if err != nil {
		return err
	}
	out := newPromptImportView(report)
	out.DryRun = o.Trial
	return c.JSON(http.StatusOK, out)
}

// importOrder reads files in an object, or one file as it is.
func (c promptFiles) importOrder() (o prompt.ImportOrder, err error) {
	raw, err := c.readText(maxImportBytes)
	if err != nil {
		return o, err
	}
	if !isEnvelope(raw) {
		return c.rawImport(string(raw))
	}
	var in promptImportOrder
	if err := rest.Decode(raw, &in); err != nil {
		return o, err
	}
	o.Options = promptfile.Options{Format: in.Format, Prefix: in.Prefix, Unsupported: unsupported(in.AllowProblems)}
	o.Existing, o.Trial = in.Labels, in.DryRun
	for _, f := range in.Files {
		o.Files = append(o.Files, promptfile.File(f))
	}
	return o, nil
}

func unsupported[B ~bool](allowed B) promptfile.Unsupported {
	if allowed {
		return promptfile.Keep
	}
	return promptfile.Refuse
}

// isEnvelope reports whether a body is an object with the member files.
func isEnvelope(raw []byte) bool {
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true))
	if begin, err := dec.ReadToken(); err != nil || begin.Kind() != '{' {
		return false
	}
	for {
		name, err := dec.ReadToken()
		if err != nil || name.Kind() != '"' {
			return false
		}
		if name.String() == "files" {
			return true
		}
		if err := dec.SkipValue(); err != nil {
			return false
		}
	}
}

// rawImport is an import of one file, with its settings in the query.
func (c promptFiles) rawImport(text string) (o prompt.ImportOrder, err error) {
	q := c.R.URL.Query()
	allowed, err := c.QueryBool("allow_problems")
	if err != nil {
		return o, err
	}
	if o.Trial, err = c.QueryBool("dry_run"); err != nil {
		return o, err
	}
	path := q.Get("path")
	if path == "" {
		path = "import"
	}
	o.Files = []promptfile.File{{Path: path, Text: text}}
	o.Options = promptfile.Options{Format: promptfile.Format(q.Get("format")), Prefix: q.Get("prefix"), Unsupported: unsupported(allowed)}
	o.Existing = prompt.ExistingLabels(q.Get("labels"))
	return o, nil
}

// promptExportView is an export.
type promptExportView struct {
	Object   string                   `json:"object"`
	Format   promptfile.Format        `json:"format"`
	Files    []promptExportedFileView `json:"files,omitzero" about:"Of every format but json: one file for each prompt."`
	Prompts  []promptStoredView       `json:"prompts,omitzero" about:"Of the format json."`
	Problems []promptProblemView      `json:"problems" about:"Parts of prompts that the format cannot express."`
}

// promptStoredView is a prompt in an export of the format json.
type promptStoredView struct {
	Name     string           `json:"name"`
	ID       string           `json:"id"`
	Kind     string           `json:"kind"`
	Archived bool             `json:"archived,omitzero"`
	Labels   map[string]int64 `json:"labels"`
	Aliases  []jsontext.Value `json:"aliases" about:"Ids of other registries, each with the versions that their numbers mean."`
	Versions []jsontext.Value `json:"versions" about:"Oldest first, each with its content and the versions that it includes."`
}

// exportFiles answers GET /v1/prompts/export. The answer is written prompt by prompt.
func (c promptFiles) exportFiles() error {
	q := c.R.URL.Query()
	o := prompt.ExportOrder{Format: promptfile.Format(q.Get("format")), Prefix: q.Get("prefix"), Versions: q.Get("versions")}
	if o.Format == "" {
		o.Format = promptfile.JSON
	}
	w := &exportWriter{call: c.call, format: o.Format}
	err := c.Prompts.Export(c.R.Context(), c.Principal.Tenant.ID, o, w.write)
	if err == nil {
		err = w.end()
	}
	if err != nil && w.begun {
		panic(http.ErrAbortHandler) // the only way to show a caller that the export is incomplete
	}
	return err
}

// exportWriter writes an export as it is read.
type exportWriter struct {
	*call
	format   promptfile.Format
	begun    bool
	problems []promptfile.Problem
}

func (w *exportWriter) write(one promptfile.Written) error {
	if len(w.problems) < promptfile.MaxFiles {
		w.problems = append(w.problems, one.Problems...)
	}
	text := []byte(one.File.Text)
	if w.format != promptfile.JSON {
		var err error
		if text, err = json.Marshal(promptExportedFileView(one.File)); err != nil {
			return err
		}
	}
	before := ",\n"
	if !w.begun {
		before = w.begin()
	}
	_, err := w.W.Write(append([]byte(before), text...))
	return err
}

// begin writes the beginning of the answer.
func (w *exportWriter) begin() string {
	w.begun = true
	w.W.Header().Set("Content-Type", "application/json")
	w.W.WriteHeader(http.StatusOK)
	list := "files"
	if w.format == promptfile.JSON {
		list = "prompts"
	}
	return `{"object":"prompt.export","format":` + strconv.Quote(string(w.format)) + `,"` + list + "\":[\n"
}

func (w *exportWriter) end() error {
	before := ""
	if !w.begun {
		before = strings.TrimSuffix(w.begin(), "\n")
	}
	problems, err := json.Marshal(newPromptProblemViews(w.problems))
	if err != nil {
		return err
	}
	_, err = w.W.Write([]byte(before + `],"problems":` + string(problems) + "}\n"))
	return err
}
