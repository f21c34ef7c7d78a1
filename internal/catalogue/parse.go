package catalogue

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"

	"penstock"
)

// Bounds of a catalogue file.
const (
	maxEntries      = 20_000
	maxName         = 256
	maxCount        = 100_000_000 // of tokens
	maxCapabilities = 32          // in one entry
)

// Modes lists the kinds of models.
var Modes = []string{"chat", "responses", "completion", "embedding", "rerank", "moderation"}

var (
	vendorName     = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)
	capabilityName = regexp.MustCompile(`^[a-z0-9][a-z0-9_]{0,62}$`)
)

// header is the first line of a catalogue.
type header struct {
	Catalogue string `json:"catalogue"` // the date
	Source    string `json:"source"`
}

// Parse reads the text of a catalogue: JSON lines, of which the first has the date and the source, and each other one
// an [Entry]. The error names the line and the fix.
func Parse(text []byte) (*Catalogue, error) {
	if len(text) > MaxFileBytes {
		return nil, fmt.Errorf("the file is larger than %d bytes", MaxFileBytes)
	}
	sum := sha256.Sum256(text)
	c := &Catalogue{Hash: hex.EncodeToString(sum[:])[:12], index: map[string]int{}}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if err := c.add(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if c.Date == "" {
		return nil, errors.New(`the file is empty; its first line must be {"catalogue": "2026-08-08", "source": "…"}`)
	}
	slices.SortFunc(c.Entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Vendor, b.Vendor), cmp.Compare(a.Model, b.Model))
	})
	for i, e := range c.Entries {
		c.index[e.Name()] = i
	}
	return c, nil
}

// add reads one line.
func (c *Catalogue) add(line []byte) error {
	if c.Date == "" {
		var h header
		if err := strict(line, &h); err != nil {
			return fmt.Errorf(`the first line must be {"catalogue": "2026-08-08", "source": "…"}: %w`, err)
		}
		if _, err := time.Parse(time.DateOnly, h.Catalogue); err != nil {
			return errors.New(`catalogue must be the day of the facts, such as "2026-08-08"`)
		}
		c.Date, c.Source = h.Catalogue, h.Source
		return nil
	}
	var e Entry
	if err := strict(line, &e); err != nil {
		return err
	}
	if err := e.check(); err != nil {
		return err
	}
	if _, twice := c.index[e.Name()]; twice {
		return fmt.Errorf("%s is listed twice; remove one of the lines", e.Name())
	}
	if len(c.Entries) == maxEntries {
		return fmt.Errorf("the file has more than %d models", maxEntries)
	}
	c.index[e.Name()] = len(c.Entries)
	c.Entries = append(c.Entries, e)
	return nil
}

// strict decodes one JSON object without unknown members.
func strict(line []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("not a valid object: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there must be one JSON object on a line")
	}
	return nil
}

func (e Entry) check() error {
	switch {
	case !vendorName.MatchString(e.Vendor):
		return errors.New("vendor must match [a-z0-9][a-z0-9._-]{0,62}")
	case e.Model == "" || len(e.Model) > maxName:
		return fmt.Errorf("model must have 1 to %d bytes", maxName)
	case !slices.Contains(Modes, e.Mode):
		return fmt.Errorf("mode of %s must be one of %v", e.Name(), Modes)
	case e.ContextTokens < 0 || e.ContextTokens > maxCount || e.MaxOutputTokens < 0 || e.MaxOutputTokens > maxCount:
		return fmt.Errorf("context_tokens and max_output_tokens of %s must be from 0 to %d", e.Name(), maxCount)
	case len(e.Capabilities) > maxCapabilities || slices.ContainsFunc(e.Capabilities, func(s string) bool { return !capabilityName.MatchString(s) }):
		return fmt.Errorf("capabilities of %s must be at most %d words such as tools or vision", e.Name(), maxCapabilities)
	}
	if e.EndsOn != "" {
		if _, err := time.Parse(time.DateOnly, e.EndsOn); err != nil {
			return fmt.Errorf(`ends_on of %s must be a day such as "2026-10-01"`, e.Name())
		}
	}
	return e.Price.check(e.Name())
}

func (p Price) check(name string) error {
	if p == (Price{}) {
		return nil
	}
	if p.Input == "" || p.Output == "" {
		return fmt.Errorf("price of %s must have input and output, or be left out", name)
	}
	for _, quote := range []string{p.Input, p.CachedInput, p.CacheWrite, p.CacheWrite1h, p.AudioInput, p.Output, p.Reasoning, p.AudioOutput,
		p.InputAbove200k, p.OutputAbove200k, p.BatchInput, p.BatchOutput} {
		if quote == "" {
			continue
		}
		if _, err := penstock.ParseRate(quote); err != nil {
			return fmt.Errorf("price of %s: %w", name, err)
		}
	}
	if p.PerSearch != "" {
		if _, err := penstock.ParseNanoUSD(p.PerSearch); err != nil {
			return fmt.Errorf("per_search of %s: %w", name, err)
		}
	}
	return nil
}
