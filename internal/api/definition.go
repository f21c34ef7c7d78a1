package api

import (
	"cmp"
	"maps"
	"net/http"
	"slices"

	"penstock"
	"penstock/internal/backlog"
	"penstock/internal/catalogue"
	"penstock/internal/rest"
)

// definitionRoutes describe models with their targets, and known models of vendors.
var definitionRoutes = []rest.Route{
	{Method: "GET", Path: "/v1/model_definitions", Scope: penstock.ScopeJobsRead, Summary: "List models with their policy, targets and prices",
		Answers: []rest.Answer{{Status: 200, About: "The models that your tenant may use, by name. The list is one page.", Body: rest.Page[definitionView]{}}}, Serve: on(models.listDefinitions)},
	{Method: "GET", Path: "/v1/catalogue", Scope: penstock.ScopeJobsRead, Summary: "Search the catalogue of vendors' models and prices",
		Params: []rest.Param{
			{Name: "vendor", In: "query", About: "Only models of this vendor."},
			{Name: "mode", In: "query", About: "Only models of this kind: chat, responses, completion, embedding, rerank or moderation."},
			{Name: "search", In: "query", About: "Only models whose name contains this text."},
			{Name: "limit", In: "query", About: "The most models in a page: 1 to 1000, 100 when not given."},
			{Name: "after", In: "query", About: "The last id of the previous page."}},
		Answers: []rest.Answer{{Status: 200, About: "A page of models, by vendor and name. Prices are public prices in dollars per million tokens.", Body: cataloguePage{}}}, Serve: on(models.searchCatalogue)},
}

// definitionView is a model with its targets.
type definitionView struct {
	Object      string          `json:"object"`
	Name        string          `json:"name"`
	Policy      penstock.Policy `json:"policy"`
	OnIncapable string          `json:"on_incapable" about:"What happens to a call that the target of its turn cannot serve."`
	OnOverflow  string          `json:"on_overflow" about:"What happens to a conversation that is longer than the context of every target."`
	CacheTTL    int64           `json:"cache_seconds" about:"How long answers are cached; 0 for no cache."`
	Definition  string          `json:"definition" about:"A hash of the model, its targets and their providers."`
	Targets     []definedTarget `json:"targets" about:"In the order of the configuration."`
	Score       *definedWeights `json:"score" about:"How much each part of a score counts; null unless the policy scores."`
}

// definedWeights are the weights of a score.
type definedWeights struct {
	Cost     float64 `json:"cost"`
	Latency  float64 `json:"latency"`
	Quality  float64 `json:"quality"`
	Headroom float64 `json:"headroom"`
}

// definedTarget is a target of a model.
type definedTarget struct {
	Name            string                `json:"name"`
	Weight          *int                  `json:"weight" about:"null unless the policy is weighted."`
	Vendor          string                `json:"vendor"`
	UpstreamModel   string                `json:"upstream_model"`
	Region          string                `json:"region"`
	State           backlog.TargetState   `json:"state" about:"Whether calls may be made now, as the process that answers knows."`
	Price           *definedPrice         `json:"price" about:"In dollars per million tokens; null for a target without a price."`
	PriceSource     string                `json:"price_source" about:"configuration, or the catalogue that the price comes from."`
	ContextTokens   int64                 `json:"context_tokens" about:"0 if that is not stated."`
	MaxOutputTokens int64                 `json:"largest_output_tokens"`
	Capabilities    []penstock.Capability `json:"capabilities"`
	Quality         float64               `json:"quality"`
}

// definedPrice is a price in dollars per million tokens.
type definedPrice struct {
	Input         string `json:"input"`
	CachedInput   string `json:"cached_input"`
	Output        string `json:"output"`
	PerRequest    string `json:"per_request" about:"In dollars, besides the tokens."`
	BatchDiscount int64  `json:"batch_discount" about:"How much less work in the lane bulk costs, in percent."`
}

