package attempt

import (
	"slices"

	"penstock"
	"penstock/internal/outbound"
)

func (r *Runner) writer() outbound.Writer {
	return outbound.Writer{Providers: r.Providers, Translator: r.Translator}
}

// Serves reports whether a target serves an endpoint, itself or by translation. It does if its provider was removed: the attempt
// fails with the reason.
func (r *Runner) Serves(t *penstock.Target, e penstock.Endpoint) bool {
	return r.writer().Serves(t, e)
}

// served returns the candidates that serve the endpoint, and remarks on the others.
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

// unserved is why a target is left out, as it follows its name.
func unserved(e penstock.Endpoint) string { return "does not serve " + string(e) }

// notServed is the error of a task that no target can be asked.
func notServed(task *Task) error { return outbound.NotServed(task.Model, task.Endpoint) }

// requestTo writes the request of a task to a target.
func (r *Runner) requestTo(task *Task, target *penstock.Target) (outbound.Request, error) {
	if outbound.Divides(target) {
		task.read()
	}
	return r.writer().Write(&outbound.Source{
		Model: task.Model, Endpoint: task.Endpoint, Body: task.Body, Header: task.Header, Inference: task.Inference,
	}, target)
}
