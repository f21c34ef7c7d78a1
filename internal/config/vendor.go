package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/provider/preset"
)

// vendor names the company or the operator that runs the servers of a provider: the kind is the vendor's name, unless base_url leads to other servers. Regions of
// Azure and of Bedrock are one vendor, and so are the servers that operators run themselves with the same software.
func (p ProviderConfig) vendor() string {
	switch {
	case p.Azure.APIVersion != "":
		return "azure"
	case p.Kind == KindBedrock || isLocal(p.Kind) || p.BaseURL == defaultBaseURL(p.Kind):
		return p.Kind
	}
	at, err := url.Parse(p.BaseURL)
	if err != nil {
		return p.Kind + " at " + p.BaseURL
	}
	return p.Kind + " at " + strings.ToLower(at.Host)
}

// Owner is the vendor of a model's first target as callers see it, "" if it is not known. A provider that has the name of its kind says so itself,
// wherever its servers are. Addresses are the operator's own matter.
func (s *Snapshot) Owner(m penstock.Model) string {
	if len(m.Targets) == 0 || s.Targets[m.Targets[0]] == nil {
		return ""
	}
	t := s.Targets[m.Targets[0]]
	p := s.Providers[t.Provider]
	if t.Vendor == p.Kind || t.Provider == p.Kind {
		return p.Kind
	}
	return p.Vendor()
}

// describe sets the fields of a target that follow from its provider.
func (p ProviderConfig) describe(t *penstock.Target) {
	t.Private, t.Vendor = p.private(), p.vendor()
	vendor, compatible := preset.Of(p.Kind)
	if _, t.OneChoice = vendor.Refused["n"]; !compatible && p.Kind != KindOpenAI {
		// A message and an answer of Converse are one answer. Gemini's models from version 3 on refuse candidateCount.
		t.OneChoice = true
	}
	t.OnePrompt = vendor.OnePrompt
}

func onIncapable(model string) path { return path("models").key(model) + ".on_incapable" }

// inspected are the paths whose places a snapshot keeps: those of files, and those of settings that a notice asks for.
func (f *File) inspected() []path {
	paths := slices.Clone(filePaths)
	for name := range f.Models {
		paths = append(paths, onIncapable(name))
	}
	return paths
}

// vendorNotices name the models whose targets belong to several vendors of different capabilities, and that do not set on_incapable.
func (s *Snapshot) vendorNotices() []string {
	var notices []string
	for _, name := range slices.Sorted(maps.Keys(s.file.Models)) {
		m := s.file.Models[name]
		if _, written := s.places[onIncapable(name)]; written || m.OnIncapable != penstock.IncapableSameVendor {
			continue
		}
		if vendors := s.divided(m.Targets); len(vendors) > 1 {
			notices = append(notices, fmt.Sprintf("%s: calls that the targets of one vendor cannot serve do not move to another vendor (%s): they get 400. "+
				"Set on_incapable: skip to let them move, or on_incapable: same_vendor to confirm.", path("models").key(name), clip(strings.Join(vendors, ", "), 200)))
		}
	}
	return notices
}

// divided are the vendors of some targets; nil if all targets can serve the same calls, as far as the configuration says.
func (s *Snapshot) divided(targets []string) []string {
	vendors, differ := map[string]bool{}, false
	for i, name := range targets {
		t, first := s.Targets[name], s.Targets[targets[0]]
		vendors[t.Vendor] = true
		differ = differ || i > 0 && (t.Lacks != first.Lacks || s.Providers[t.Provider].Kind != s.Providers[first.Provider].Kind)
	}
	if !differ {
		return nil
	}
	return slices.Sorted(maps.Keys(vendors))
}
