package api

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
)

// decode reads an envelope of ours strictly: unknown and repeated names, wrong types and bad UTF-8
// are errors that name the field. Codes: invalid_request.
func decode(text []byte, into any) error {
	if kind := jsontext.Value(text).Kind(); kind != '{' && kind != 0 {
		return penstock.Errorf(penstock.CodeInvalidRequest, "The body must be a JSON object, not %s.", kindName(kind))
	}
	err := json.Unmarshal(text, into, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		return semanticError(e)
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		path := fieldPath(e.JSONPointer)
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
	return &penstock.Error{Code: penstock.CodeInvalidRequest, Message: "The body could not be understood.", Err: err}
}

func semanticError(e *json.SemanticError) error {
	path := fieldPath(e.JSONPointer)
	if errors.Is(e.Err, json.ErrUnknownName) {
		return penstock.InvalidParam(path, "%s is not a field that is known here.", path)
	}
	switch {
	case e.GoType == reflect.TypeFor[time.Time]():
		return penstock.InvalidParam(path, "%s must be an RFC 3339 time such as 2026-11-15T06:00:00Z.", path)
	case e.GoType == reflect.TypeFor[seconds]():
		return penstock.InvalidParam(path, "%s must be a duration such as \"60s\" or \"5m\".", path)
	case e.JSONKind != 0 && e.GoType != nil:
		return penstock.InvalidParam(path, "%s must be %s, not %s.", path, wanted(e.GoType.Kind()), kindName(e.JSONKind))
	}
	return penstock.InvalidParam(path, "%s is not valid: %v.", path, e.Err)
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

// fieldPath writes a JSON pointer the way people write paths: inputs[3].body. A number is an index, but
// for a tag that somebody named so.
func fieldPath(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		if _, err := strconv.Atoi(token); err == nil && b.String() != "tags" {
			fmt.Fprintf(&b, "[%s]", token)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(clip(token))
	}
	return b.String()
}

// clip shortens what a caller sent before it is quoted back.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// seconds is a duration in JSON: "60s", "5m".
type seconds time.Duration

// UnmarshalText reads a Go duration.
func (s *seconds) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil {
		return err
	}
	*s = seconds(d)
	return nil
}

// queryInt reads a whole number from the query. Codes: invalid_request.
func (c *call) queryInt(name string, otherwise int64) (int64, error) {
	text := c.r.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, penstock.InvalidParam(name, "%s must be a whole number of at least 0.", name)
	}
	return n, nil
}

// pageLimit reads how many entries a page shall hold. Codes: invalid_request.
func (c *call) pageLimit() (int, error) {
	const most, usual = 100, 20
	n, err := c.queryInt("limit", usual)
	if err == nil && (n < 1 || n > most) {
		err = penstock.InvalidParam("limit", "limit must be from 1 to %d.", most)
	}
	return int(n), err
}

// queryTime reads a time from the query. Codes: invalid_request.
func (c *call) queryTime(name string) (time.Time, error) {
	text := c.r.URL.Query().Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, penstock.InvalidParam(name, "%s must be an RFC 3339 time such as 2026-11-15T06:00:00Z.", name)
	}
	return t, nil
}

// pathID reads an id from the path. An id of the wrong form cannot exist, so it is not found.
func (c *call) pathID(view penstock.View) (penstock.ID, error) {
	id, err := view.Parse(c.r.PathValue("id"))
	if err != nil {
		return "", &penstock.Error{Code: penstock.CodeNotFound, Param: "id", Message: err.Error() + "."}
	}
	return id, nil
}
