package app

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/store"
)

// reloadOrder is how a reload is asked for.
type reloadOrder struct {
	actor  string
	dryRun bool // only tell what it would do
	force  bool // also if jobs lose a target by it
}

// reloadOrderOf reads ?actor=, ?dry_run= and ?force=. Codes: invalid_request.
func reloadOrderOf(r *http.Request) (o reloadOrder, err error) {
	query := r.URL.Query()
	if o.actor, err = actor(r, query.Get("actor")); err != nil {
		return o, err
	}
	for name, into := range map[string]*bool{"dry_run": &o.dryRun, "force": &o.force} {
		if text := query.Get(name); text != "" {
			if *into, err = strconv.ParseBool(text); err != nil {
				return o, penstock.InvalidParam(name, "%s must be true or false.", name)
			}
		}
	}
	return o, nil
}

// reloadView is what a reload did, or would do.
type reloadView struct {
	Status  string        `json:"status"` // reloaded, or dry_run
	DryRun  bool          `json:"dry_run,omitempty"`
	Config  string        `json:"config"`            // hash of the new configuration
	Changes []string      `json:"changes"`           // in words
	Removed []removedView `json:"removed_targets"`   // those that open jobs were resolved to
	Refusal *string       `json:"refusal,omitempty"` // of a dry run: why the reload would be refused without force
}

// removedView is a target that a reload takes away from open jobs.
type removedView struct {
	Target        string `json:"target"`
	Jobs          int64  `json:"jobs"`           // that have not ended and were resolved to it
	Items         int64  `json:"items"`          // of them that have not ended
	StrandedJobs  int64  `json:"stranded_jobs"`  // that would have no target left
	StrandedItems int64  `json:"stranded_items"` // which would fail
}

// planReload finds out what a configuration would change, and what that would mean for jobs that were accepted before.
func (a *app) planReload(ctx context.Context, next *config.Snapshot) (*reloadView, error) {
	v := &reloadView{Status: "reloaded", Config: next.Hash, Changes: []string{}, Removed: []removedView{}}
	for _, c := range config.Diff(a.live.Current(), next) {
		v.Changes = append(v.Changes, c.String())
	}
	gone := removed(a.live.Current().Targets, next.Targets)
	if len(gone) == 0 {
		return v, nil
	}
	open, err := a.store.OpenResolutions(ctx)
	if err != nil {
		return v, err
	}
	if v.Removed = losses(gone, next.Targets, open); len(v.Removed) > 0 {
		v.Refusal = new(refusalOf(v.Removed))
	}
	return v, nil
}

// removed are the targets of one configuration that another does not have.
func removed(before, after map[string]*penstock.Target) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(before)), func(name string) bool {
		_, kept := after[name]
		return kept
	})
}

// losses says which of the targets that are gone open jobs were resolved to.
func losses(gone []string, left map[string]*penstock.Target, open []store.Resolution) []removedView {
	all := []removedView{}
	for _, target := range gone {
		loss := removedView{Target: target}
		for _, r := range open {
			if !slices.Contains(r.Targets, target) {
				continue
			}
			loss.Jobs, loss.Items = loss.Jobs+r.Jobs, loss.Items+r.Items
			if !slices.ContainsFunc(r.Targets, func(name string) bool { return left[name] != nil }) {
				loss.StrandedJobs, loss.StrandedItems = loss.StrandedJobs+r.Jobs, loss.StrandedItems+r.Items
			}
		}
		if loss.Jobs > 0 {
			all = append(all, loss)
		}
	}
	return all
}

// warnOfLosses tells of open jobs that were resolved to targets which the configuration does not have. A start cannot refuse
// it as a reload does, but the operator can still put them back. It looks once.
func (a *app) warnOfLosses(ctx context.Context) error {
	open, err := a.store.OpenResolutions(ctx)
	if err != nil {
		return nil // other users of the store report that it does not answer
	}
	left := a.Config.Targets
	var gone []string
	for _, r := range open {
		for _, name := range r.Targets {
			if left[name] == nil && !slices.Contains(gone, name) {
				gone = append(gone, name)
			}
		}
	}
	for _, loss := range losses(gone, left, open) {
		a.log.WarnContext(ctx, "open jobs were resolved to a target that is not configured; put the target back until they have ended",
			"target", loss.Target, "jobs", loss.Jobs, "items", loss.Items, "items_without_another", loss.StrandedItems)
	}
	return nil
}

// refusalOf says why a reload is refused, and what to do instead.
func refusalOf(all []removedView) string {
	words := make([]string, len(all))
	for i, r := range all {
		words[i] = fmt.Sprintf("target %s is removed, but %d open jobs with %d items were resolved to it, of which %d jobs with %d items would have no target left and fail",
			r.Target, r.Jobs, r.Items, r.StrandedJobs, r.StrandedItems)
	}
	return strings.Join(words, "; ") + ". Take it out of its models first and keep it among the targets until these jobs have ended " +
		"(a dry run counts them), or reload with force."
}
