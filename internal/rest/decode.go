package rest

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/config"
)

// Decode reads the body of one of Penstock's own endpoints strictly: unknown and repeated names, wrong types and bad
// UTF-8 are errors that name the field. Codes: invalid_request.
func Decode(text []byte, into any) error {
	if kind := jsontext.Value(text).Kind(); kind != '{' && kind != 0 {
		return penstock.Errorf(penstock.CodeInvalidRequest, "The body must be a JSON object, not %s.", kindName(kind))
	}
	err := json.Unmarshal(text, into, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		return SemanticError(e)
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		path := FieldPath(e.JSONPointer)
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return penstock.InvalidParam(path, "%s is given twice.", path)
		}
		where := ""
		if path != "" {
			where = " in " + path
		}
		return penstock.InvalidParam(path, "The body is not valid JSON at byte %d%s: %v.", e.ByteOffset, where, e.Err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return penstock.Errorf(penstock.CodeInvalidRequest, "The body ends in the middle of its JSON.")
	}
	return &penstock.Error{Code: penstock.CodeInvalidRequest, Message: "The body could not be decoded; send a JSON object.", Err: err}
}

// SemanticError makes the error for a field of a body whose value has the wrong type.
func SemanticError(e *json.SemanticError) error {
	path := FieldPath(e.JSONPointer)
	if errors.Is(e.Err, json.ErrUnknownName) {
		return unknownField(path, e.GoType)
	}
	switch {
	case e.GoType == reflect.TypeFor[time.Time]():
		return penstock.InvalidParam(path, "%s must be an RFC 3339 time such as 2026-11-15T06:00:00Z.", path)
	case e.GoType == reflect.TypeFor[Seconds]():
		return penstock.InvalidParam(path, "%s must be a duration such as \"60s\" or \"5m\".", path)
	case e.JSONKind != 0 && e.GoType != nil:
		return penstock.InvalidParam(path, "%s must be %s, not %s.", path, wantedForms(e.GoType), kindName(e.JSONKind))
	}
	return penstock.InvalidParam(path, "%s is not valid: %v.", path, e.Err)
}

// Hinter is a body that knows names which callers take for one of its fields, mostly from other APIs.
type Hinter interface {
	// Hints completes the error about an unknown field: a sentence that says what to send instead, "" for a name that it does
	// not know.
	Hints(name string) string
}

// unknownField names the field of the object that was probably meant, or else all its fields.
func unknownField(path string, object reflect.Type) error {
	known := fieldNames(object)
	if object != nil {
		if h, ok := reflect.Zero(object).Interface().(Hinter); ok {
			if hint := h.Hints(path[strings.LastIndexByte(path, '.')+1:]); hint != "" {
				return penstock.InvalidParam(path, "Unknown field %s; %s", path, hint)
			}
		}
	}
	if hint := config.Suggest(path[strings.LastIndexByte(path, '.')+1:], known); hint != "" {
		return penstock.InvalidParam(path, "Unknown field %s%s", path, hint)
	}
	return penstock.InvalidParam(path, "Unknown field %s; the fields are %s.", path, strings.Join(known, ", "))
}

// fieldNames are the names that a struct has in JSON, those of embedded structs included.
func fieldNames(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			names = append(names, fieldNames(f.Type)...)
		case name != "" && name != "-":
			names = append(names, name)
		}
	}
	return names
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "this number"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "this"
}

// wantedForms names all forms that a value may have.
func wantedForms(t reflect.Type) string {
	several, ok := reflect.Zero(t).Interface().(Forms)
	if !ok {
		return wanted(t.Kind())
	}
	var names []string
	for _, form := range several.Forms() {
		names = append(names, wanted(reflect.TypeOf(form).Kind()))
	}
	return strings.Join(names, " or ")
}

func wanted(kind reflect.Kind) string {
	switch kind {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "an array"
	default:
		return "an object"
	}
}

// FieldPath writes a JSON pointer as a path: inputs[3].body. A number is an index, except in tags, whose names may be
// numbers.
func FieldPath(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		if _, err := strconv.Atoi(token); err == nil && b.String() != "tags" {
			fmt.Fprintf(&b, "[%s]", token)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(Clip(token))
	}
	return b.String()
}

// Clip shortens a text of the caller before it is quoted in an error.
func Clip(s string) string {
	const most = 64
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// Seconds is a duration in JSON: "60s", "5m".
type Seconds time.Duration

// MarshalText writes a Go duration.
func (s Seconds) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

// UnmarshalText reads a Go duration.
func (s *Seconds) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return err
	}
	*s = Seconds(d)
	return nil
}
