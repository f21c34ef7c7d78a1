package file

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect/attach"
	"penstock/internal/store"
)

// The codes of invalid lines.
const (
	CodeEmptyLine         = "empty_line"
	CodeLineTooLong       = "line_too_long"
	CodeInvalidJSON       = "invalid_json_line"
	CodeNotAnObject       = "not_an_object"
	CodeUnknownField      = "unknown_field"
	CodeMissingCustomID   = "missing_custom_id"
	CodeInvalidCustomID   = "invalid_custom_id"
	CodeDuplicateCustomID = "duplicate_custom_id"
	CodeInvalidMethod     = "invalid_method"
	CodeInvalidURL        = "invalid_url"
	CodeMissingBody       = "missing_body"
	CodeInvalidBody       = "invalid_body"
	CodeAmbiguousField    = "ambiguous_field"
	CodeTooManyFiles      = "too_many_files"
	CodeInvalidPrompt     = "invalid_prompt"
	CodeTooManyPrompts    = "too_many_prompts"
	CodeInvalidVariables  = "invalid_variables"
)

// MaxCustomIDBytes bounds a custom id, and MaxReferences the files that the lines of one file name.
const MaxCustomIDBytes, MaxReferences = 512, 100_000

// Line is a request of a batch file.
type Line struct {
	Index    int // from 0
	CustomID string
	Endpoint penstock.Endpoint // "" in the native shape, which does not name it
	Body     []byte            // as it was written
	// Variables are those of a prompt that the body or the job names, as they were written; nil for none. Only the native shape has them.
	Variables []byte
}

// lineShape is the shape of a line. What its body has to be like depends on the endpoint, and is found out when it is read.
var lineShape = body.NewShape(body.Names("custom_id", "method", "url", "body", "variables")...)

// parseLine reads one line in either shape: {custom_id, body, variables}, of which either body or variables may be missing, or OpenAI's
// {custom_id, method, url, body}. In the second shape unknown members are passed over, as they are elsewhere.
func parseLine(text []byte) (Line, *store.LineError) {
	o, err := body.ScanAs(text, lineShape)
	doubt, ambiguous := errors.AsType[*body.Ambiguity](err)
	switch {
	case ambiguous:
		return Line{}, wrong(CodeAmbiguousField, clip(doubt.Name), "%v.", doubt)
	case errors.Is(err, body.ErrNotObject):
		return Line{}, wrong(CodeNotAnObject, "", "The line is not a JSON object.")
	case err != nil:
		return Line{}, wrong(CodeInvalidJSON, "", "The line %v.", err)
	}
	var line Line
	openAI := o.Raw("method") != nil || o.Raw("url") != nil
	checks := []func(*Line, body.Object) *store.LineError{readCustomID, readDestination, readVariables, readBody}
	for _, check := range checks {
		if bad := check(&line, o); bad != nil {
			return Line{}, bad
		}
	}
	for _, m := range o.Members {
		if !openAI && m.Name != "custom_id" && m.Name != "body" && m.Name != "variables" {
			return Line{}, wrong(CodeUnknownField, clip(m.Name), "Unknown field %q; a line has custom_id, body and variables, and in OpenAI's format custom_id, method, url and body.", clip(m.Name))
		}
	}
	return line, nil
}

func readCustomID(line *Line, o body.Object) *store.LineError {
	id, err := o.String("custom_id")
	switch {
	case err != nil:
		return wrong(CodeInvalidCustomID, "custom_id", "custom_id must be a string.")
	case id == "":
		return wrong(CodeMissingCustomID, "custom_id", "custom_id is missing: each line needs one, because results are matched to lines by it.")
	case len(id) > MaxCustomIDBytes:
		return wrong(CodeInvalidCustomID, "custom_id", "custom_id has %d bytes; at most %d are allowed.", len(id), MaxCustomIDBytes)
	}
	line.CustomID = id
	return nil
}

func readDestination(line *Line, o body.Object) *store.LineError {
	method, url := o.Raw("method"), o.Raw("url")
	if method == nil && url == nil {
		return nil
	}
	if string(method) != `"POST"` {
		return wrong(CodeInvalidMethod, "method", `method must be "POST".`)
	}
	path, err := o.String("url")
	if line.Endpoint = penstock.Endpoint(path); err != nil || !line.Endpoint.Valid() {
		return wrong(CodeInvalidURL, "url", "url must be one of %s.", endpointNames())
	}
	return nil
}

func endpointNames() string {
	names := make([]string, len(penstock.Endpoints))
	for i, e := range penstock.Endpoints {
		names[i] = string(e)
	}
	return strings.Join(names, ", ")
}

func readBody(line *Line, o body.Object) *store.LineError {
	raw := o.Raw("body")
	switch {
	case (raw == nil || string(raw) == "null") && line.Variables != nil:
		return nil // all of the request is the prompt's
	case raw == nil || string(raw) == "null":
		return wrong(CodeMissingBody, "body", "body is missing; it must be the request as a JSON object.")
	case raw[0] != '{':
		return wrong(CodeInvalidBody, "body", "body must be a JSON object.")
	}
	line.Body = raw
	return nil
}

