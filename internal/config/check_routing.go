package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"penstock"
)

func (c *checker) provider(at path, name string, p ProviderConfig) {
	c.name(at, name)
	if p.Kind == "" {
		c.fail(at+".kind", "is required: one of %s", join(ProviderKinds))
		return
	}
	supported(c, at+".kind", p.Kind, ProviderKinds)
	if !p.APIKey.IsZero() && !isVisible(p.APIKey.Reveal()) {
		c.fail(at+".api_key", "must be visible ASCII characters only: it is sent in a header")
	}
	c.apiKeys(at, p)
	if _, written := c.draft.places[at+".base_url"]; written || p.BaseURL != "" {
		c.httpURL(at+".base_url", p.BaseURL)
	}
	c.azure(at, p)
	c.aws(at, p)
	c.network(at+".network", p.Network)
}

func (c *checker) apiKeys(at path, p ProviderConfig) {
	if len(p.Keys()) > maxAPIKeys {
		c.fail(at+".api_keys", "must be at most %d keys, api_key included, not %d", maxAPIKeys, len(p.Keys()))
	}
	seen := map[keyDigest]bool{p.APIKey.digest(): true}
	for i, key := range p.APIKeys {
		one := (at + ".api_keys").index(i)
		switch {
		case key.IsZero():
			c.fail(one, `is empty: "${NAME}" for an environment variable, or "file:/path" for a file`)
		case !isVisible(key.Reveal()):
			c.fail(one, "must be visible ASCII characters only: it is sent in a header")
		case seen[key.digest()]:
			c.fail(one, "repeats an earlier key")
		}
		seen[key.digest()] = true
	}
}

func (c *checker) azure(at path, p ProviderConfig) {
	_, written := c.draft.places[at+".azure"]
	switch {
	case p.Azure == (Azure{}) && !written:
	case p.Kind != KindOpenAI:
		c.fail(at+".azure", "belongs to providers of kind %s", KindOpenAI)
	case p.Azure.APIVersion == "":
		c.fail(at+".azure.api_version", "is required: the version of Azure's API, such as 2024-10-21")
	case p.BaseURL == DefaultOpenAIBaseURL:
		c.fail(at+".base_url", "is required with azure: the URL of the resource, such as https://NAME.openai.azure.com")
	case hasPath(p.BaseURL):
		c.fail(at+".base_url", "must be the URL of the resource alone with azure, without a path, such as https://NAME.openai.azure.com")
	default:
		c.name(at+".azure.api_version", p.Azure.APIVersion)
	}
}

// hasPath reports whether a URL has more than a scheme and a host. Fill-in of defaults removed a slash at the end.
func hasPath(base string) bool {
	u, err := url.Parse(base)
	return err == nil && u.Path != ""
}

func (c *checker) aws(at path, p ProviderConfig) {
	_, written := c.draft.places[at+".aws"]
	a := p.AWS
	switch {
	case p.Kind != KindBedrock:
		if written || a.Region != "" {
			c.fail(at+".aws", "belongs to providers of kind %s", KindBedrock)
		}
		return
	case a.Region == "":
		c.fail(at+".aws.region", "is required: the region of the models, such as eu-central-1")
		return
	case a.AccessKeyID == "" && len(p.Keys()) == 0:
		c.fail(at+".aws.access_key_id", "is required, with secret_access_key; or set api_key to a Bedrock API key")
	case a.AccessKeyID != "" && len(p.Keys()) > 0:
		c.fail(at+".api_key", "must not be set together with aws.access_key_id: a call has one kind of credentials")
	case (a.AccessKeyID == "") != a.SecretAccessKey.IsZero():
		c.fail(at+".aws.secret_access_key", "is required with access_key_id, and only with it")
	case !a.SessionToken.IsZero() && a.AccessKeyID == "":
		c.fail(at+".aws.session_token", "belongs to access_key_id and secret_access_key")
	}
	for field, text := range map[path]string{
		".access_key_id": a.AccessKeyID, ".secret_access_key": a.SecretAccessKey.Reveal(), ".session_token": a.SessionToken.Reveal(),
	} {
		if text != "" && !isVisible(text) {
			c.fail(at+".aws"+field, "must be visible ASCII characters only: check how it was copied")
		}
	}
	c.name(at+".aws.region", a.Region)
}

