package admit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/dialect"
	"penstock/internal/prompt/naming"
	"penstock/internal/prompt/promptcall"
)

// Prompts puts prompts of the registry into bodies.
type Prompts interface {
	// Put returns an inference with the messages of the prompt that it names. Codes: those of promptcall.Service.Put.
	Put(ctx context.Context, o promptcall.Order, inf dialect.Inference) (dialect.Inference, error)
	// Pin finds the versions that references mean now. Codes: those of promptcall.Service.Pin.
	Pin(ctx context.Context, tenant penstock.TenantID, references []string) ([]promptcall.Pinned, error)
}

// promptOrder is the order for bodies of a tenant.
func promptOrder(snapshot *config.Snapshot, tenant penstock.TenantID) promptcall.Order {
	return promptcall.Order{
		Tenant: tenant, MaxBytes: snapshot.Process.Limits.MaxBodyBytes,
		OutputTokens: func(model string) int64 { return outputTokens(snapshot, model) },
	}
}

// outputTokens bounds the answers of a model whose dialect demands a bound: the least that one of its targets generates at the most,
// so that every target accepts it.
func outputTokens(snapshot *config.Snapshot, model string) (least int64) {
	const usual = 4096
	named, _ := snapshot.Model(model) // if there is none, admission refuses it
	for _, t := range snapshot.TargetsOf(named.Name) {
		if t.MaxOutputTokens > 0 && (least == 0 || t.MaxOutputTokens < least) {
			least = t.MaxOutputTokens
		}
	}
	if least == 0 {
		return usual
	}
	return least
}

// promptRequest puts the prompt that a synchronous call names into its body. It returns the new inference, nil if the call names none:
// nearly all calls. The model of the call may be that of the prompt.
func (s *Service) promptRequest(ctx context.Context, caller penstock.Principal, o *RequestOrder) (*dialect.Inference, error) {
	if o.Inference.Prompt == nil || s.Prompts == nil {
		return nil, nil
	}
	order := promptOrder(s.Config.Current(), caller.Tenant.ID)
	order.Endpoint = o.Endpoint
	if o.Memory != nil {
		order.Memory = o.Memory
	}
	prompted, err := s.Prompts.Put(ctx, order, o.Inference)
	if err != nil {
		return nil, err
	}
	o.Inference = prompted
	if o.Model == "" {
		o.Model = prompted.Model
	}
	return &prompted, nil
}

// promptJob puts prompts into the bodies of a job: from here on, the job does not need the registry. The caller's list of inferences is
// not changed, for the reason of attachJob. The prompts of a job over lines are pinned: its lines are read later. Codes: those of
// Prompts, and too_large for all bodies together.
func (s *Service) promptJob(ctx context.Context, caller penstock.Principal, o *JobOrder) ([]penstock.PromptPin, error) {
	if s.Prompts == nil {
		return nil, nil
	}
	if o.Lines != nil {
		return s.promptLines(ctx, caller, o)
	}
	sent := o.Inferences
	if !slices.ContainsFunc(sent, func(inf dialect.Inference) bool { return inf.Prompt != nil }) {
		return nil, nil
	}
	o.Inferences = slices.Clone(sent)
	all, most := int64(0), s.Config.Current().Process.Limits.MaxJobBytes
	for i := range sent {
		order := promptOrder(s.Config.Current(), caller.Tenant.ID)
		order.Endpoint, order.Model = o.Endpoint, o.Model
		if o.Memory != nil {
			order.Memory = o.Memory
		}
		prompted, err := s.Prompts.Put(ctx, order, sent[i])
		if err == nil {
			if all += int64(len(prompted.Body())); all > most {
				err = penstock.Errorf(penstock.CodeTooLarge, "With their prompts, the inputs together are larger than %d bytes; upload them as a file.", most)
			}
		}
		if err != nil {
			return nil, inInput(err, i, len(sent))
		}
		o.Inferences[i] = prompted
	}
	if err := o.takeModel(); err != nil {
		return nil, err
	}
	return pinsOf(o.Inferences)
}

