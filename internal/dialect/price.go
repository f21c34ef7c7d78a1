package dialect

import (
	"cmp"

	"penstock"
	"penstock/internal/body"
)

// Weight is what an inference can use at most, before its target is known.
type Weight struct {
	input, images int64
	output        int64 // of one answer, 0 for as much as the target generates
	further       Further
	choices       int64
	silent        bool
}

// Weigh reads how much an inference can use at most. Every token of input is at least one byte of the body, except the tokens of
// images.
func (inf *Inference) Weigh() Weight {
	images := body.Images(inf.Object.Text)
	return Weight{
		input: int64(len(inf.Object.Text)) + images*body.ImageTokens, images: images,
		output: inf.MaxOutputTokens, further: inf.Further, choices: max(inf.Choices, 1), silent: inf.Silent,
	}
}

// On is the most that an upstream can charge for one attempt on a target. The caller or the target bounds the output.
func (w Weight) On(t *penstock.Target) penstock.Charge {
	const most = 1 << 53 // no sum of a few of them overflows
	each := w.further.Most(cmp.Or(w.output, t.MaxOutputTokens))
	output := int64(most)
	if each <= most/w.choices {
		output = each * w.choices
	}
	if w.silent {
		output = 0
	}
	return penstock.Charge{Usage: penstock.Usage{InputTokens: w.input, OutputTokens: output}, Calls: 1, Images: w.images}
}
