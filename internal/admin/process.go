package admin

import (
	"net/http"

	"penstock"
	"penstock/internal/directory"
	"penstock/internal/reload"
	"penstock/internal/rest"
)

// statusView is the health of the process.
type statusView struct {
	Status string  `json:"status"`
	Reason *string `json:"reason,omitzero"`
}

// healthz also proves to a client that has a key of this server that the server is a Penstock which knows the key.
func (c process) healthz() error {
	if challenge := c.R.Header.Get(directory.HeaderChallenge); challenge != "" {
		if proof := c.Operators.Prove(challenge); proof != "" {
			c.W.Header().Set(directory.HeaderProof, proof)
		}
	}
	return c.JSON(http.StatusOK, statusView{Status: "ok"})
}

func (c process) readyz() error {
	if err := c.Ready(c.R.Context()); err != nil {
		return c.JSON(http.StatusServiceUnavailable, statusView{Status: "not ready", Reason: named(penstock.AsError(err).Message)})
	}
	return c.JSON(http.StatusOK, statusView{Status: "ready"})
}

func (c process) document() error { return c.Documents.Serve(&c.Call) }

func (c process) metrics() error {
	c.Metrics.Handler().ServeHTTP(c.W, c.R)
	return nil
}

// raw serves a route by a handler of another package.
func raw(h http.HandlerFunc) func(*rest.Call) error {
	return func(c *rest.Call) error {
		h(c.W, c.R)
		return nil
	}
}

// reloadView is the result of a reload, or of its dry run.
type reloadView struct {
	Status  string              `json:"status" about:"reloaded, or dry_run."`
	DryRun  bool                `json:"dry_run,omitzero"`
	Config  string              `json:"config" about:"Hash of the new configuration."`
	Changes []string            `json:"changes" about:"The changes, one sentence each."`
	Removed []removedTargetView `json:"removed_targets" about:"Those that open jobs were resolved to."`
	Refusal *string             `json:"refusal,omitzero" about:"Of a dry run: why the reload would be refused without force."`
}

// removedTargetView is a target of open jobs that a reload removes.
type removedTargetView struct {
	Target        string `json:"target"`
	Jobs          int64  `json:"jobs" about:"Jobs that have not ended and were resolved to it."`
	Items         int64  `json:"items" about:"Their items that have not ended."`
	StrandedJobs  int64  `json:"stranded_jobs" about:"Jobs that would have no target left."`
	StrandedItems int64  `json:"stranded_items" about:"Their items, which would fail."`
}

func (c process) reload() error {
	var order reload.Order
	var err error
	if order.Actor, err = c.actor(c.R.URL.Query().Get("actor")); err != nil {
		return err
	}
	if order.DryRun, err = c.QueryBool("dry_run"); err != nil {
		return err
	}
	if order.Force, err = c.QueryBool("force"); err != nil {
		return err
	}
	plan, err := c.Reloader.Reload(c.R.Context(), order)
	if err != nil {
		return err
	}
	view := reloadView{
		Status: "reloaded", DryRun: order.DryRun, Config: plan.Config, Changes: append([]string{}, plan.Changes...), Removed: []removedTargetView{}, Refusal: named(plan.Refusal),
	}
	if order.DryRun {
		view.Status = "dry_run"
	}
	for _, loss := range plan.Removed {
		view.Removed = append(view.Removed, removedTargetView(loss))
	}
	return c.JSON(http.StatusOK, view)
}
