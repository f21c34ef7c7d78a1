package openai

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/provider"
	"penstock/internal/provider/preset"
	"penstock/internal/provider/wire"
)

const memberStreamOptions = "stream_options"

// fitBody refuses a body that asks for something that the vendor cannot do, and takes out members that the vendor does not accept. It
// returns a note that names those members.
func fitBody(vendor *preset.Preset, call *provider.Call) (note string, err error) {
	if vendor.Kind == "" || !vendor.Fits(call.Endpoint) {
		return "", nil
	}
	top, err := scanned(call)
	if err != nil {
		return "", wire.RejectBody("the body", err)
	}
	if name := unsupported(vendor, call.Endpoint, top); name != "" {
		return "", &provider.Error{Kind: provider.KindRejected, Message: fmt.Sprintf(
			"%s has a value that %s does not support: leave it out, or use a model of another provider", name, vendor.Kind)}
	}
	var left []string
	for _, m := range top.Members {
		if unwanted(vendor, call.Endpoint, top, m.Name) {
			left = append(left, m.Name)
		}
	}
	if len(left) == 0 {
		return "", nil
	}
	call.Body, call.Object = without(call.Body, left), nil
	if left = slices.DeleteFunc(left, func(name string) bool { return name == memberStreamOptions }); len(left) == 0 {
		return "", nil // the usage that it asks for comes unasked
	}
	return notePrefix + strings.Join(left, ", "), nil
}

const notePrefix = "dropped "

// dropped are the members of a note without those that asked for nothing, such as one choice where the vendor gives one.
func dropped(vendor *preset.Preset, note string) string {
	names := strings.Split(strings.TrimPrefix(note, notePrefix), ", ")
	return strings.Join(slices.DeleteFunc(names, func(name string) bool { _, neutral := vendor.Refused[name]; return neutral }), ", ")
}

// Unsupported implements [provider.Checker].
func (p *Provider) Unsupported(call provider.Call) string {
	if len(p.vendor.RefusedOf(call.Endpoint)) == 0 || !p.vendor.Fits(call.Endpoint) {
		return ""
	}
	top, err := scanned(&call)
	if err != nil {
		return "" // the call itself fails, and says why
	}
	return unsupported(&p.vendor, call.Endpoint, top)
}

// scanned is the body of a call with its members found.
func scanned(call *provider.Call) (body.Object, error) {
	if call.Object != nil {
		return *call.Object, nil
	}
	return body.Scan(call.Body)
}

// unsupported is the first member, by its name, that the vendor does not honour; "" if the vendor honours all.
func unsupported(vendor *preset.Preset, e penstock.Endpoint, top body.Object) (first string) {
	for name, neutral := range vendor.RefusedOf(e) {
		if raw := top.Raw(name); len(raw) > 0 && !asksNothing(raw, neutral) && (first == "" || name < first) {
			first = name
		}
	}
	return first
}

// unwanted says whether the vendor does not accept a member without which the answer means the same.
func unwanted(vendor *preset.Preset, e penstock.Endpoint, top body.Object, name string) bool {
	if name == memberStreamOptions && vendor.UsageUnasked || slices.Contains(vendor.Dropped, name) {
		return true
	}
	if _, refused := vendor.RefusedOf(e)[name]; refused {
		return true // its value asks for nothing
	}
	other := vendor.NameOf(e, name)
	return other != "" && top.Value(other).Found() // the body has it by both names
}

// renames are the edits that give members the names that the vendor knows.
func renames(vendor *preset.Preset, e penstock.Endpoint, top body.Object) (edits []body.Edit) {
	if vendor.Kind == "" || !vendor.Fits(e) {
		return nil
	}
	for _, m := range top.Members {
		if other := vendor.NameOf(e, m.Name); other != "" {
			edits = append(edits, body.Edit{At: nameOf(top.Text, m), Text: strconv.Quote(other)})
		}
	}
	return edits
}

// asksNothing reports whether a value is as good as none.
func asksNothing(raw []byte, neutral []string) bool {
	const longest = 64 // more than any such value needs
	if len(raw) > longest {
		return false
	}
	compact := jsontext.Value(bytes.Clone(raw))
	return compact.Compact() == nil && (string(compact) == "null" || slices.Contains(neutral, string(compact)))
}

// nameOf is where the name of a member stands, its quotes included.
func nameOf(text []byte, m body.Member) body.Span {
	end := bytes.LastIndexByte(text[:m.Value.Start], '"') + 1
	return body.Span{Start: bytes.LastIndexByte(text[:end-1], '"'), End: end}
}

// without is an object without some of its members. Few bodies have such a member, so each is taken out by itself.
func without(text []byte, names []string) []byte {
	for _, name := range names {
		o, err := body.Scan(text)
		if err != nil {
			return text
		}
		i := slices.IndexFunc(o.Members, func(m body.Member) bool { return m.Name == name })
		if i < 0 {
			continue
		}
		from, to := nameOf(text, o.Members[i]).Start, o.Members[i].Value.End
		switch {
		case i+1 < len(o.Members):
			to = nameOf(text, o.Members[i+1]).Start
		case i > 0:
			from = o.Members[i-1].Value.End
		}
		text = body.Apply(text, body.Edit{At: body.Span{Start: from, End: to}})
	}
	return text
}

// bareURL is the address of an endpoint whose path follows the host.
func (p *Provider) bareURL(e penstock.Endpoint) string {
	return p.base + strings.TrimPrefix(string(e), "/v1")
}

// vendorReader reads the answers of a vendor as its preset says.
type vendorReader struct {
	wire.Reader
	vendor   *preset.Preset
	endpoint penstock.Endpoint
}

// Usage implements [wire.Reader].
func (r *vendorReader) Usage() (penstock.Usage, wire.Reported) {
	usage, reported := r.Reader.Usage()
	if r.vendor.ReasoningApart && r.endpoint == penstock.EndpointChat {
		usage.OutputTokens = min(usage.OutputTokens+usage.ReasoningTokens, penstock.MaxTokens)
	}
	return usage, reported
}

// Complaint implements [wire.Reader].
func (r *vendorReader) Complaint(status int, text []byte) wire.Complaint {
	c := r.Reader.Complaint(status, text)
	if reason := jsontext.Value(bytes.Clone(text)); c.Message == "" && len(text) < maxReasonBytes && reason.Compact() == nil {
		c.Message = string(reason) // the reason is an object, which names the member that the vendor refuses
	}
	for _, code := range append(parseComplaint(status, text).Codes, strconv.Itoa(status)) {
		if kind, ok := r.vendor.Kinds[code]; ok {
			c.Kind = kind
			return c
		}
	}
	return c
}

// maxReasonBytes bounds an error that is repeated whole.
const maxReasonBytes = 2 << 10

// notedAnswer is an answer with a note on its request.
type notedAnswer struct {
	provider.Answer
	note    string
	dropped string // members that ask for something
}

// Meta implements [provider.Answer].
func (a *notedAnswer) Meta() provider.Meta {
	m := a.Answer.Meta()
	m.Note, m.Dropped = strings.TrimPrefix(m.Note+"; "+a.note, "; "), a.dropped
	return m
}
