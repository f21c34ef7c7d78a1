package dialect

import (
	"cmp"

	"penstock"
	"penstock/internal/body"
)

// Weight is what an inference can use at most, before its target is known.
type Weight struct {
	asked         asked
	input, images int64
	rest          int64 // bytes beside the prompts of a completion
	searches      int64
	documents     int64
	output        int64 // of one answer, 0 for as much as the target generates
	further       Further
	choices       int64
	silent        bool
}

// Weigh reads how much an inference can use at most. Every token of input is at least one byte of the body, except the tokens of
// images and those that a reranker reads again. Documents are not weighed: see [Weight.WithDocuments].
func (inf *Inference) Weigh() Weight {
	images := inf.Object.Images()
	return Weight{
		asked: inf.asked(), rest: int64(len(inf.Object.Text) - len(inf.Object.Raw("prompt"))),
		input:  int64(len(inf.Object.Text)) + images*body.ImageTokens + inf.Ranking.MostRepeated(),
		images: images, searches: inf.Ranking.Searches(),
		output: inf.MaxOutputTokens, further: inf.Further, choices: max(inf.Choices, 1), silent: inf.Silent,
	}
}

// WithDocuments is the weight with so many documents whose tokens the bytes of the body do not bound.
func (w Weight) WithDocuments(n int64) Weight {
	w.documents = n
	return w
}

// On is the most that an upstream can charge for one attempt on a target, documents left out. The caller or the target bounds the
// output.
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
	parts := w.asked.parts(t)
	return penstock.Charge{Usage: penstock.Usage{InputTokens: w.inputOf(parts), OutputTokens: output}, Calls: parts.Calls, Images: w.images * parts.Calls, Searches: w.searches}
}

// inputOf is the input of all calls that the inference takes. Each call pays for its input, and has all of the body but other prompts.
func (w Weight) inputOf(p Parts) int64 {
	input := w.input
	if p.perPrompt {
		input += w.rest * (w.asked.prompts - 1)
	}
	return input * p.repeats
}

// MaxContextTokens is more than the context of any model that is served. It bounds the input on a target that does not state its own.
const MaxContextTokens = 1 << 21

// Attached is the most tokens of input on a target that the bytes and images of the body do not bound: those of documents, and those
// that the features of the call add. The pages of a document are compressed, so neither its bytes nor its pages bound its text; the
// context of the model does, for all documents together.
func (w Weight) Attached(t *penstock.Target) int64 {
	attached := t.AddedInputTokens
	if w.documents > 0 {
		attached += cmp.Or(t.ContextTokens, MaxContextTokens)
	}
	return attached * w.asked.parts(t).Calls
}
