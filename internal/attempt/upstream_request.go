package attempt

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
	"penstock/internal/provider"
)

// ErrNotServed is the cause of the error when none of a task's targets understands its endpoint, itself or
// by translation.
var ErrNotServed = errors.New("no target understands the endpoint")

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

// upstreamRequest is the request to one target: the body of the caller, or a translation of it.
type upstreamRequest struct {
	upstream    provider.Provider // nil when it is not configured any more
	endpoint    penstock.Endpoint
	body        []byte
	object      *body.Object // body, if it is what the caller wrote and was scanned
	header      http.Header
	translation Translation // nil when the target speaks the caller's dialect
	dropped     []string
	to          dialect.Upstream // of a translation
	parts       dialect.Parts    // the calls that it takes: body is that of the first
	clamp       int64            // the most tokens that a translation may let an answer have; 0 for what it says
}

// remarks are remarks on targets that were left out, for the reason of the attempt that was made.
type remarks []string

func (a *remarks) add(format string, args ...any) { *a = append(*a, fmt.Sprintf(format, args...)) }

// served returns the candidates that serve the endpoint, and remarks on the others. A target whose provider was removed is kept: the
// attempt fails with the reason.
func (r *Runner) served(task *Task, candidates []*penstock.Target) ([]*penstock.Target, remarks) {
	var left remarks
	unserved := func(t *penstock.Target) bool {
		if r.Serves(t, task.Endpoint) {
			return false
		}
		left.add("%s %s", t.Name, unserved(task.Endpoint))
		return true
	}
	return slices.DeleteFunc(candidates, unserved), left
}

// Serves reports whether a target serves an endpoint, itself or by translation. It does if its provider was removed: the attempt
// fails with the reason.
func (r *Runner) Serves(t *penstock.Target, e penstock.Endpoint) bool {
	upstream, ok := r.Providers.Provider(t.Provider)
	if !ok || upstream.Speaks(e) {
		return true
	}
	_, _, ok = r.translation(e, upstream)
	return ok
}

// unserved is why a target is left out, as it follows its name.
func unserved(e penstock.Endpoint) string { return "does not serve " + string(e) }

// translation finds a dialect that the upstream speaks and the endpoint can be translated to.
func (r *Runner) translation(from penstock.Endpoint, upstream provider.Provider) (Translation, penstock.Endpoint, bool) {
	if r.Translator == nil {
		return nil, "", false
	}
	for _, to := range penstock.TargetEndpoints {
		if !upstream.Speaks(to) {
			continue
		}
		if t, ok := r.Translator.For(from, to); ok {
			return t, to, true
		}
	}
	return nil, "", false
}

// requestTo writes a task in a dialect that a target speaks, always from the original body. A translation
// that breaks is an error like any other.
func (r *Runner) requestTo(task *Task, target *penstock.Target) (l upstreamRequest, err error) {
	l = upstreamRequest{endpoint: task.Endpoint, body: task.Body, header: task.Header}
	if task.Inference != nil {
		l.object = &task.Inference.Object
	}
	upstream, ok := r.Providers.Provider(target.Provider)
	if !ok {
		return l, nil
	}
	if l.upstream = upstream; target.OneChoice || target.OnePrompt {
		if err := l.divide(task, target); err != nil {
			return l, err
		}
	}
	if upstream.Speaks(task.Endpoint) {
		if r.Translator != nil {
			l.body, l.dropped = r.Translator.Forward(l.endpoint, l.body)
		}
		if len(l.dropped) > 0 {
			l.object = nil // of the body as it was
		}
		return l, l.supported()
	}
	t, to, ok := r.translation(task.Endpoint, upstream)
	if !ok { // the configuration changed since the candidates were looked at
		return l, notServed(task)
	}
	defer func() {
		if p := recover(); p != nil {
			err = penstock.Internal(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	l.endpoint, l.translation = to, t
	l.header, l.object = nil, nil // headers of one dialect mean nothing in another
	l.to = dialect.Upstream{MaxOutputTokens: target.MaxOutputTokens, Origin: task.origin(target)}
	if l.body, l.dropped, err = t.Request(l.body, l.to); err != nil {
		return l, err
	}
	return l, l.supported()
}

// origin names the provider and the model of a target. A provider may serve models of several makers.
func (task *Task) origin(t *penstock.Target) string {
	return t.Provider + "\x00" + task.upstreamModel(t)
}

// upstreamModel is the name that the upstream is asked for.
func (task *Task) upstreamModel(t *penstock.Target) string {
	if t.UpstreamModel == penstock.UpstreamModelAsAsked {
		return task.Model
	}
	return t.UpstreamModel
}

// failure is an error of the exchange, in the caller's dialect.
func (l *upstreamRequest) failure(err error) *provider.Error {
	e := provider.AsError(err)
	if l.translation == nil {
		return e
	}
	return l.translation.Error(e)
}

// maxReasonBytes bounds what is kept of why a target was chosen. What was dropped is named by callers.
const maxReasonBytes = 1 << 10

// explain adds to the reason of a choice what was translated, what was lost by it, and who was left out.
func (l *upstreamRequest) explain(reason string, left remarks) string {
	if l.translation == nil && len(left) == 0 && len(l.dropped) == 0 && l.parts.Calls < 2 {
		return reason
	}
	parts := append([]string{reason}, left...)
	if l.translation != nil {
		parts = append(parts, "translated to "+string(l.endpoint))
	}
	if l.parts.Calls > 1 {
		parts = append(parts, fmt.Sprintf("%d calls, because the target gives one answer for each", l.parts.Calls))
	}
	if len(l.dropped) > 0 {
		parts = append(parts, "dropped "+strings.Join(l.dropped, ", "))
	}
	return bounded(strings.Join(parts, "; "))
}

// bounded shortens a reason that is too long.
func bounded(reason string) string {
	if len(reason) > maxReasonBytes {
		return strings.ToValidUTF8(reason[:maxReasonBytes], "") + "…"
	}
	return reason
}

// remark adds the note of the adapter to the reason, such as the key that it used.
func (t *try) remark(meta *provider.Meta, failure *provider.Error) {
	note := meta.Note
	if failure != nil && failure.Note != "" {
		note = failure.Note
	}
	if note != "" {
		t.record.Reason = bounded(t.record.Reason + "; " + note)
	}
}

// lossy is an answer of which a translation could not carry everything.
type lossy interface {
	// Dropped names what was left out so far.
	Dropped() []string
}

// withLosses adds to a reason what was left out of the answer.
func withLosses(reason string, answer provider.Answer) string {
	if a, ok := answer.(lossy); ok {
		if dropped := a.Dropped(); len(dropped) > 0 {
			return bounded(reason + "; dropped " + strings.Join(dropped, ", "))
		}
	}
	return reason
}

// notServed is the error of a task that no target can be asked.
func notServed(task *Task) error {
	return &penstock.Error{Code: penstock.CodeInvalidRequest, Param: "model", Err: ErrNotServed,
		Message: fmt.Sprintf("No target of model %q serves %s; ask for another model, or use another endpoint.", task.Model, task.Endpoint)}
}
