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

// useOf is the estimated use of an inference: its bytes as input, and the caller's average output length.
func useOf(inf dialect.Inference) capacity.Use {
	return capacity.Use{
		InputTokens: inf.InputTokens(), MaxOutputTokens: inf.MaxOutputTokens, Choices: inf.Choices,
		Silent: inf.Silent,
	}
}

// spendSubmit counts a submit as a request of its caller, and refuses it past a limit. The tokens of its items count
// against the daily limits after the items ran; the bounds of the queue limit what they add to the queue. A synchronous
// call that runs as a job, so that it does not run twice, counts like any other call, at its estimate. The caller
// entrusts or releases the limit hold.
func (s *Service) spendSubmit(ctx context.Context, caller penstock.Principal, o JobOrder) (*capacity.LimitHold, error) {
	return s.Limits.Admit(ctx, &caller, s.Config.Current().Names(o.Model), submitUse(o))
}

// submitUse is the use that a submit counts against its caller's limits.
func submitUse(o JobOrder) capacity.Use {
	if o.call() {
		use := useOf(o.Inferences[0])
		use.Later, use.Try = true, o.Try // its item reports the actual use
		return use
	}
	return capacity.Use{Free: true, Queued: true, Try: o.Try}
}

// call says that the order is a synchronous call that runs as a job, so that it does not run twice.
func (o *JobOrder) call() bool { return o.Scope == penstock.ScopeInference && len(o.Inferences) == 1 }

// Permit takes a call's permits from the concurrency limits of its tenant and key, before its body is read. The limits of
// its model follow when the model is known. The permit is nil when neither is limited; the caller leaves it. Codes:
// rate_limited, overloaded.
func (s *Service) Permit(ctx context.Context, caller *penstock.Principal) (*capacity.LimitHold, error) {
	if caller.Tenant.Limits.Concurrency == 0 && caller.Limits.Concurrency == 0 {
		return nil, nil
	}
	return s.Limits.Admit(ctx, caller, penstock.ModelNames{}, capacity.Use{Permit: true})
}

// AppendLimitStates appends the state of a caller's limits, and of the limits of the model that it named. It is cheap
// enough to be called for every answer.
func (s *Service) AppendLimitStates(all []LimitState, caller *penstock.Principal, model string) []LimitState {
	return s.Limits.AppendLimitStates(all, caller, s.Config.Current().Names(model))
}
