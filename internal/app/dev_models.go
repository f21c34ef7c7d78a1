package app

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"penstock/internal/catalogue"
	"penstock/internal/config"
)

// families are the beginnings of the names of a vendor's models. A name that no catalogue knows yet goes to its own
// vendor, and not to the first vendor that was found.
var families = map[string][]string{
	"openai":    {"gpt-*", "chatgpt-*", "o1*", "o3*", "o4*", "codex-*", "text-embedding-*", "ft:*"},
	"anthropic": {"claude-*"},
}

const (
	// maxListed bounds the models that a server may list.
	maxListed = 500
	// maxListBytes bounds the list.
	maxListBytes = 1 << 20
)

// ask asks a server for its models, and reports whether it answers.
func (d *detected) ask(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, detectTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+"/models", nil)
	if err != nil {
		return false
	}
	switch {
	case d.key.IsZero():
	case d.kind == config.KindAnthropic:
		req.Header.Set("x-api-key", d.key.Reveal())
		req.Header.Set("anthropic-version", "2023-06-01")
	default:
		req.Header.Set("Authorization", "Bearer "+d.key.Reveal())
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return false
	}
	var list struct{ Data []struct{ ID string } }
	if json.NewDecoder(io.LimitReader(resp.Body, maxListBytes)).Decode(&list) != nil {
		return true
	}
	for _, m := range list.Data[:min(len(list.Data), maxListed)] {
		d.models = append(d.models, m.ID)
	}
	return true
}

// names are the models of a vendor: those that its server lists, or else those of the catalogue that still exist.
func (d *detected) names(now time.Time) []string {
	if d.url != "" {
		return d.models
	}
	var names []string
	for _, e := range catalogue.Embedded().Select(catalogue.Filter{Vendor: d.name}) {
		if !e.Ended(now) && e.Mode != "moderation" && e.Mode != "rerank" {
			names = append(names, e.Model)
		}
	}
	return names
}

var (
	callableName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:-]{0,127}$`)
	notTargetName = regexp.MustCompile(`[^a-z0-9._-]+`)
)

// describeModels makes the models of a vendor callable by their own names, and sends its families of names to it. A name
// that two vendors have belongs to the one that was found first.
func (d *detected) describeModels(file *config.File) {
	for _, name := range d.names(time.Now()) {
		target := d.name + "-" + strings.Trim(notTargetName.ReplaceAllString(strings.ToLower(name), "-"), "-._")
		_, called := file.Models[name]
		_, taken := file.Targets[target]
		if called || taken || !callableName.MatchString(name) || len(target) > 63 {
			continue
		}
		file.Targets[target] = config.TargetConfig{Provider: d.name, UpstreamModel: name}
		file.Models[name] = config.ModelConfig{Targets: []string{target}}
	}
	for _, pattern := range families[d.name] {
		file.Models[pattern] = config.ModelConfig{Targets: []string{d.name}}
	}
}

// callable counts the models that callers can name.
func callable(s *config.Snapshot) int {
	n := 0
	for name := range s.Models {
		if !config.IsPrefix(name) {
			n++
		}
	}
	return n
}
