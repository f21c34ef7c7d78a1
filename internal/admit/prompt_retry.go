package admit

import (
	"context"
	"slices"

	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/store"
)

// promptRetry is a retry of items of a job.
type promptRetry struct {
	of  penstock.Job
	how penstock.Resolve
}

// promptAgain puts the prompt into an input that still names one: a line that was refused, because its variables did not fit. Every other
// stored input has its prompt already, and a retry sends the same bytes. The prompt is that of the first job, or with fresh targets
// the one that the reference names now.
func (s *Service) promptAgain(ctx context.Context, r promptRetry, inf *dialect.Inference, text *[]byte) error {
	if inf.Prompt == nil || s.Prompts == nil {
		return nil
	}
	order := promptOrder(s.Config.Current(), r.of.Tenant)
	order.Endpoint, order.Model, order.Pins = r.of.Endpoint, r.of.Model, r.of.Resolved.Prompts
	order.Accepted = r.how != penstock.ResolveFresh
	prompted, err := s.Prompts.Put(ctx, order, *inf)
	if err == nil {
		*inf, *text = prompted, prompted.Body()
	}
	return err
}

// promptAfter is the prompt of an item that a retry runs again: a new one, or that of all items of the first job. The store copies others.
func promptAfter(of penstock.Job, inf *dialect.Inference) *penstock.PromptUse {
	if inf.Prompted != nil {
		return &inf.Prompted.PromptUse
	}
	return of.Resolved.PromptOf()
}

// repin adds the prompts that a retry resolved again to those of its job.
func repin(sub *store.Submission) {
	pins := slices.Clone(sub.Job.Resolved.Prompts)
	for i := range sub.Items {
		use := sub.Items[i].Prompt
		if use == nil || slices.ContainsFunc(pins, func(p penstock.PromptPin) bool { return p.PromptUse == *use }) || len(pins) == penstock.MaxJobPrompts {
			continue
		}
		for n := range pins {
			pins[n].Every = false
		}
		pins = append(pins, penstock.PromptPin{Written: use.String(), PromptUse: *use})
	}
	sub.Job.Resolved.Prompts = pins
}
