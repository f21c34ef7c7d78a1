package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/catalogue"
)

// CatalogueConfig is the use of the catalogue of models: public facts that describe targets which do not describe
// themselves.
type CatalogueConfig struct {
	// File is the path of a catalogue that takes the place of the embedded one. Each start and each reload reads it.
	// "penstock models list --catalogue -o json" prints the embedded one as such a file. Zero: the embedded catalogue.
	File string `yaml:"file,omitempty"`

	// Use is all if targets take the price, the context and the capabilities that they do not set from the catalogue,
	// and none if they do not. Zero: the default, all.
	Use string `yaml:"use,omitempty"`
}

// The uses of the catalogue.
const (
	CatalogueAll  = "all"
	CatalogueNone = "none" // also of a single target
)

// facts are what the targets of a file took from a catalogue.
type facts struct {
	book    *catalogue.Catalogue       // nil where it is not used
	entries map[string]catalogue.Entry // by target
	priced  map[string]bool            // targets whose price is that of their entry
}

// openCatalogue returns the catalogue that a file uses. What is wrong with it is a problem of the file.
func openCatalogue(c CatalogueConfig, d *draft) facts {
	known := facts{entries: map[string]catalogue.Entry{}, priced: map[string]bool{}}
	if c.Use == CatalogueNone {
		return known
	}
	if known.book = catalogue.Embedded(); c.File == "" {
		return known
	}
	book, err := catalogue.Load(c.File)
	if err != nil {
		d.problems = append(d.problems, newProblem("catalogue.file", d.places.nearest("catalogue.file"), err.Error()))
		return known
	}
	known.book = book
	return known
}

// CatalogueFile is the path of the catalogue that the file at a path names, "" for the embedded one. Problems in other
// parts of the file do not matter: listing models needs no secrets.
func CatalogueFile(path string, env Env) (string, error) {
	text, err := readFile(path)
	if err != nil {
		return "", err
	}
	d := decode(text, env)
	if d.fatal {
		return "", fmt.Errorf("%s: %w", path, d.problems)
	}
	return d.file.Catalogue.File, nil
}

// vendors are the hosts at which vendors of the catalogue serve their own models. A server at another host may be a
// proxy or a local server with prices of its own, so nothing is assumed about it.
var vendors = map[string]string{
	"api.openai.com": "openai", "api.anthropic.com": "anthropic", "generativelanguage.googleapis.com": "gemini",
	"api.mistral.ai": "mistral", "api.groq.com": "groq", "api.together.xyz": "together", "api.together.ai": "together",
	"api.x.ai": "xai", "api.deepseek.com": "deepseek", "openrouter.ai": "openrouter", "api.perplexity.ai": "perplexity",
	"api.cohere.com": "cohere", "api.cohere.ai": "cohere", "api.voyageai.com": "voyage", "api.cerebras.ai": "cerebras",
}

// Vendor is the vendor whose models a provider serves under their own names, "" if that is not known.
func (p ProviderConfig) Vendor() string {
	if p.Azure != (Azure{}) {
		return "azure"
	}
	u, err := url.Parse(p.BaseURL)
	if err != nil {
		return ""
	}
	host := strings.ToLower(u.Hostname())
	if strings.HasPrefix(host, "bedrock-runtime") && strings.HasSuffix(host, ".amazonaws.com") {
		return "bedrock"
	}
	return vendors[host]
}

// describe fills in what a target leaves out and the catalogue knows.
func (k facts) describe(name string, t *TargetConfig, p ProviderConfig, written places) {
	e, ok := k.entryOf(*t, p)
	if !ok {
		return
	}
	at := path("targets").key(name)
	k.entries[name] = e
	if _, ok := written[at+".price"]; !ok && t.Price == (Price{}) && e.Price != (catalogue.Price{}) {
		t.Price, k.priced[name] = priceOf(e.Price), true
	}
	if e.Mode != "chat" && e.Mode != "responses" && e.Mode != "completion" {
		return // the context is that of one of many inputs, and capabilities are not listed
	}
	fill(written, at+".context_tokens", &t.ContextTokens, e.ContextTokens)
	if e.MaxOutputTokens > 0 {
		// Not more than the default: a call without a maximum reserves money for all of it.
		fill(written, at+".max_output_tokens", &t.MaxOutputTokens, min(e.MaxOutputTokens, DefaultMaxOutputTokens))
	}
	if len(e.Capabilities) > 0 {
		t.Capabilities = fillList(written, at+".capabilities", t.Capabilities, capabilitiesOf(e))
	}
}

