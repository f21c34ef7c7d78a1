package admit

import (
	"context"

	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/prompt/promptcall"
	"penstock/internal/store"
)

// rereading reads the stored inputs of items that a retry runs again.
type rereading struct {
	read    func(penstock.Endpoint, []byte) (dialect.Inference, error)
	prompts Prompts
	order   promptcall.Order
}

// newRereading reads the inputs of a job. References to prompts mean the versions of the job, or with fresh targets those of now.
func newRereading(s *Service, of penstock.Job, t RetryTerms) rereading {
	order := PromptOrder(s.Config.Current(), of.Tenant)
	order.Endpoint, order.Model, order.Pins, order.Accepted = of.Endpoint, of.Model, of.Resolved.Prompts, t.Resolve != penstock.ResolveFresh
	return rereading{t.Read, s.Prompts, order}
}

// inference reads an input. One that still names a prompt, because it is a line whose variables did not fit, gets its prompt. Every
// other stored input has its prompt already, and the retry sends the same bytes.
func (r rereading) inference(ctx context.Context, item *store.RetryableItem) (dialect.Inference, error) {
	inf, err := r.read(r.order.Endpoint, item.Body)
	if err != nil || inf.Prompt == nil || r.prompts == nil {
		return inf, err
	}
	if inf, err = r.prompts.Put(ctx, r.order, inf); err == nil {
		item.Body = inf.Body()
	}
	return inf, err
}

// promptAfter is the prompt of an item that a retry runs again: a new one, or that of all items of the first job. The store copies
// others. Prompts that the first job does not name are added to those of the retry.
func promptAfter(of penstock.Job, inf *dialect.Inference, retry *penstock.Resolved) *penstock.PromptUse {
	if inf.Prompted == nil {
		return of.Resolved.PromptOf()
	}
	retry.Prompts = promptcall.Repin(retry.Prompts, inf.Prompted.PromptUse)
	return &inf.Prompted.PromptUse
}