func (c *checker) target(at path, name string, t TargetConfig, providers map[string]ProviderConfig) {
	c.name(at, name)
	if t.Provider == "" {
		c.fail(at+".provider", "is required: the name of a provider")
	} else {
		refer(c, at+".provider", t.Provider, namedTable[ProviderConfig]{"providers", providers})
	}
	switch n := len(t.UpstreamModel); {
	case n == 0:
		c.fail(at+".upstream_model", "is required: the name that the upstream knows the model by")
	case n > maxUpstreamModel || !isPrintable(t.UpstreamModel):
		c.fail(at+".upstream_model", "must be at most %d bytes of printable text", maxUpstreamModel)
	}
	if t.Region != "" {
		c.name(at+".region", t.Region)
	}
	within(c, at+".max_output_tokens", t.MaxOutputTokens, bounds[int64]{1, maxMaxOutputTokens})
	within(c, at+".context_tokens", t.ContextTokens, bounds[int64]{0, maxContextTokens})
	within(c, at+".quality", t.Quality, bounds[float64]{0, 1})
	listOf(c, at+".capabilities", t.Capabilities, penstock.AllCapabilities)
	within(c, at+".limits.concurrency", t.Limits.Concurrency, bounds[int]{0, maxConcurrency})
	perMinute := bounds[int64]{0, maxPerMinute}
	within(c, at+".limits.requests_per_minute", t.Limits.RequestsPerMinute, perMinute)
	within(c, at+".limits.input_tokens_per_minute", t.Limits.InputTokensPerMinute, perMinute)
	within(c, at+".limits.output_tokens_per_minute", t.Limits.OutputTokensPerMinute, perMinute)
	if _, written := c.draft.places[at+".limits.max_share"]; written || t.Limits.MaxShare != 0 {
		within(c, at+".limits.max_share", t.Limits.MaxShare, bounds[float64]{minShare, 1})
	}
	oneOf(c, at+".on_disconnect", t.OnDisconnect, []OnDisconnect{DisconnectCancel, DisconnectDrain})
	c.batching(at+".batching", t.Batching)
	c.price(at+".price", t.Price)
	c.priceChanges(at, t)
	c.surcharges(at+".surcharges", t.Surcharges)
	c.timeouts(at+".timeouts", t.Timeouts)
}

// unpriced refuses targets without a price, if that is the policy.
func (c *checker) unpriced(f *File) {
	oneOf(c, "unpriced", f.Unpriced, []string{UnpricedFlag, UnpricedRefuse})
	if f.Unpriced != UnpricedRefuse {
		return
	}
	for name, t := range f.Targets {
		if t.Price == (Price{}) {
			c.fail(path("targets").key(name), `has no price, and unpriced is refuse: add one; that of a free target is {input: "0", output: "0"}`)
		}
	}
}

func (c *checker) price(at path, p Price) {
	if p == (Price{}) {
		if _, written := c.draft.places[at]; !written {
			return
		}
	}
	c.rate(at+".input", p.Input)
	c.rate(at+".output", p.Output)
	// Where a price follows another one, that one's problem is enough.
	for _, f := range p.followers() {
		if *f.quote != f.followed() {
			c.rate(at.key(f.name), *f.quote)
		}
	}
	for name, quote := range map[string]string{"input_above_200k": p.InputAbove200k, "output_above_200k": p.OutputAbove200k} {
		if quote != "" {
			c.rate(at.key(name), quote)
		}
	}
	c.amount(at+".per_request", p.PerRequest)
	c.amount(at+".per_image", p.PerImage)
	c.amount(at+".per_search", p.PerSearch)
	within(c, at+".batch_discount", p.BatchDiscount, bounds[int64]{0, 100})
}

// amount checks an amount of money that may be left out.
func (c *checker) amount(at path, dollars string) {
	if dollars == "" {
		return
	}
	if _, err := penstock.ParseNanoUSD(dollars); err != nil {
		c.fail(at, "%v", err)
	}
}

