// Package preset has the differences between vendors of OpenAI's protocol, as data: addresses, names of members, members that
// a vendor does not honour, headers and error codes. Package openai applies them; package config takes the addresses.
//
// The table owns no behaviour and does no I/O. Each entry was checked against the vendor's documentation; docs/how-to/connect-a-provider.md
// shows the table to operators, and a test compares the two.
package preset

import (
	"slices"

	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/dialect/rerank"
	"penstock/internal/provider"
)

// Preset is a vendor. The zero value is OpenAI itself.
type Preset struct {
	// Kind is the name in the configuration.
	Kind string
	// BaseURL is the default address, with the version of the API.
	BaseURL string
	// Private says that operators run the server themselves.
	Private bool
	// Bare says that the paths of endpoints follow the host, without a version.
	Bare bool
	// Endpoints are those that the vendor has; nil for all of OpenAI's.
	Endpoints []penstock.Endpoint
	// OldBound says that the vendor knows only the older of the two names for the bound of a chat's answer.
	OldBound bool
	// Renamed are members of chats that have another name at the vendor.
	Renamed map[string]string
	// Refused are members of chats that the vendor ignores or does not accept, and the values of each that ask for nothing. Penstock
	// refuses other values: an ignored member would change the answer silently.
	Refused map[string][]string
	// OnePrompt says that a completion takes one prompt.
	OnePrompt bool
	// Dropped are members that the vendor does not accept, and without which an answer means the same. The attempt records them.
	Dropped []string
	// TopN is the vendor's name for the number of documents that a ranking returns; "" for top_n.
	TopN string
	// RankRefused are members of rankings that the vendor ignores, as Refused are of chats.
	RankRefused map[string][]string
	// UsageUnasked says that each stream reports its usage, and that the vendor does not accept the request for it.
	UsageUnasked bool
	// ReasoningApart says that the reported output excludes reasoning tokens, which are charged as output.
	ReasoningApart bool
	// Reasoning is the member of a message with the model's thoughts; "" if the thoughts are not apart from the text.
	Reasoning string
	// Limits are the headers that report limits per minute.
	Limits provider.LimitNames
	// Kinds are the vendor's error codes and HTTP statuses that mean something else than OpenAI's.
	Kinds map[string]provider.Kind
}

// Of returns the preset of a kind of provider, and false if there is none.
func Of(kind string) (Preset, bool) {
	i := slices.IndexFunc(All, func(p Preset) bool { return p.Kind == kind })
	if i < 0 {
		return Preset{}, false
	}
	return All[i], true
}

// Fits reports whether the preset has rules for the members of an endpoint's bodies.
func (p *Preset) Fits(e penstock.Endpoint) bool {
	return e == penstock.EndpointChat || e == penstock.EndpointCompletions || e == penstock.EndpointRank
}

// RefusedOf are the refused members of an endpoint's bodies.
func (p *Preset) RefusedOf(e penstock.Endpoint) map[string][]string {
	if e == penstock.EndpointRank {
		return p.RankRefused
	}
	return p.Refused
}

// NameOf is the vendor's name for a member of a body, "" if it has the same.
func (p *Preset) NameOf(e penstock.Endpoint, member string) string {
	if e == penstock.EndpointRank {
		if member == rerank.TopN {
			return p.TopN
		}
		return ""
	}
	if bounds := dialect.OutputMembers(e); p.OldBound && len(bounds) > 1 && member == bounds[0] {
		return bounds[1]
	}
	return p.Renamed[member]
}

// Kinds lists the kinds that are presets.
func Kinds() []string {
	names := make([]string, len(All))
	for i, p := range All {
		names[i] = p.Kind
	}
	return names
}
