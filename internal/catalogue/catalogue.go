// Package catalogue knows public facts about models: prices by class of token, context, largest output, capabilities
// and announced end of life.
//
// One catalogue is embedded in the binary ([Embedded]); a file in the same format can take its place ([Load]). Facts go
// stale, so each catalogue has a date and a hash, and every user of a fact can name both.
//
// The package does not know targets or providers: package config decides which entry belongs to a target. A [Catalogue]
// is never written to after it was read, so any number of goroutines may use it.
package catalogue

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

//go:embed models.jsonl
var embedded []byte

// Catalogue is a dated list of models.
type Catalogue struct {
	// Date is the day on which the facts were collected, such as 2026-08-08.
	Date string
	// Source is where the facts come from, for people.
	Source string
	// Hash is the beginning of the SHA-256 of the text, in hex: two catalogues of one day can differ.
	Hash string
	// Entries are all models, by vendor and name.
	Entries []Entry

	index map[string]int // by Name
}

// Entry is one model of one vendor.
type Entry struct {
	// Vendor is the company that serves the model, in lower case, such as openai.
	Vendor string `json:"vendor"`
	// Model is the name that the vendor knows the model by: the upstream_model of a target.
	Model string `json:"model"`
	// Mode is the kind of model: chat, responses, completion, embedding, rerank or moderation.
	Mode string `json:"mode"`
	// ContextTokens is how many tokens of input it accepts; 0 if that is not known.
	ContextTokens int64 `json:"context_tokens,omitzero"`
	// MaxOutputTokens is the largest number of tokens that it generates; 0 if that is not known.
	MaxOutputTokens int64 `json:"max_output_tokens,omitzero"`
	// Price is the zero Price if the price is not known.
	Price Price `json:"price,omitzero"`
	// Capabilities are features that the model is known to have. A feature that is not listed may be missing or unknown.
	Capabilities []string `json:"capabilities,omitempty"`
	// EndsOn is the first day on which the vendor no longer serves the model, such as 2026-10-01; "" if no day is
	// announced.
	EndsOn string `json:"ends_on,omitzero"`
}

// Price is a price in US dollars per million tokens, by class of token, under the names of the configuration file.
// A class without a price is "".
type Price struct {
	Input           string `json:"input,omitzero"`
	CachedInput     string `json:"cached_input,omitzero"`
	CacheWrite      string `json:"cache_write,omitzero"`
	CacheWrite1h    string `json:"cache_write_1h,omitzero"`
	AudioInput      string `json:"audio_input,omitzero"`
	Output          string `json:"output,omitzero"`
	Reasoning       string `json:"reasoning,omitzero"`
	AudioOutput     string `json:"audio_output,omitzero"`
	InputAbove200k  string `json:"input_above_200k,omitzero"`
	OutputAbove200k string `json:"output_above_200k,omitzero"`
	// PerSearch is the price of a search unit of a call for reranking, in dollars.
	PerSearch string `json:"per_search,omitzero"`
	// The vendor's batch API costs this. Penstock calls the synchronous endpoints, so no target takes these prices.
	BatchInput  string `json:"batch_input,omitzero"`
	BatchOutput string `json:"batch_output,omitzero"`
}

// Name is how the configuration names an entry: vendor/model.
func (e Entry) Name() string { return e.Vendor + "/" + e.Model }

// Has reports whether the model is known to have a capability.
func (e Entry) Has(capability string) bool { return slices.Contains(e.Capabilities, capability) }

// Ended reports whether the announced end of the model is not after a moment.
func (e Entry) Ended(now time.Time) bool {
	return e.EndsOn != "" && e.EndsOn <= now.UTC().Format(time.DateOnly)
}

// Embedded is the catalogue of this build.
var Embedded = sync.OnceValue(func() *Catalogue {
	c, err := Parse(embedded)
	if err != nil {
		panic("catalogue: the embedded catalogue is invalid: " + err.Error()) // a test reads it
	}
	return c
})

// EmbeddedText is the text of the embedded catalogue, as a file to begin with.
func EmbeddedText() string { return string(embedded) }

// MaxFileBytes bounds a catalogue file.
const MaxFileBytes = 16 << 20

// Load reads the catalogue at a path.
func Load(path string) (*Catalogue, error) {
	// Opening something else than a file, such as a pipe, could wait forever.
	if info, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("read catalogue: %w", err)
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read catalogue: %s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read catalogue: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read catalogue: %w", err)
	}
	c, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("read catalogue %s: %w", path, err)
	}
	return c, nil
}

// Find returns an entry by vendor and model.
func (c *Catalogue) Find(vendor, model string) (Entry, bool) {
	return c.Named(vendor + "/" + model)
}

// Named returns an entry by its name, vendor/model.
func (c *Catalogue) Named(name string) (Entry, bool) {
	i, ok := c.index[name]
	if !ok {
		return Entry{}, false
	}
	return c.Entries[i], true
}

// Names lists the names of all entries of a vendor, or of all vendors for "".
func (c *Catalogue) Names(vendor string) []string {
	var names []string
	for _, e := range c.Entries {
		if vendor == "" || e.Vendor == vendor {
			names = append(names, e.Name())
		}
	}
	return names
}

// Filter selects entries. Zero fields select all.
type Filter struct {
	Vendor       string
	Mode         string
	Text         string   // part of the name, in any case
	Capabilities []string // all of them
	MinContext   int64
}

// Select returns the entries that a filter selects.
func (c *Catalogue) Select(f Filter) []Entry {
	text := strings.ToLower(f.Text)
	var selected []Entry
	for _, e := range c.Entries {
		if (f.Vendor == "" || e.Vendor == f.Vendor) && (f.Mode == "" || e.Mode == f.Mode) &&
			strings.Contains(strings.ToLower(e.Name()), text) && e.ContextTokens >= f.MinContext &&
			!slices.ContainsFunc(f.Capabilities, func(want string) bool { return !e.Has(want) }) {
			selected = append(selected, e)
		}
	}
	return selected
}

// Vendors lists all vendors, each once.
func (c *Catalogue) Vendors() []string {
	var vendors []string
	for _, e := range c.Entries { // they are sorted by vendor
		if len(vendors) == 0 || vendors[len(vendors)-1] != e.Vendor {
			vendors = append(vendors, e.Vendor)
		}
	}
	return vendors
}
