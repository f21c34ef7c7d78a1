// Package promptcall puts prompts of the registry into the bodies of inferences, in the place of the member that names them.
//
// It owns the rule by which a rendered prompt and a caller's body become one body: the messages of the prompt come first, and the
// caller's members win over the config of the prompt. Package naming reads the names of prompts, package prompt resolves them, and
// package promptbody writes a rendered prompt in the dialect of an endpoint.
//
// The messages are in the body before the call or the item is admitted. So files, lengths, filters, prices, caches and every target
// see an ordinary body, and accepted work does not need the registry any more. The same prompt, variables and body give the same bytes.
//
// A Service is safe for concurrent use.
package promptcall

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
	"penstock/internal/dialect/catalog"
	"penstock/internal/prompt"
	"penstock/internal/prompt/content"
	"penstock/internal/prompt/naming"
	"penstock/internal/prompt/promptbody"
)

// Registry resolves references, from memory.
type Registry interface {
	// Resolve finds the version that a reference names. Codes: not_found, gone, conflict (archived).
	Resolve(ctx context.Context, tenant penstock.TenantID, ref content.Reference) (*prompt.Found, error)
	// Identify makes a reference of the id of a prompt and a version or a label, "" for the default label. Codes: not_found,
	// invalid_request.
	Identify(ctx context.Context, tenant penstock.TenantID, id, version string) (content.Reference, error)
}

// Memory counts the bytes of bodies in memory.
type Memory interface {
	// Take counts bytes before they are allocated. Codes: rate_limited, overloaded.
	Take(n int64) error
}

// Service renders prompts for bodies.
type Service struct{ registry Registry }

// New returns a service.
func New(r Registry) *Service { return &Service{r} }

// Order is a body that may name a prompt.
type Order struct {
	Tenant   penstock.TenantID
	Endpoint penstock.Endpoint
	// Model is the model of the job that the body belongs to, "" for none. The config of the prompt names another in vain.
	Model string
	// OutputTokens bounds the answers of a model in a dialect that demands a bound, if neither the body nor the config has one.
	OutputTokens func(model string) int64
	MaxBytes     int64  // of the body with the prompt
	Memory       Memory // nil for no bounds
	// Accepted work means the versions of its pins. Other work means the versions that its references name now.
	Accepted bool
	Pins     []penstock.PromptPin
}

// endpoints have prompts.
var endpoints = []penstock.Endpoint{penstock.EndpointChat, penstock.EndpointMessages, penstock.EndpointResponses}

// Serves says whether bodies of an endpoint can name prompts.
func Serves(e penstock.Endpoint) bool { return slices.Contains(endpoints, e) }

// Put returns an inference with the messages of the prompt that it names. An inference that names no prompt is returned unchanged. Codes:
// not_found, gone, conflict (archived), invalid_request, too_large, rate_limited, overloaded.
func (s *Service) Put(ctx context.Context, o Order, inf dialect.Inference) (dialect.Inference, error) {
	if inf.Prompt == nil {
		return inf, nil
	}
	if !Serves(o.Endpoint) {
		return inf, penstock.InvalidParam(dialect.PromptMember, "Bodies of %s cannot name prompts; those of %s can.", o.Endpoint, join(endpoints))
	}
	use, err := naming.ParseMember(inf.Prompt)
	if err != nil {
		return inf, err
	}
	found, label, err := s.find(ctx, o, use.Reference)
	if err != nil {
		return inf, err
	}
	variables, err := use.Values()
	if err != nil {
		return inf, about(found, err)
	}
	rendered, err := found.Content.Render(variables)
	if err != nil {
		return inf, about(found, err)
	}
	text, items, err := write(o, &inf, rendered)
	if err != nil {
		return inf, about(found, err)
	}
	prompted, err := catalog.Read(o.Endpoint, text)
	if err != nil {
		return inf, about(found, err)
	}
	prompted.Keep(&inf)
	prompted.Prompted = &dialect.Prompted{
		PromptUse: penstock.PromptUse{Name: found.Name, Version: found.Version, SHA256: found.SHA256, Label: label}, Items: items,
	}
	prompted.Prompted.Variables, err = kept(use, variables)
	return prompted, err
}

