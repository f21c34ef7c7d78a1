package rest

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/telemetry"
)

const (
	// headerRequestID is the header of every answer with the id of the call, in canonical form.
	headerRequestID = "X-Request-Id"
	// headerNoSniff keeps browsers from showing an answer as a page, whatever text an upstream wrote into it.
	headerNoSniff = "X-Content-Type-Options"
)

var noSniff = []string{"nosniff"} // shared by all answers

// Call is one HTTP call being answered.
type Call struct {
	Of        Exchange // the exchange that it is the base of
	W         *Response
	R         *http.Request
	ID        penstock.ID
	Principal penstock.Principal // who calls; zero on an open route
	Words     *Wording           // in which errors are answered
	Span      telemetry.Span
	Final     bool  // the answer will never change: a retry does not help
	Err       error // why the call was not answered

	server  *Server
	route   *Route
	began   time.Time
	version int  // its index in Versions; -1 for one that is not served
	reveals bool // a person reads payloads, and may
}

// NewCall returns a call outside of any route, for tests of a surface. It asks for the default version.
func NewCall(s *Server, w http.ResponseWriter, r *http.Request) Call {
	return Call{server: s, W: NewResponse(w, r), R: r, Words: &Usual, route: &Route{}}
}

// Base implements [Exchange] for types that embed Call.
func (c *Call) Base() *Call { return c }

// Lenient encodes the answer of an upstream unchanged, even if its JSON has repeated names or bad UTF-8.
var Lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// JSON answers with JSON, in the shape of the version that the caller asked for.
func (c *Call) JSON(status int, v any) error {
	text, err := json.Marshal(v, json.Deterministic(true), Lenient, c.Shape())
	if err != nil {
		return fmt.Errorf("encoding an answer: %w", err)
	}
	text = append(text, '\n')
	c.W.Header().Set("Content-Type", TypeJSON)
	c.W.Header().Set("Content-Length", strconv.Itoa(len(text)))
	c.W.WriteHeader(status)
	_, err = c.W.Write(text)
	return err
}

// PathID reads an id from the path. An id of the wrong form cannot exist, so it is not found.
func (c *Call) PathID(view penstock.View) (penstock.ID, error) {
	id, err := view.Parse(c.R.PathValue("id"))
	if err != nil {
		return "", &penstock.Error{Code: penstock.CodeNotFound, Param: "id", Message: err.Error() + "."}
	}
	return id, nil
}

// QueryInt reads a whole number from the query. Codes: invalid_request.
func (c *Call) QueryInt(name string, otherwise int64) (int64, error) {
	text := c.R.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, penstock.InvalidParam(name, "%s must be a whole number of at least 0.", name)
	}
	return n, nil
}

// QueryBool reads true or false from the query; false if it is not there. Codes: invalid_request.
func (c *Call) QueryBool(name string) (bool, error) {
	text := c.R.URL.Query().Get(name)
	if text == "" {
		return false, nil
	}
	v, err := strconv.ParseBool(text)
	if err != nil {
		return false, penstock.InvalidParam(name, "%s must be true or false.", name)
	}
	return v, nil
}

// QueryTime reads a time from the query. Codes: invalid_request.
func (c *Call) QueryTime(name string) (time.Time, error) {
	text := c.R.URL.Query().Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, penstock.InvalidParam(name, "%s must be an RFC 3339 time such as 2026-11-15T06:00:00Z.", name)
	}
	return t, nil
}

// PageSize is the largest and the default number of entries in a page.
type PageSize struct{ Most, Usual int }

// PageLimit reads the number of entries in a page. Codes: invalid_request.
func (c *Call) PageLimit(size PageSize) (int, error) {
	n, err := c.QueryInt("limit", int64(size.Usual))
	if err != nil || n < 1 || n > int64(size.Most) {
		return 0, penstock.InvalidParam("limit", "limit must be from 1 to %d.", size.Most)
	}
	return int(n), nil
}

// Page is a page of a list.
type Page[T any] struct {
	Object  string `json:"object"`
	Data    []T    `json:"data"`
	HasMore bool   `json:"has_more" about:"Whether another page follows; pass the last id as after."`
}

// CursorPage is a page of a list that reads a bounded number of rows: it says itself where the next page begins.
type CursorPage[T any] struct {
	Object    string  `json:"object"`
	Data      []T     `json:"data"`
	HasMore   bool    `json:"has_more" about:"Whether another page follows. A page may be short, or empty, and still be followed by another: one call reads a bounded number of rows."`
	NextAfter *string `json:"next_after" about:"The after of the next page; null after the last page."`
}

// NewCursorPage makes a page. Next is the cursor of the next page, "" after the last one.
func NewCursorPage[T any](data []T, next string) CursorPage[T] {
	p := CursorPage[T]{Object: "list", Data: data, HasMore: next != ""}
	if data == nil {
		p.Data = []T{}
	}
	if p.HasMore {
		p.NextAfter = &next
	}
	return p
}

// AnyObject is a JSON object with members that the API does not define.
type AnyObject map[string]any
