package admit

import (
	"time"

	"penstock"
	"penstock/internal/body"
)

// Most is the most that an inference can use.
type Most struct {
	Tokens int64
	Cost   penstock.NanoUSD
}

// MaxReservation is the most that is set aside for one attempt.
const MaxReservation = penstock.MaxCost

// Terms are what the price of an inference depends on beside its tokens.
type Terms struct {
	From time.Time // when it may run, or any time later
	Lane penstock.Lane
}

// Bound is the most that one attempt at an inference can use on any of the targets. Every token of
// input is at least one byte of body, but for those of images; the output is bounded by the caller or by
// the target. Prices that are announced count from now on.
func Bound(targets []*penstock.Target, inf Inference, terms Terms) Most {
	const mostTokens = 1 << 53 // no sum of a few of them overflows
	images := body.Images(inf.Body)
	input := int64(len(inf.Body)) + images*body.ImageTokens
	var most Most
	for _, t := range targets {
		each := inf.MaxOutputTokens
		if each == 0 {
			each = t.MaxOutputTokens
		}
		choices := max(inf.Choices, 1)
		output := int64(mostTokens)
		if each <= mostTokens/choices {
			output = each * choices
		}
		if inf.Silent {
			output = 0
		}
		most.Tokens = max(most.Tokens, input+output)
		most.Cost = max(most.Cost, t.MostFrom(terms.From, penstock.Charge{
			Usage: penstock.Usage{InputTokens: input, OutputTokens: output}, Calls: 1, Images: images, Lane: terms.Lane,
		}))
	}
	most.Cost = min(most.Cost, MaxReservation)
	return most
}