func (c models) listDefinitions() error {
	current := c.Config.Current()
	page := rest.Page[definitionView]{Object: "list", Data: []definitionView{}}
	for _, name := range slices.Sorted(maps.Keys(current.Models)) {
		if !current.Lists(name) || !c.Principal.Tenant.MayUse(name) {
			continue
		}
		m := current.Models[name]
		v := definitionView{
			Object: "model_definition", Name: name, Policy: m.Policy, OnIncapable: string(cmp.Or(m.OnIncapable, penstock.IncapableSameVendor)),
			OnOverflow: string(cmp.Or(m.OnOverflow, penstock.OverflowReject)), CacheTTL: int64(m.CacheTTL.Seconds()), Definition: m.Definition, Targets: []definedTarget{},
		}
		if m.Score != (penstock.ScoreWeights{}) {
			v.Score = &definedWeights{m.Score.Cost, m.Score.Latency, m.Score.Quality, m.Score.Headroom}
		}
		for _, t := range current.TargetsOf(name) {
			v.Targets = append(v.Targets, c.definedTarget(m, t))
		}
		page.Data = append(page.Data, v)
	}
	return c.JSON(http.StatusOK, page)
}

func (c models) definedTarget(m penstock.Model, t *penstock.Target) definedTarget {
	able := penstock.NewCapabilities(penstock.AllCapabilities...) &^ t.Lacks
	v := definedTarget{
		Name: t.Name, Vendor: t.Vendor, UpstreamModel: t.UpstreamModel, Region: t.Region, State: c.TargetState(t.Name), PriceSource: cmp.Or(t.PriceSource, "configuration"),
		ContextTokens: t.ContextTokens, MaxOutputTokens: t.MaxOutputTokens, Capabilities: append([]penstock.Capability{}, able.List()...), Quality: t.Quality,
	}
	if weight, ok := m.Weights[t.Name]; ok {
		v.Weight = &weight
	}
	if !t.Unpriced {
		v.Price = &definedPrice{Input: t.Price.Input.String(), CachedInput: t.Price.CachedInput.String(), Output: t.Price.Output.String(),
			PerRequest: t.Price.PerRequest.String(), BatchDiscount: t.Price.BatchDiscount}
	}
	return v
}

// cataloguePage is a page of the catalogue.
type cataloguePage struct {
	Object  string           `json:"object"`
	Date    string           `json:"date" about:"The day on which the facts were collected."`
	Source  string           `json:"source"`
	Vendors []string         `json:"vendors"`
	Data    []catalogueModel `json:"data"`
	HasMore bool             `json:"has_more" about:"Whether another page follows; pass the last id as after."`
}

// catalogueModel is a model of a vendor.
type catalogueModel struct {
	ID              string          `json:"id" about:"vendor/model."`
	Vendor          string          `json:"vendor"`
	Model           string          `json:"model"`
	Mode            string          `json:"mode"`
	ContextTokens   int64           `json:"context_tokens" about:"0 if that is not known."`
	MaxOutputTokens int64           `json:"largest_output_tokens" about:"0 if that is not known."`
	Price           catalogue.Price `json:"price"`
	Capabilities    []string        `json:"capabilities"`
	EndsOn          *string         `json:"ends_on" about:"The first day on which the vendor no longer serves the model; null if no day is announced."`
}

func (c models) searchCatalogue() error {
	limit, err := c.PageLimit(rest.PageSize{Most: 1000, Usual: 100})
	if err != nil {
		return err
	}
	book := c.Config.Current().Catalogue()
	if book == nil {
		book = catalogue.Embedded()
	}
	query := c.R.URL.Query()
	after := query.Get("after")
	if _, known := book.Named(after); after != "" && !known {
		return penstock.InvalidParam("after", "after must be the id of a model of the catalogue.")
	}
	page := cataloguePage{Object: "list", Date: book.Date, Source: book.Source, Vendors: book.Vendors(), Data: []catalogueModel{}}
	for _, e := range book.Select(catalogue.Filter{Vendor: query.Get("vendor"), Mode: query.Get("mode"), Text: query.Get("search")}) {
		switch {
		case after != "":
			if e.Name() == after {
				after = ""
			}
			continue
		case len(page.Data) == limit:
			page.HasMore = true
			return c.JSON(http.StatusOK, page)
		}
		page.Data = append(page.Data, catalogueModel{
			ID: e.Name(), Vendor: e.Vendor, Model: e.Model, Mode: e.Mode, ContextTokens: e.ContextTokens, MaxOutputTokens: e.MaxOutputTokens,
			Price: e.Price, Capabilities: append([]string{}, e.Capabilities...), EndsOn: text(e.EndsOn),
		})
	}
	return c.JSON(http.StatusOK, page)
}
