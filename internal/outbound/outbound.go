// Package outbound writes an inference as the request that goes to one target: the body of the caller, or a translation of it, and
// the first of several calls where the target gives one answer for each.
//
// It owns the choice of a dialect that the target speaks, and the way back: answers and errors return in the caller's dialect. It does
// not choose targets, makes no call and knows no prices (package attempt).
//
// Invariants:
//   - A request is always written from the caller's body, never from another translation.
//   - A target that cannot serve the inference is an error with code invalid_request that names the field.
//   - A translation that panics is an error.
//
// A Writer is safe for concurrent use. A Request belongs to one goroutine; Part may be called by several.
package outbound

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
	"penstock/internal/provider"
)

// ErrNotServed is the cause of the error when no target understands the endpoint of an inference, itself or by translation.
var ErrNotServed = errors.New("no target understands the endpoint")

// NotServed is the error of an inference whose endpoint no target of its model understands.
func NotServed(model string, e penstock.Endpoint) error {
	return &penstock.Error{Code: penstock.CodeInvalidRequest, Param: "model", Err: ErrNotServed,
		Message: fmt.Sprintf("No target of model %q serves %s; ask for another model, or use another endpoint.", model, e)}
}

// Providers finds the adapter of a configured provider.
type Providers interface {
	Provider(name string) (provider.Provider, bool)
}

// Translator finds the translation from one dialect to another.
type Translator interface {
	For(from, to penstock.Endpoint) (Translation, bool)
	// Forward is a body for an upstream of the caller's dialect: unchanged, but for content that another upstream sealed.
	Forward(e penstock.Endpoint, body []byte) (forwarded []byte, dropped []string)
}

// Translation carries inferences over into another dialect, and their answers back.
type Translation interface {
	// Request translates a body. Members that the other dialect has no place for are named in dropped;
	// what cannot be left out without asking for something else is an error. Codes: invalid_request.
	Request(body []byte, to dialect.Upstream) (translated []byte, dropped []string, err error)
	// Answer translates an answer back while it is read. One that cannot be carried whole has a method
	// Dropped that names what was left out.
	Answer(upstream provider.Answer, asked dialect.Asked) provider.Answer
	// Error translates the error of an upstream. The error given is not changed.
	Error(failure *provider.Error) *provider.Error
}

// Writer writes requests.
type Writer struct {
	Providers  Providers
	Translator Translator // nil for none
}

// Source is an inference as its caller wrote it.
type Source struct {
	Model    string // public name
	Endpoint penstock.Endpoint
	Body     []byte
	Header   http.Header // for upstreams of the same dialect; nil for none
	// Inference is Body as it was read. It is needed for a target that gives one answer for each call (see [Divides]); nil if it was not
	// read, or cannot be.
	Inference *dialect.Inference
}

// Divides reports whether a target may take several calls for an inference.
func Divides(t *penstock.Target) bool { return t.OneChoice || t.OnePrompt }

// UpstreamModel is the name that the upstream of a target is asked for.
func UpstreamModel(model string, t *penstock.Target) string {
	if t.UpstreamModel == penstock.UpstreamModelAsAsked {
		return model
	}
	return t.UpstreamModel
}

// Origin names the provider and the model of a target. A provider may serve models of several makers.
func Origin(model string, t *penstock.Target) string {
	return t.Provider + "\x00" + UpstreamModel(model, t)
}

// Serves reports whether a target serves an endpoint, itself or by translation. It does if its provider was removed: the attempt
// fails with the reason.
func (w Writer) Serves(t *penstock.Target, e penstock.Endpoint) bool {
	upstream, ok := w.Providers.Provider(t.Provider)
	if !ok || upstream.Speaks(e) {
		return true
	}
	_, _, ok = w.translation(e, upstream)
	return ok
}

// translation finds a dialect that the upstream speaks and the endpoint can be translated to.
func (w Writer) translation(from penstock.Endpoint, upstream provider.Provider) (Translation, penstock.Endpoint, bool) {
	if w.Translator == nil {
		return nil, "", false
	}
	for _, to := range penstock.TargetEndpoints {
		if !upstream.Speaks(to) {
			continue
		}
		if t, ok := w.Translator.For(from, to); ok {
			return t, to, true
		}
	}
	return nil, "", false
}