// entryOf finds the entry of a target.
func (k facts) entryOf(t TargetConfig, p ProviderConfig) (catalogue.Entry, bool) {
	switch {
	case k.book == nil || t.Catalogue == CatalogueNone:
		return catalogue.Entry{}, false
	case t.Catalogue != "":
		return k.book.Named(t.Catalogue)
	}
	vendor := p.Vendor()
	if vendor == "" {
		return catalogue.Entry{}, false
	}
	return k.book.Find(vendor, t.UpstreamModel)
}

// priceOf leaves out the prices of batch APIs: Penstock does not call them.
func priceOf(p catalogue.Price) Price {
	return Price{
		Input: p.Input, CachedInput: p.CachedInput, CacheWrite: p.CacheWrite, CacheWrite1h: p.CacheWrite1h, AudioInput: p.AudioInput,
		Output: p.Output, Reasoning: p.Reasoning, AudioOutput: p.AudioOutput, InputAbove200k: p.InputAbove200k, OutputAbove200k: p.OutputAbove200k,
		PerSearch: p.PerSearch,
	}
}

// capabilitiesOf are the capabilities that routing asks for. Every chat model streams; catalogues do not say so.
func capabilitiesOf(e catalogue.Entry) []penstock.Capability {
	list := []penstock.Capability{penstock.CapabilityStreaming}
	for _, c := range penstock.AllCapabilities {
		if e.Has(string(c)) {
			list = append(list, c)
		}
	}
	return list
}

// sourceOf names where the price of a target comes from, "" for the file.
func (k facts) sourceOf(target string) string {
	if !k.priced[target] {
		return ""
	}
	return "catalogue " + k.book.Date
}

// versionOf is the version of a target's first price. The version of a catalogue's price names the catalogue, so that
// every record of a cost tells where its price came from.
func (k facts) versionOf(target, hash string) string {
	if !k.priced[target] {
		return hash
	}
	return hash + "+catalogue@" + k.book.Date
}

// canonical is what the hash covers of the origin of a price.
func (k facts) canonical(target string) string {
	if !k.priced[target] {
		return ""
	}
	return fmt.Sprintf("catalogue %s %s %s", k.book.Date, k.book.Hash, k.entries[target].Name())
}

// catalogue checks the names of entries, and that they have an effect.
func (c *checker) catalogue(f *File, k facts) {
	if f.Catalogue.Use != "" {
		oneOf(c, "catalogue.use", f.Catalogue.Use, []string{CatalogueAll, CatalogueNone})
	}
	if f.Catalogue.Use == CatalogueNone && f.Catalogue.File != "" {
		c.fail("catalogue.file", "has no effect with use: none; remove one of them")
	}
	for name, t := range f.Targets {
		at := path("targets").key(name) + ".catalogue"
		switch {
		case t.Catalogue == "" || t.Catalogue == CatalogueNone:
		case k.book == nil:
			c.fail(at, "has no effect, because catalogue.use is none; remove one of them")
		case k.entries[name].Model == "":
			c.fail(at, "%s is not in the catalogue of %s%s; \"penstock models list --catalogue\" lists the names as vendor/model, and none takes nothing from it",
				quote(t.Catalogue), k.book.Date, suggest(t.Catalogue, k.book.Names("")))
		}
	}
}

// Catalogue is the catalogue that describes targets; nil where the configuration uses none.
func (s *Snapshot) Catalogue() *catalogue.Catalogue { return s.facts.book }

// endingSoon is how long before the end of a model operators are told.
const endingSoon = 60 * 24 * time.Hour

// Notices are facts about the configuration that are not problems, but that an operator should know: which prices come
// from the catalogue, and which models end.
func (s *Snapshot) Notices(now time.Time) []string {
	var notices []string
	if priced := slices.Sorted(maps.Keys(s.facts.priced)); len(priced) > 0 {
		notices = append(notices, fmt.Sprintf("The price of %s comes from the catalogue of %s: %s. Set price where your contract differs.",
			count(len(priced), "target"), s.facts.book.Date, clip(strings.Join(priced, ", "), 200)))
	}
	for _, name := range slices.Sorted(maps.Keys(s.facts.entries)) {
		if e := s.facts.entries[name]; e.Ended(now.Add(endingSoon)) {
			verb := "ends"
			if e.Ended(now) {
				verb = "ended"
			}
			notices = append(notices, fmt.Sprintf("%s: %s %s on %s, by the catalogue of %s. Use another model.",
				path("targets").key(name), e.Name(), verb, e.EndsOn, s.facts.book.Date))
		}
	}
	return append(notices, s.vendorNotices()...)
}
