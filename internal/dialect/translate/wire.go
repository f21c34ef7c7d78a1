package translate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
)

// lenient accepts what servers send although the JSON standard would rather not.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// encode writes a value of our own. Every string in it was decoded from JSON and is UTF-8 by then; raw
// values were checked where they were taken.
func encode(v any) []byte {
	text, err := json.Marshal(v, lenient)
	if err != nil {
		panic(fmt.Sprintf("translate: encoding %T: %v", v, err))
	}
	return text
}

// decodeStrictly reads a caller's body: a repeated name or a value of the wrong type is an
// error that says where.
func decodeStrictly(text []byte, into any) error {
	err := json.Unmarshal(text, into)
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*penstock.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		param := dotted(e.JSONPointer)
		return penstock.InvalidParam(param, "%s has a value of the wrong type.", param)
	}
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		param := dotted(e.JSONPointer)
		return penstock.InvalidParam(param, "%s is not valid: %v.", param, e.Err)
	}
	return penstock.InvalidParam("body", "The body cannot be read.")
}

// maxParamBytes bounds the path of a field in an error.
const maxParamBytes = 200

// dotted writes a JSON pointer as our errors name fields: messages[3].content.
func dotted(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		switch {
		case token != "" && strings.Trim(token, "0123456789") == "":
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
	}
	if b.Len() == 0 {
		return "body"
	}
	return clip(b.String(), maxParamBytes)
}

// clip bounds a text that others wrote.
func clip(s string, size int) string {
	if len(s) <= size {
		return s
	}
	return strings.ToValidUTF8(s[:size], "") + more
}

// isSet reports whether a member is present and not null.
func isSet(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != 'n' }
