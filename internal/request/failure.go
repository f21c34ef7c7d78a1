package request

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/attempt"
	"penstock/internal/outbound"
	"penstock/internal/provider"
)

// conclude tells the sink of a call that failed, and returns how the call ended for its caller.
func (r *Running) conclude(ctx context.Context, out *attempt.Outcome) ending {
	end := ending{began: r.began, status: r.status}
	if out.Err == nil {
		return end
	}
	f := Failure{Err: tried(callerError(out.Err), out.Attempts), Target: out.Target, Begun: r.begun, Final: out.Final, Unserved: unserved(out.Err)}
	if upstream, ok := errors.AsType[*provider.Error](out.Err); ok {
		f.Upstream = upstream.Body
	}
	if r.reading != nil {
		f.Cache = r.reading.Source
	}
	if why := endedBy(ctx); why != nil {
		f.Err, f.Upstream = why, nil
	} else if ctx.Err() != nil {
		f.Err, f.Upstream, f.Left = errLeft(), nil, true
	}
	if f.Left || !f.Begun {
		end.status = r.service.Status(f.Err.Code)
	}
	end.err = f.Err
	if r.sink.Fail(f) {
		end.err, end.status = nil, http.StatusOK
	}
	return end
}

// endedBy is the error that ended a call before its caller did, such as a key that was revoked; nil if none did.
func endedBy(ctx context.Context) *penstock.Error {
	if ctx.Err() == nil {
		return nil
	}
	e, _ := errors.AsType[*penstock.Error](context.Cause(ctx))
	return e
}

// errLeft is the error of a call whose caller did not wait for the answer.
func errLeft() *penstock.Error {
	return penstock.Errorf(penstock.CodeCancelled, "The caller left before the answer was complete.")
}

// unserved reports that no target has the endpoint of a call: none understands its dialect, or a server that does lacks the
// endpoint.
func unserved(err error) bool {
	if errors.Is(err, outbound.ErrNotServed) {
		return true
	}
	e, ok := errors.AsType[*provider.Error](err)
	return ok && e.Kind == provider.KindRejected &&
		slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}, e.StatusCode)
}

// maxTold bounds the attempts that an error names.
const maxTold = 8

// tried adds to an error what each of several attempts did, so that its caller need not ask for the record.
func tried(e *penstock.Error, attempts []penstock.Attempt) *penstock.Error {
	if len(attempts) < 2 {
		return e
	}
	told := make([]string, 0, min(len(attempts), maxTold)+1)
	for i := range attempts {
		if len(told) == maxTold {
			told = append(told, fmt.Sprintf("and %d more", len(attempts)-maxTold))
			break
		}
		a := &attempts[i]
		did := cmp.Or(a.ErrorKind, "answered")
		if a.StatusCode != 0 {
			did += fmt.Sprintf(" (HTTP %d)", a.StatusCode)
		}
		told = append(told, fmt.Sprintf("%s: %s after %v", a.Target, did, a.FinishedAt.Sub(a.StartedAt).Round(time.Millisecond)))
	}
	all := *e
	all.Message = fmt.Sprintf("%s Tried %d targets: %s.", e.Message, len(attempts), strings.Join(told, "; "))
	return &all
}

// callerError is the error of an upstream as its caller is told of it. The rate limit of an upstream does not concern the caller:
// to the caller, Penstock is busy.
func callerError(err error) *penstock.Error {
	upstream, ok := errors.AsType[*provider.Error](err)
	if !ok {
		return penstock.AsError(err)
	}
	if full, ok := errors.AsType[*penstock.Error](upstream.Err); ok && upstream.Kind == provider.KindMemory {
		return full
	}
	e := &penstock.Error{Code: upstream.Kind.Policy().Code, Message: upstream.Public(), RetryAfter: upstream.RetryAfter, Err: err}
	if upstream.Kind == provider.KindRateLimited || upstream.Kind == provider.KindOverloaded {
		e.Message = "Every target of this model is busy upstream."
	}
	return e
}
