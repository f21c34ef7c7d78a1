// Package dialect reads the bodies of inferences in the formats of callers: OpenAI's, Anthropic's and Penstock's own. It parses a
// body once, into an [Inference] that travels with the call. The packages below it know one format each: openai, anthropic and
// native. The others below it build on those: endpoint finds the format of an endpoint, edit reads and changes answers, translate
// puts a call to an upstream of another format, assemble makes a plain answer of a stream, and result writes lines of results.
//
// The package owns three decisions. The first is how much an inference may generate (output.go). The second is which parts of a
// body have a bounded price (price.go). The third is which strings of a body are text, and whose (span.go).
//
// It reads bytes and holds no state. All of it is safe for concurrent use.
package dialect

import (
	"encoding/json"
	"fmt"

	"penstock"
	"penstock/internal/body"
)

// Format is what is known of the bodies of one endpoint.
type Format struct {
	Endpoint penstock.Endpoint
	Shape    *body.Shape
	// Priced says which members of a body have a bounded price: see [Inference.Price].
	Priced Members
	// PricedBetas are the names of unreleased behaviour that does not change the price; nil where no header asks for any.
	PricedBetas map[string]bool
}

// Inference is one parsed body: what Penstock has to know about it. The rest of the body is for the upstream.
//
// An Inference refers to the bytes of its body and must not outlive them. It is not changed after it was read, so it may be shared.
type Inference struct {
	// Format is the format that the body was read by; nil for an inference that was made by hand.
	Format *Format
	// Object is the body that is sent upstream. Its links are the addresses that an upstream may fetch from.
	Object body.Object
	// CustomID is the name that the caller gave the inference in a job or batch, "" for none.
	CustomID string

	Model        string
	Stream       bool
	IncludeUsage bool // the caller wants usage at the end of an OpenAI stream
	// Betas is the value of the header that asks an upstream for behaviour that is not released, "" for none.
	Betas string

	MaxOutputTokens int64   // of one answer, 0 when the caller set no bound
	Further         Further // bounds by names that only some servers obey
	Choices         int64   // answers asked for at once; 0 means one
	Silent          bool    // nothing is generated, as with embeddings
	Ranking         Ranking // what a call for reranking makes an upstream read

	// Prompt is the member of the body that names a prompt of the registry, as it was written; nil for none. Admission replaces it by the
	// messages of the prompt.
	Prompt []byte
	// Prompted is the prompt whose messages were put into the body; nil for none.
	Prompted *Prompted
	// Files are the files whose content was put into the body; nil for none.
	Files []penstock.AttachedFile
	// Counted is the tokens of the input by the tokenizer, 0 if they were not counted.
	Counted int64
	// Truncated is what was dropped of the body because it was too long; nil for nothing.
	Truncated *penstock.Truncation
}

// Prompted is a prompt in a body.
type Prompted struct {
	penstock.PromptUse
	Variables []byte // as the caller sent them, a JSON object; nil for none
	Items     int64  // of the input of a response, how many at the front are the prompt's
}

// Keep takes over the parts of an inference that its body does not contain. A body that was edited is read again, and then they are
// missing.
func (inf *Inference) Keep(of *Inference) {
	inf.CustomID, inf.Betas, inf.Files, inf.Truncated, inf.Prompted = of.CustomID, of.Betas, of.Files, of.Truncated, of.Prompted
}

// Body is the text of the body.
func (inf *Inference) Body() []byte { return inf.Object.Text }

// Bounds of what a body may ask for, so that what is reserved for it stays a number.
const (
	MaxChoices      = 128
	MaxPrompts      = 2048
	MaxOutputTokens = 1 << 24
)

// Question makes the body that asks one question. In the template a %s stands where the question belongs.
func Question(template, question string) ([]byte, error) {
	text, err := json.Marshal(question)
	if err != nil {
		return nil, fmt.Errorf("quoting a question: %w", err)
	}
	return fmt.Appendf(nil, template, text), nil
}