func wrong(code, param, format string, args ...any) *store.LineError {
	return &store.LineError{Code: code, Param: param, Message: fmt.Sprintf(format, args...)}
}

// clip shortens what a caller wrote before it is quoted.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// lineCheck checks the lines of a batch file as they pass.
type lineCheck struct {
	limits   Limits
	lines    int // that have ended, blank ones included
	items    int // up to the last line that is not blank
	tokens   int64
	endpoint penstock.Endpoint // of the first line that names one

	errors     []store.LineError // the first MaxLineErrors
	errorCount int
	suspects   []suspect // lines whose custom id may be another's
	seen       hashSet
	blank      int                      // blank lines since the last that was not
	references map[penstock.ID]struct{} // the files that bodies name
	prompts    promptNames              // the prompts that bodies name
	partial    []byte
	tooLong    bool // the line at hand is longer than allowed
}

func newLineCheck(l Limits) *lineCheck { return &lineCheck{limits: l, seen: newHashSet()} }

// line implements lineSink.
func (c *lineCheck) line(part []byte, ends lineEnd) error {
	c.tooLong = c.tooLong || int64(len(c.partial)+len(part)) > c.limits.MaxLineBytes+2 // what ends it is not counted
	if !ends || len(c.partial) > 0 {
		if !c.tooLong {
			c.partial = append(c.partial, part...)
		}
		part = c.partial
	}
	if !ends {
		return nil
	}
	if c.lines++; c.lines > MaxLines {
		return penstock.Errorf(penstock.CodeTooLarge, "The file has more than %d lines, the maximum; split it.", MaxLines)
	}
	c.whole(part)
	c.partial, c.tooLong = c.partial[:0], false
	if cap(c.partial) > ChunkBytes {
		c.partial = nil // one huge line must not pin its memory
	}
	return nil
}

// whole checks one line.
func (c *lineCheck) whole(text []byte) {
	text = bytes.TrimRight(text, "\r\n")
	if c.lines == 1 {
		text = bytes.TrimPrefix(text, byteOrderMark)
	}
	if !c.tooLong && len(bytes.TrimLeft(text, " \t\r")) == 0 {
		c.blank++ // blank lines at the end are none
		return
	}
	for ; c.blank > 0; c.blank-- {
		c.add(c.lines-c.blank, wrong(CodeEmptyLine, "", "The line is empty; remove it."))
	}
	c.items = c.lines
	switch {
	case c.tooLong:
		c.add(c.lines, wrong(CodeLineTooLong, "", "The line is longer than %d bytes, the maximum.", c.limits.MaxLineBytes))
		return
	case body.Depth(text) > c.limits.MaxJSONDepth+1: // the line itself is one level
		c.add(c.lines, wrong(CodeInvalidJSON, "", "The line nests more than %d levels deep.", c.limits.MaxJSONDepth))
		return
	}
	line, bad := parseLine(text)
	if bad == nil && line.Endpoint != "" {
		if c.endpoint == "" {
			c.endpoint = line.Endpoint
		}
		if line.Endpoint != c.endpoint {
			bad = wrong(CodeInvalidURL, "url", "url differs from %s, the url of earlier lines; all lines of a file must have the same url.", c.endpoint)
		}
	}
	if bad != nil {
		c.add(c.lines, bad)
		return
	}
	for _, r := range attach.Find(line.Body) {
		if !c.refer(r.File) {
			c.add(c.lines, wrong(CodeTooManyFiles, "body."+r.Path, "The lines of this file name more than %d other files; split it.", MaxReferences))
			return
		}
	}
	if bad := c.prompts.note(line.Body); bad != nil {
		c.add(c.lines, bad)
		return
	}
	c.tokens += int64(len(line.Body) + len(line.Variables))
	if !c.seen.add(line.CustomID) && len(c.suspects) < MaxLineErrors {
		c.suspects = append(c.suspects, suspect{line: c.lines, id: line.CustomID})
	}
}

// refer notes that a body names a file, unless too many are named.
func (c *lineCheck) refer(id penstock.ID) bool {
	if c.references == nil {
		c.references = map[penstock.ID]struct{}{}
	}
	if _, known := c.references[id]; !known && len(c.references) == MaxReferences {
		return false
	}
	c.references[id] = struct{}{}
	return true
}

func (c *lineCheck) add(line int, bad *store.LineError) {
	c.errorCount++
	if len(c.errors) < MaxLineErrors {
		bad.Line = line
		c.errors = append(c.errors, *bad)
	}
}

// report returns the first errors by line, and how many there are. Of lines that share a custom id only the
// first MaxLineErrors are counted.
func (c *lineCheck) report() ([]store.LineError, int) {
	slices.SortStableFunc(c.errors, func(a, b store.LineError) int { return a.Line - b.Line })
	return c.errors[:min(len(c.errors), MaxLineErrors)], c.errorCount
}
