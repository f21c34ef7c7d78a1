package reload

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/store"
)

// Plan is what a reload does.
type Plan struct {
	Config  string   // hash of the new configuration
	Changes []string // in words
	Removed []Loss   // the targets that open jobs were resolved to and that are not configured any more
	Refusal string   // why the reload is refused without force, "" if it is not
}

// Loss is a target that a configuration takes away from open jobs.
type Loss struct {
	Target        string
	Jobs          int64 // that have not ended and were resolved to it
	Items         int64 // of them that have not ended
	StrandedJobs  int64 // that would have no target left
	StrandedItems int64 // which would fail
}

// plan finds out what a configuration would change, and what that would mean for jobs that were accepted before.
func (r *Reloader) plan(ctx context.Context, next *config.Snapshot) (Plan, error) {
	p := Plan{Config: next.Hash}
	for _, c := range config.Diff(r.Live.Current(), next) {
		p.Changes = append(p.Changes, c.String())
	}
	gone := removed(r.Live.Current().Targets, next.Targets)
	if len(gone) == 0 {
		return p, nil
	}
	open, err := r.Store.OpenResolutions(ctx)
	if err != nil {
		return p, err
	}
	if p.Removed = losses(gone, next.Targets, open); len(p.Removed) > 0 {
		p.Refusal = refusalOf(p.Removed)
	}
	return p, nil
}

// removed are the targets of one configuration that another does not have.
func removed(before, after map[string]*penstock.Target) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(before)), func(name string) bool {
		_, kept := after[name]
		return kept
	})
}

// losses are those of the targets that are gone that open jobs were resolved to.
func losses(gone []string, left map[string]*penstock.Target, open []store.Resolution) []Loss {
	var all []Loss
	for _, target := range gone {
		loss := Loss{Target: target}
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

// WarnOfLosses logs open jobs that were resolved to targets which the configuration does not have. A start cannot refuse
// the configuration as a reload does, but the operator can still put the targets back. It looks once.
func (r *Reloader) WarnOfLosses(ctx context.Context) error {
	open, err := r.Store.OpenResolutions(ctx)
	if err != nil {
		return nil // other users of the store report that it does not answer
	}
	left := r.Live.Current().Targets
	var gone []string
	for _, resolution := range open {
		for _, name := range resolution.Targets {
			if left[name] == nil && !slices.Contains(gone, name) {
				gone = append(gone, name)
			}
		}
	}
	for _, loss := range losses(gone, left, open) {
		r.Log.WarnContext(ctx, "open jobs were resolved to a target that is not configured; put the target back until they have ended",
			"target", loss.Target, "jobs", loss.Jobs, "items", loss.Items, "items_without_another", loss.StrandedItems)
	}
	return nil
}

// refusalOf says why a reload is refused, and what to do instead.
func refusalOf(all []Loss) string {
	words := make([]string, len(all))
	for i, r := range all {
		words[i] = fmt.Sprintf("target %s is removed, but %d open jobs with %d items were resolved to it, of which %d jobs with %d items would have no target left and fail",
			r.Target, r.Jobs, r.Items, r.StrandedJobs, r.StrandedItems)
	}
	return strings.Join(words, "; ") + ". Take it out of its models first and keep it among the targets until these jobs have ended " +
		"(a dry run counts them), or reload with force."
}
