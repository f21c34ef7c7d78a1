package promptcall

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/prompt/naming"
)

// Job is the inputs of a job that is to be accepted.
type Job struct {
	Order       // of each input
	Inferences  []dialect.Inference
	MaxAllBytes int64
	// In gives an error the place of an input.
	In func(err error, index int) error
}

// Accepted is what a job with prompts is accepted with.
type Accepted struct {
	Inferences []dialect.Inference // with their prompts; nil for a job over lines
	Model      string              // of the job, or else of its prompts; "" if neither names one
	Pins       []penstock.PromptPin
	Bytes      int64 // of the longest prompt of lines, without its variables
}

// PutAll puts prompts into the bodies of a job: from then on, the job does not need the registry. It returns nil if no body names a
// prompt. The list of the job is not changed. Codes: those of Put, and too_large for all bodies together.
func (s *Service) PutAll(ctx context.Context, j Job) (*Accepted, error) {
	if !slices.ContainsFunc(j.Inferences, func(inf dialect.Inference) bool { return inf.Prompt != nil }) {
		return nil, nil
	}
	a, all := &Accepted{Inferences: slices.Clone(j.Inferences), Model: j.Model}, int64(0)
	for i, sent := range j.Inferences {
		inf, err := s.Put(ctx, j.Order, sent)
		if all += int64(len(inf.Body())); err == nil && all > j.MaxAllBytes {
			err = penstock.Errorf(penstock.CodeTooLarge, "With their prompts, the inputs together are larger than %d bytes; upload them as a file.", j.MaxAllBytes)
		}
		if err == nil && j.Model == "" {
			err = a.take(inf.Model)
		}
		if err != nil {
			return nil, j.In(err, i)
		}
		a.Inferences[i] = inf
	}
	return a, a.pin()
}

// take takes the model of a prompt. A job is for one model. Codes: invalid_request.
func (a *Accepted) take(model string) error {
	if a.Model == "" {
		a.Model = model
	}
	if model == "" || model == a.Model {
		return nil
	}
	return penstock.InvalidParam("model", "The prompts name the models %s and %s, and a job is for one; give the job a model.", clip(a.Model), clip(model))
}

// pin notes the prompts in the bodies. Codes: invalid_request (too many).
func (a *Accepted) pin() error {
	every := true
	for i := range a.Inferences {
		p := a.Inferences[i].Prompted
		if p == nil {
			every = false
			continue
		}
		if len(a.Pins) == penstock.MaxJobPrompts && !has(a.Pins, p.PromptUse) {
			return tooMany()
		}
		a.Pins = Repin(a.Pins, p.PromptUse)
	}
	if len(a.Pins) == 1 {
		a.Pins[0].Every = every
		if len(a.Inferences) == 1 {
			a.Pins[0].Items = a.Inferences[0].Prompted.Items
		}
	}
	return nil
}

func has(pins []penstock.PromptPin, use penstock.PromptUse) bool {
	return slices.ContainsFunc(pins, func(p penstock.PromptPin) bool { return p.PromptUse == use })
}

func tooMany() error {
	return penstock.InvalidParam(dialect.PromptMember, "The inputs of a job name at most %d prompts; split the job.", penstock.MaxJobPrompts)
}

// Repin adds a prompt to those of a job, if it is not among them. From then on, the items of the job differ.
func Repin(pins []penstock.PromptPin, use penstock.PromptUse) []penstock.PromptPin {
	if has(pins, use) || len(pins) == penstock.MaxJobPrompts {
		return pins
	}
	pins = slices.Clone(pins)
	for n := range pins {
		pins[n].Every = false
	}
	return append(pins, penstock.PromptPin{Written: use.String(), PromptUse: use})
}

// Lines are the lines of a file, which are read after their job was accepted.
type Lines struct {
	Tenant     penstock.TenantID
	Endpoint   penstock.Endpoint
	Model      string   // of the job, "" for none
	Default    []byte   // the prompt of lines that name no other; nil for none
	References []string // in lines; "" if a line says that it names none
}

// PinLines finds the versions that lines mean when their job is accepted. It returns nil if they name no prompt. Codes: not_found, gone,
// conflict (archived), invalid_request.
func (s *Service) PinLines(ctx context.Context, l Lines) (*Accepted, error) {
	references, err := l.all()
	if err != nil || len(references) == 0 {
		return nil, err
	}
	if !Serves(l.Endpoint) {
		return nil, penstock.InvalidParam(dialect.PromptMember, "The lines name prompts, and bodies of %s cannot name prompts.", l.Endpoint)
	}
	if len(references) > penstock.MaxJobPrompts {
		return nil, tooMany()
	}
	a := &Accepted{Model: l.Model}
	for _, written := range references {
		r, err := naming.Parse(written)
		if err != nil {
			return nil, err
		}
		found, label, err := s.find(ctx, Order{Tenant: l.Tenant}, r)
		if err == nil && l.Model == "" {
			err = a.take(found.Content.Content.Config.Model())
		}
		if err != nil {
			return nil, err
		}
		a.Pins = append(a.Pins, penstock.PromptPin{Written: written, PromptUse: penstock.PromptUse{Name: found.Name, Version: found.Version, SHA256: found.SHA256, Label: label}})
		a.Bytes = max(a.Bytes, int64(found.Content.Bytes()))
	}
	a.Pins[0].Every = l.Default != nil && len(l.References) == 0
	return a, nil
}

// all are the different references. Codes: invalid_request.
func (l *Lines) all() (references []string, err error) {
	if l.Default != nil {
		use, err := naming.ParseMember(l.Default)
		if err != nil {
			e := *penstock.AsError(err)
			e.Param, e.Message = "defaults."+e.Param, fmt.Sprintf("defaults: %s", e.Message)
			return nil, &e
		}
		references = append(references, use.String())
	}
	for _, written := range l.References {
		if written != "" && !slices.Contains(references, written) {
			references = append(references, written)
		}
	}
	return references, nil
}

// clip shortens a text of the caller before it is quoted in an error.
func clip(text string) string {
	const most = 64
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.ToValidUTF8(text, "")
}
