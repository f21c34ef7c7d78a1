package dev

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"penstock/internal/app"
	"penstock/internal/catalogue"
	"penstock/internal/config"
)

const (
	// maxListed bounds the models that a server may list.
	maxListed = 500
	// maxListBytes bounds the list.
	maxListBytes = 1 << 20
)

// ask asks a server for its models, and reports whether it answers as the vendor's server does.
func (d *detected) ask(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, detectTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.provider.BaseURL+"/models", nil)
	if err != nil {
		return false
	}
	app.SetKey(req.Header, d.provider)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return false
	}
	var list struct {
		Data []struct {
			ID      string
			OwnedBy string `json:"owned_by"`
		}
		Models []struct{ Name string } // Gemini's
	}
	if json.NewDecoder(io.LimitReader(resp.Body, maxListBytes)).Decode(&list) != nil {
		return d.vendor.OwnedBy == ""
	}
	for _, m := range list.Data[:min(len(list.Data), maxListed)] {
		if d.vendor.OwnedBy != "" && m.OwnedBy != d.vendor.OwnedBy {
			return false
		}
		d.models = append(d.models, m.ID)
	}
	if d.vendor.Kind == config.KindGemini {
		for _, m := range list.Models[:min(len(list.Models), maxListed)] {
			d.models = append(d.models, strings.TrimPrefix(m.Name, "models/"))
		}
	}
	return d.vendor.OwnedBy == "" || len(d.models) > 0
}

// names are the models of a vendor: those that its server lists, or else those of the catalogue that still exist.
func (d *detected) names(now time.Time) []string {
	if d.elsewhere() {
		return d.models
	}
	var names []string
	for _, e := range catalogue.Embedded().Select(catalogue.Filter{Vendor: d.vendor.Name}) {
		served := e.Mode != "moderation" && e.Mode != "rerank" && (e.Mode != "embedding" || d.vendor.Embeds())
		if served && !e.Ended(now) && (d.vendor.Kind != config.KindBedrock || inRegion(e.Model, d.provider.AWS.Region)) {
			names = append(names, e.Model)
		}
	}
	return names
}

// inRegion says whether a name in the catalogue can be called in a region of AWS: the id of a model, or of an inference profile of the
// region's part of the world. Names with a region of their own are prices.
func inRegion(model, region string) bool {
	if strings.Contains(model, "/") {
		return false
	}
	profile, _, _ := strings.Cut(model, ".")
	switch profile {
	case "us", "eu", "us-gov":
		return strings.HasPrefix(region, profile+"-") && strings.HasPrefix(region, "us-gov-") == (profile == "us-gov")
	case "apac", "jp", "au":
		return strings.HasPrefix(region, "ap-")
	}
	return true
}

var (
	callableName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:-]{0,127}$`)
	notTargetName = regexp.MustCompile(`[^a-z0-9._-]+`)
)

// describeModels makes the models of a vendor callable by their own names, and sends its families of names to it. A name
// that two vendors have belongs to the one that was found first. It returns the target that answers for no name in particular.
func (d *detected) describeModels(file *config.File) (standard string) {
	vendor := d.vendor.Name
	standard = vendor // the name that was asked for, if the models are not known
	for _, name := range d.names(time.Now()) {
		target := vendor + "-" + strings.Trim(notTargetName.ReplaceAllString(strings.ToLower(name), "-"), "-._")
		_, taken := file.Targets[target]
		if taken || !callableName.MatchString(name) || len(target) > 63 {
			continue
		}
		_, called := file.Models[name]
		usual := name == d.vendor.Model || d.elsewhere() && standard == vendor && !strings.Contains(name, "embed")
		if called && !usual {
			continue
		}
		file.Targets[target] = config.TargetConfig{Provider: vendor, UpstreamModel: name}
		if usual {
			standard = target
		}
		if !called {
			file.Models[name] = config.ModelConfig{Targets: []string{target}}
		}
	}
	for _, family := range d.vendor.Families {
		if _, taken := file.Models[family+"*"]; !taken {
			file.Models[family+"*"] = config.ModelConfig{Targets: []string{vendor}}
		}
	}
	return standard
}

// listed counts the models that callers can list.
func listed(s *config.Snapshot) int {
	n := 0
	for name := range s.Models {
		if s.Lists(name) {
			n++
		}
	}
	return n
}