// priceChanges checks that the prices of a target follow one another, from the first on.
func (c *checker) priceChanges(at path, t TargetConfig) {
	if t.Price == (Price{}) && len(t.PriceChanges) > 0 {
		c.fail(at+".price_changes", "needs a price before it: set price")
	}
	var last time.Time
	for i, change := range t.PriceChanges {
		at := (at + ".price_changes").index(i)
		from, err := time.Parse(time.DateOnly, change.From)
		switch {
		case err != nil:
			c.fail(at+".from", `must be a day such as "2026-01-01"`)
		case !from.After(last):
			c.fail(at+".from", "must be later than the change before")
		}
		last = from
		if change.Price == (Price{}) {
			c.fail(at+".price", "is required: the price from that day on")
			continue
		}
		c.price(at+".price", change.Price)
	}
}

func (c *checker) rate(at path, quote string) {
	if quote == "" {
		c.fail(at, `is required in a price, such as "0.15"; that of a free target is "0"`)
	} else if _, err := penstock.ParseRate(quote); err != nil {
		perToken := ""
		if n, parseErr := strconv.ParseFloat(quote, 64); parseErr == nil && n > 0 && n < 0.0001 {
			perToken = fmt.Sprintf("; this looks like a price per token: write %q", strconv.FormatFloat(n*1_000_000, 'f', -1, 64))
		}
		c.fail(at, "%v%s", err, perToken)
	}
}

func (c *checker) timeouts(at path, t Timeouts) {
	phase := bounds[time.Duration]{minTimeout, maxTotalTimeout}
	within(c, at+".total", t.Total, phase)
	if within(c, at+".idle", t.Idle, phase) {
		c.notLonger(at+".idle", t.Idle, at+".total", t.Total)
	}
	if within(c, at+".first_token", t.FirstToken, phase) {
		c.notLonger(at+".first_token", t.FirstToken, at+".total", t.Total)
	}
	if within(c, at+".drain", t.Drain, phase) {
		c.notLonger(at+".drain", t.Drain, at+".total", t.Total)
	}
	if within(c, at+".connect", t.Connect, phase) {
		c.notLonger(at+".connect", t.Connect, at+".first_token", t.FirstToken)
	}
}

func (c *checker) models(f *File) {
	models := namedTable[ModelConfig]{"models", f.Models}
	for name, m := range f.Models {
		at := models.at.key(name)
		if problem := ModelNameProblem(name); problem != "" {
			c.fail(at, "%s", problem)
		}
		oneOf(c, at+".policy", m.Policy, penstock.Policies)
		oneOf(c, at+".on_incapable", m.OnIncapable, penstock.AllOnIncapable)
		c.overflow(f, at+".on_overflow", m)
		if len(m.Targets) == 0 {
			c.fail(at+".targets", "is required: the names of one or more targets")
		}
		eachOnce(c, at+".targets", m.Targets)
		c.policy(at, m)
		c.cacheUse(at+".cache", m.Cache)
		for i, target := range m.Targets {
			refer(c, (at + ".targets").index(i), target, namedTable[TargetConfig]{"targets", f.Targets})
		}
	}
	c.unpriced(f)
	oneOf(c, "store_responses", f.StoreResponses, []string{StoreByDefault, StoreOnRequest})
	if f.FallbackModel != "" {
		refer(c, "fallback_model", f.FallbackModel, models)
	}
	c.pools(f.Work.Pools, models)
}

// overflow checks that all targets of a model that truncates state their context: no call would be too long for the others.
func (c *checker) overflow(f *File, at path, m ModelConfig) {
	if oneOf(c, at, m.OnOverflow, penstock.AllOnOverflow); !m.OnOverflow.Truncates() {
		return
	}
	for _, target := range m.Targets {
		if t, known := f.Targets[target]; known && t.ContextTokens == 0 {
			c.fail(at, "is %s, but target %s does not state its context, so no conversation is too long for it; set %s", m.OnOverflow, quote(target), path("targets").key(target)+".context_tokens")
		}
	}
}

// ModelNameProblem says what is wrong with the name of a model, "" if nothing is.
func ModelNameProblem(name string) string {
	if modelName.MatchString(name) {
		return ""
	}
	return "the name must match " + strings.Trim(modelName.String(), "^$")
}

func (c *checker) pools(pools []WorkPool, models namedTable[ModelConfig]) {
	home := map[string]path{}
	for i, p := range pools {
		at := path("work.pools").index(i)
		within(c, at+".slots", p.Slots, bounds[int]{1, maxSlots})
		if len(p.Models) == 0 {
			c.fail(at+".models", "is required: the names of one or more models")
		}
		for j, name := range p.Models {
			one := (at + ".models").index(j)
			refer(c, one, name, models)
			if first, taken := home[name]; taken {
				c.fail(one, "%s is in %s already; a model has one pool", quote(name), first)
				continue
			}
			home[name] = at
		}
	}
}