// takeModel takes the model of the prompts if the order has none. A job is for one model. Codes: invalid_request.
func (o *JobOrder) takeModel() error {
	if o.Model != "" {
		return nil
	}
	for i, inf := range o.Inferences {
		if o.Model == "" {
			o.Model = inf.Model
		}
		if inf.Model != "" && inf.Model != o.Model {
			return inInput(severalModels([]string{o.Model, inf.Model}), i, len(o.Inferences))
		}
	}
	return nil
}

func severalModels(names []string) error {
	for i := range names {
		names[i] = clip(names[i])
	}
	return penstock.InvalidParam("model", "The prompts name several models, %s, and a job is for one; give the job a model.", strings.Join(names, " and "))
}

// pinsOf are the prompts in the bodies of a job. Codes: invalid_request (too many).
func pinsOf(infs []dialect.Inference) (pins []penstock.PromptPin, err error) {
	every := true
	for i := range infs {
		p := infs[i].Prompted
		if p == nil {
			every = false
			continue
		}
		if slices.ContainsFunc(pins, func(pin penstock.PromptPin) bool { return pin.PromptUse == p.PromptUse }) {
			continue
		}
		if len(pins) == penstock.MaxJobPrompts {
			return nil, penstock.InvalidParam(dialect.PromptMember, "The inputs of a job name at most %d prompts; split the job.", penstock.MaxJobPrompts)
		}
		pins = append(pins, penstock.PromptPin{Written: p.String(), PromptUse: p.PromptUse})
	}
	if len(pins) == 1 {
		pins[0].Every = every
	}
	if len(infs) == 1 && len(pins) == 1 {
		pins[0].Items = infs[0].Prompted.Items
	}
	return pins, nil
}

// promptLines pins the prompts that the defaults and the lines of a job over a file name.
func (s *Service) promptLines(ctx context.Context, caller penstock.Principal, o *JobOrder) ([]penstock.PromptPin, error) {
	l := o.Lines
	references, err := l.references()
	if err != nil || len(references) == 0 {
		return nil, err
	}
	if !promptcall.Serves(o.Endpoint) {
		return nil, penstock.InvalidParam(dialect.PromptMember, "The file names prompts, and bodies of %s cannot name prompts.", o.Endpoint)
	}
	found, err := s.Prompts.Pin(ctx, caller.Tenant.ID, references)
	if err != nil {
		return nil, err
	}
	pins, models := make([]penstock.PromptPin, len(found)), []string{}
	for i, p := range found {
		pins[i] = p.PromptPin
		l.PromptBytes = max(l.PromptBytes, p.Bytes)
		if p.Model != "" && !slices.Contains(models, p.Model) {
			models = append(models, p.Model)
		}
	}
	pins[0].Every = len(pins) == 1 && l.Each.Prompt != nil && len(l.File.Prompts) == 0
	if o.Model != "" || len(models) == 0 {
		return pins, nil
	}
	if len(models) > 1 {
		return nil, severalModels(models)
	}
	o.Model = models[0]
	return pins, nil
}

// references are the different references in the defaults and the lines. Codes: invalid_request.
func (l *Lines) references() ([]string, error) {
	var all []string
	if l.Each.Prompt != nil {
		use, err := naming.ParseMember(l.Each.Prompt)
		if err != nil {
			e := *penstock.AsError(err)
			e.Param, e.Message = "defaults."+e.Param, fmt.Sprintf("defaults: %s", e.Message)
			return nil, &e
		}
		all = append(all, use.String())
	}
	for _, written := range l.File.Prompts {
		if written != "" && !slices.Contains(all, written) {
			all = append(all, written)
		}
	}
	return all, nil
}

// PromptLine puts the prompt that a line of an accepted job names into its body: the version that the job was accepted with. A line
// that names none is returned unchanged. Codes: those of Prompts.Put.
func PromptLine(ctx context.Context, prompts Prompts, o ItemOrder, inf dialect.Inference) (dialect.Inference, error) {
	if inf.Prompt == nil || prompts == nil {
		return inf, nil
	}
	order := promptOrder(o.Snapshot, o.Job.Tenant)
	order.Endpoint, order.Model, order.Accepted, order.Pins = o.Job.Endpoint, o.Job.Model, true, o.Job.Resolved.Prompts
	return prompts.Put(ctx, order, inf)
}
