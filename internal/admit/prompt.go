package admit

import (
	"context"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/prompt/promptcall"
)

// Prompts puts prompts of the registry into bodies. Package promptcall has the contracts.
type Prompts interface {
	Put(ctx context.Context, o promptcall.Order, inf dialect.Inference) (dialect.Inference, error)
	PutAll(ctx context.Context, j promptcall.Job) (*promptcall.Accepted, error)
	PinLines(ctx context.Context, l promptcall.Lines) (*promptcall.Accepted, error)
}

// PromptOrder is the order for bodies of a tenant, without what differs by body.
func PromptOrder(snapshot *config.Snapshot, tenant penstock.TenantID) promptcall.Order {
	return promptcall.Order{Tenant: tenant, MaxBytes: snapshot.Process.Limits.MaxBodyBytes, OutputTokens: snapshot.OutputTokens}
}

// prompt puts the prompt that a synchronous call names into its body. It returns the new inference, nil if the call names none: nearly
// all calls. The model of the call may be that of the prompt. Codes: those of promptcall.Service.Put.
func (o *RequestOrder) prompt(ctx context.Context, s *Service, tenant penstock.TenantID) (*dialect.Inference, error) {
	if o.Inference.Prompt == nil || s.Prompts == nil {
		return nil, nil
	}
	order := PromptOrder(s.Config.Current(), tenant)
	if order.Endpoint = o.Endpoint; o.Memory != nil {
		order.Memory = o.Memory
	}
	prompted, err := s.Prompts.Put(ctx, order, o.Inference)
	if err != nil {
		return nil, err
	}
	if o.Inference = prompted; o.Model == "" {
		o.Model = prompted.Model
	}
	return &prompted, nil
}

// Prompted is the inference of a call with the messages of the prompt that it names. It admits nothing. Codes: those of
// promptcall.Service.Put.
func Prompted(ctx context.Context, s *Service, caller penstock.Principal, o RequestOrder) (dialect.Inference, error) {
	_, err := o.prompt(ctx, s, caller.Tenant.ID)
	return o.Inference, err
}

// prompt puts prompts into the bodies of a job, or pins those of its lines. The caller's list of inferences is not changed, for the
// reason of attachJob. Codes: those of promptcall.Service.PutAll and PinLines.
func (o *JobOrder) prompt(ctx context.Context, s *Service, tenant penstock.TenantID) (pins []penstock.PromptPin, err error) {
	if s.Prompts == nil {
		return nil, nil
	}
	var a *promptcall.Accepted
	if l := o.Lines; l != nil {
		a, err = s.Prompts.PinLines(ctx, promptcall.Lines{Tenant: tenant, Endpoint: o.Endpoint, Model: o.Model, Default: l.Each.Prompt, References: l.File.Prompts})
		if a != nil {
			l.PromptBytes = a.Bytes
		}
	} else {
		order := PromptOrder(s.Config.Current(), tenant)
		if order.Endpoint, order.Model = o.Endpoint, o.Model; o.Memory != nil {
			order.Memory = o.Memory
		}
		a, err = s.Prompts.PutAll(ctx, promptcall.Job{
			Order: order, Inferences: o.Inferences, MaxAllBytes: s.Config.Current().Process.Limits.MaxJobBytes,
			In: func(err error, i int) error { return inInput(err, i, len(o.Inferences)) },
		})
		if a != nil {
			o.Inferences = a.Inferences
		}
	}
	if err != nil || a == nil {
		return nil, err
	}
	o.Model = a.Model
	return a.Pins, nil
}
