package admit

import (
	"context"

	"penstock"
	"penstock/internal/room"
)

// useOf is what limits take an inference for: its bytes, and what its caller's answers are long on average.
func useOf(inf Inference) room.Use {
	return room.Use{
		InputTokens: room.InputTokens(int64(len(inf.Body))), MaxOutputTokens: inf.MaxOutputTokens, Choices: inf.Choices,
		Silent: inf.Silent,
	}
}

// spendSubmit counts a submit as a request of its caller, and refuses it past a limit. What its items use counts
// for the day when they have run; what they may add to the queue is the queue's bound. A call that only runs as a
// job, so as not to run twice, is a call like any other, at its estimate.
func (s *Service) spendSubmit(ctx context.Context, caller penstock.Caller, o JobOrder) error {
	stay, err := s.Limits.Enter(ctx, &caller, s.Config.Current().Names(o.Model), submitUse(o))
	stay.Leave()
	return err
}

// submitUse is what a submit takes of its caller's limits.
func submitUse(o JobOrder) room.Use {
	if o.Scope == penstock.ScopeInference && len(o.Inferences) == 1 {
		use := useOf(o.Inferences[0])
		use.Later = true // its item says what it was
		return use
	}
	return room.Use{Free: true, Queued: true}
}

// AppendStandings adds how a caller stands with its limits, and with those of a model that it asked for. It may be asked
// for any answer.
func (s *Service) AppendStandings(all []room.Standing, caller *penstock.Caller, model string) []room.Standing {
	return s.Limits.AppendStandings(all, caller, s.Config.Current().Names(model))
}