// Write writes an inference in a dialect that a target speaks. Codes: invalid_request, internal (a translation that broke).
func (w Writer) Write(s *Source, target *penstock.Target) (q Request, err error) {
	q = Request{Endpoint: s.Endpoint, Body: s.Body, Header: s.Header}
	if s.Inference != nil {
		q.Object = &s.Inference.Object
	}
	upstream, ok := w.Providers.Provider(target.Provider)
	if !ok {
		return q, nil
	}
	if q.Upstream = upstream; Divides(target) {
		if err := q.divide(s, target); err != nil {
			return q, err
		}
	}
	if upstream.Speaks(s.Endpoint) {
		if w.Translator != nil {
			q.Body, q.Dropped = w.Translator.Forward(q.Endpoint, q.Body)
		}
		if len(q.Dropped) > 0 {
			q.Object = nil // of the body as it was
		}
		return q, q.supported()
	}
	t, to, ok := w.translation(s.Endpoint, upstream)
	if !ok { // the configuration changed since the candidates were looked at
		return q, NotServed(s.Model, s.Endpoint)
	}
	defer func() {
		if p := recover(); p != nil {
			err = penstock.Internal(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	q.Endpoint, q.translation = to, t
	q.Header, q.Object = nil, nil // headers of one dialect mean nothing in another
	q.to = dialect.Upstream{MaxOutputTokens: target.MaxOutputTokens, Origin: Origin(s.Model, target)}
	if q.Body, q.Dropped, err = t.Request(q.Body, q.to); err != nil {
		return q, err
	}
	return q, q.supported()
}

// Request is the request to one target.
type Request struct {
	Upstream provider.Provider // nil when it is not configured any more
	Endpoint penstock.Endpoint
	Body     []byte       // of the first call
	Object   *body.Object // Body, if it is what the caller wrote and was scanned
	Header   http.Header
	Dropped  []string      // members of the caller's body that the request lacks
	Parts    dialect.Parts // the calls that it takes

	translation Translation // nil when the target speaks the caller's dialect
	to          dialect.Upstream
	most        int64 // tokens that a translation may let an answer have; 0 for what it says
}

// supported refuses a body with a member that the upstream does not honour.
func (q *Request) supported() error {
	checker, ok := q.Upstream.(provider.Checker)
	if !ok {
		return nil
	}
	if name := checker.Unsupported(provider.Call{Endpoint: q.Endpoint, Body: q.Body, Object: q.Object}); name != "" {
		return penstock.InvalidParam(name, "%s has a value that the target which this call goes to does not support. Leave it out, or ask for another model.", name)
	}
	return nil
}

// LimitOutput keeps a translation from allowing a longer answer than the body that it translates.
func (q *Request) LimitOutput(most int64) {
	if q.translation != nil {
		q.Body, q.most = dialect.LimitOutput(q.Endpoint, q.Body, most), most
	}
}

// DropBody lets go of the bodies, once the answer has begun.
func (q *Request) DropBody() {
	q.Body, q.Object, q.Parts = nil, nil, dialect.Parts{Calls: q.Parts.Calls, Each: q.Parts.Each}
}

// Remarks are remarks on the request for the record of its attempt; nil if it is what the caller wrote.
func (q *Request) Remarks() []string {
	var all []string
	if q.translation != nil {
		all = append(all, "translated to "+string(q.Endpoint))
	}
	if q.Parts.Calls > 1 {
		all = append(all, fmt.Sprintf("%d calls, because the target gives one answer for each", q.Parts.Calls))
	}
	if len(q.Dropped) > 0 {
		all = append(all, "dropped "+strings.Join(q.Dropped, ", "))
	}
	return all
}

// divide makes the request that of the first of several calls, if the target gives one answer for each call.
func (q *Request) divide(s *Source, target *penstock.Target) (err error) {
	if s.Inference == nil {
		return nil // the upstream says what is wrong with the body
	}
	if q.Parts, err = s.Inference.Parts(target); err == nil && q.Parts.Calls > 1 {
		q.Body, q.Object = q.Parts.Body(0), nil
	}
	return err
}

// Part is the body of one of several calls, from 0. First is the body of the first.
func (q *Request) Part(first []byte, call int64) ([]byte, error) {
	if call == 0 || !q.Parts.Varied() {
		return first, nil
	}
	text := q.Parts.Body(call)
	if q.translation == nil {
		return text, nil
	}
	text, _, err := q.translation.Request(text, q.to)
	if err == nil && q.most > 0 {
		text = dialect.LimitOutput(q.Endpoint, text, q.most)
	}
	return text, err
}