// kept are the variables as they are stored: the text of the caller, or in OpenAI's form the values of its parts.
func kept(use naming.Use, values map[string]any) ([]byte, error) {
	if use.ID == "" || len(use.Variables) == 0 {
		return bytes.Clone(use.Variables), nil // the memory of the body may be used again before they are stored
	}
	text, err := json.Marshal(values)
	if err != nil {
		return nil, penstock.Internal(fmt.Errorf("writing the variables of a prompt: %w", err))
	}
	return text, nil
}

// write makes the body with the prompt. For responses it also returns how many items the prompt adds.
func write(o Order, inf *dialect.Inference, r content.Rendered) (text []byte, items int64, err error) {
	var written []byte
	switch o.Endpoint {
	case penstock.EndpointMessages:
		model := inf.Model
		if model == "" {
			model = o.Model
		}
		if model == "" {
			model = r.Config.Model()
		}
		written, _, err = promptbody.Messages(r, o.OutputTokens(model))
	case penstock.EndpointResponses:
		written, err = promptbody.Responses(r)
	default:
		written, err = promptbody.Chat(r)
	}
	if err != nil {
		return nil, 0, err
	}
	part, err := body.Scan(written)
	if err != nil {
		return nil, 0, penstock.Internal(fmt.Errorf("reading a rendered prompt: %w", err))
	}
	m := merger{endpoint: o.Endpoint, caller: inf.Object, prompt: part, model: o.Model}
	if text, err = m.merge(); err != nil {
		return nil, 0, err
	}
	if int64(len(text)) > o.MaxBytes {
		return nil, 0, penstock.Errorf(penstock.CodeTooLarge, "With the prompt, the body has %d bytes; %d are the most (limits.max_body_bytes).", len(text), o.MaxBytes)
	}
	if o.Memory != nil {
		err = o.Memory.Take(int64(len(text)))
	}
	if o.Endpoint == penstock.EndpointResponses {
		items = elements(part.Raw(m.conversation()))
	}
	return text, items, err
}

// elements counts the elements of a list.
func elements(list []byte) (n int64) {
	in := body.NewCursor(list)
	for range in.Elements {
		in.Skip()
		n++
	}
	return n
}

// find finds the version that a reference means, and the label that named it.
func (s *Service) find(ctx context.Context, o Order, r naming.Reference) (found *prompt.Found, label string, err error) {
	if o.Accepted {
		return s.pinned(ctx, o, r)
	}
	ref := r.Reference
	if r.ID != "" {
		if ref, err = s.registry.Identify(ctx, o.Tenant, r.ID, selector(r.Reference)); err != nil {
			return nil, "", notImported(err)
		}
	}
	if found, err = s.registry.Resolve(ctx, o.Tenant, ref); err != nil {
		return nil, "", named(r, err)
	}
	if ref.Version == 0 {
		label = ref.Selected()
	}
	return found, label, nil
}

// selector is the version or the label of a reference, "" for none.
func selector(r content.Reference) string {
	if r.Version > 0 {
		return strconv.FormatInt(r.Version, 10)
	}
	return r.Label
}

// pinned finds the version that a reference meant when the work was accepted.
func (s *Service) pinned(ctx context.Context, o Order, r naming.Reference) (*prompt.Found, string, error) {
	written := r.String()
	at := slices.IndexFunc(o.Pins, func(p penstock.PromptPin) bool { return p.Written == written })
	if at < 0 {
		return nil, "", penstock.InvalidParam(dialect.PromptMember, "The job was accepted without the prompt %s: its file was uploaded to an older release. Upload the file again, and create a new job.", written)
	}
	pin := o.Pins[at]
	found, err := s.registry.Resolve(ctx, o.Tenant, content.Reference{Name: pin.Name, Version: pin.Version})
	if err != nil {
		return nil, "", named(r, err)
	}
	if found.SHA256 != pin.SHA256 {
		return nil, "", penstock.Internal(fmt.Errorf("version %d of the prompt %s has the hash %s, and %s was accepted", pin.Version, pin.Name, found.SHA256, pin.SHA256))
	}
	return found, pin.Label, nil
}
