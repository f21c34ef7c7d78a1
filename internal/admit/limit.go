package admit

import (
	"context"

	"penstock"
	"penstock/internal/capacity"
	"penstock/internal/dialect"
	"penstock/internal/limit"
)

// LimitState is how much of one limit of a caller is left.
type LimitState = capacity.LimitState

// MaxLimitStates is how many limits a caller can have.
const MaxLimitStates = limit.MaxLimitStates

// useOf is what limits take an inference for: its bytes, and what its caller's answers are long on average.
func useOf(inf dialect.Inference) capacity.Use {
	return capacity.Use{
		InputTokens: penstock.InputTokens(int64(len(inf.Object.Text))), MaxOutputTokens: inf.MaxOutputTokens, Choices: inf.Choices,
		Silent: inf.Silent,
	}
}

// spendSubmit counts a submit as a request of its caller, and refuses it past a limit. What its items use counts
// for the day when they have run; what they may add to the queue is the queue's bound. A call that only runs as a
// job, so as not to run twice, is a call like any other, at its estimate. The stay is to be entrusted or given back.
func (s *Service) spendSubmit(ctx context.Context, caller penstock.Caller, o JobOrder) (*capacity.LimitHold, error) {
	return s.Limits.Admit(ctx, &caller, s.Config.Current().Names(o.Model), submitUse(o))
}

// submitUse is what a submit takes of its caller's limits.
func submitUse(o JobOrder) capacity.Use {
	if o.call() {
		use := useOf(o.Inferences[0])
		use.Later, use.Try = true, o.Try // its item says what it used
		return use
	}
	return capacity.Use{Free: true, Queued: true, Try: o.Try}
}

// call says that the order is a synchronous call that runs as a job, so as not to run twice.
func (o *JobOrder) call() bool { return o.Scope == penstock.ScopeInference && len(o.Inferences) == 1 }

// Permit takes a call's places at a time under the limits of its tenant and key, before its body is read: the limits of
// its model follow when the model is known. The permit is nil when neither is limited, and is to be left. Codes:
// rate_limited, overloaded.
func (s *Service) Permit(ctx context.Context, caller *penstock.Caller) (*capacity.LimitHold, error) {
	if caller.Tenant.Limits.Concurrency == 0 && caller.Limits.Concurrency == 0 {
		return nil, nil
	}
	return s.Limits.Admit(ctx, caller, penstock.ModelNames{}, capacity.Use{Permit: true})
}

// AppendLimitStates adds how a caller stands with its limits, and with those of a model that it asked for. It may be asked
// for any answer.
func (s *Service) AppendLimitStates(all []LimitState, caller *penstock.Caller, model string) []LimitState {
	return s.Limits.AppendLimitStates(all, caller, s.Config.Current().Names(model))
}