// policy checks what belongs to one policy only.
func (c *checker) policy(at path, m ModelConfig) {
	if weighted := m.Policy == penstock.PolicyWeighted; weighted && len(m.Weights) == 0 {
		c.fail(at+".weights", "is required with policy weighted: a weight for at least one target")
	} else if !weighted && len(m.Weights) > 0 {
		c.fail(at+".weights", "is for policy weighted; this model's is %s", m.Policy)
	}
	for target, weight := range m.Weights {
		at := (at + ".weights").key(target)
		if !slices.Contains(m.Targets, target) {
			c.fail(at, "%s is not one of the model's targets", quote(target))
		}
		within(c, at, weight, bounds[int]{1, maxWeight})
	}
	if scored := m.Policy == penstock.PolicyScored; scored && m.Score == (Score{}) {
		c.fail(at+".score", "is required with policy scored: how much cost, latency, quality and headroom count")
	} else if !scored && m.Score != (Score{}) {
		c.fail(at+".score", "is for policy scored; this model's is %s", m.Policy)
	}
	share := bounds[float64]{0, maxWeight}
	within(c, at+".score.cost", m.Score.Cost, share)
	within(c, at+".score.latency", m.Score.Latency, share)
	within(c, at+".score.quality", m.Score.Quality, share)
	within(c, at+".score.headroom", m.Score.Headroom, share)
}

func (c *checker) tenants(f *File) {
	owners := map[keyDigest]path{}
	for _, id := range slices.Sorted(maps.Keys(f.Tenants)) {
		t, at := f.Tenants[id], path("tenants").key(id)
		c.name(at, id)
		within(c, at+".weight", t.Weight, bounds[int]{1, maxWeight})
		listOf(c, at+".lanes", t.Lanes, penstock.Lanes)
		for i, region := range t.Regions {
			c.name((at + ".regions").index(i), region)
		}
		eachOnce(c, at+".regions", t.Regions)
		for i, model := range t.Models {
			refer(c, (at + ".models").index(i), model, namedTable[ModelConfig]{"models", f.Models})
		}
		eachOnce(c, at+".models", t.Models)
		c.mediaHosts(at+".media_hosts", t.MediaHosts)
		if t.Tier != "" {
			c.name(at+".tier", t.Tier)
		}
		c.tenantLimits(at, t)
		names := map[string]bool{}
		c.budgets(at, t)
		for i, k := range t.Keys {
			at := (at + ".keys").index(i)
			switch {
			case k.Name == "":
				c.fail(at+".name", "is required")
			case names[k.Name]:
				c.fail(at+".name", "%s is the name of another key of this tenant", quote(k.Name))
			default:
				c.name(at+".name", k.Name)
			}
			names[k.Name] = true
			c.keySecret(at+".secret", k.Secret, owners)
			listOf(c, at+".scopes", k.Scopes, penstock.AllScopes)
			c.cacheUse(at+".cache", k.Cache)
		}
	}
}

func (c *checker) keySecret(at path, s Secret, owners map[keyDigest]path) {
	if s.IsZero() {
		c.fail(at, `is required: "${NAME}" for an environment variable, or "file:/path" for a file`)
		return
	}
	if problem := SecretProblem(s.Reveal()); problem != "" {
		c.fail(at, "%s", problem)
	}
	if owner, taken := owners[s.digest()]; taken {
		c.fail(at, "is the same secret as %s: every key needs its own", owner)
		return
	}
	owners[s.digest()] = at
}

// listOf checks a list of words that the version knows, each at most once.
func listOf[T ~string](c *checker, at path, list, allowed []T) {
	if len(list) == 0 {
		c.fail(at, "must name at least one of %s, or be left out for the default", join(allowed))
	}
	eachOnce(c, at, list)
	for i, v := range list {
		oneOf(c, at.index(i), v, allowed)
	}
}

func eachOnce[T ~string](c *checker, at path, list []T) {
	seen := map[T]bool{}
	for i, v := range list {
		if seen[v] {
			c.fail(at.index(i), "%s is listed twice", quote(v))
		}
		seen[v] = true
	}
}
