package litellm

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"penstock"
	"penstock/internal/config"
)

// file reads the sections of LiteLLM's file.
func (im *importer) file(root *section) {
	// Settings first: deployments take defaults from them.
	settings := newSection(root.take("litellm_settings"), "litellm_settings")
	router := newSection(root.take("router_settings"), "router_settings")
	im.settings(settings)
	im.router(router)
	list, _ := root.take("model_list").([]any)
	for i, one := range list {
		im.deployment(newSection(one, fmt.Sprintf("model_list[%d]", i)))
	}
	im.aliases(newSection(router.take("model_group_alias"), "router_settings.model_group_alias"))
	im.rest(settings, unknownSetting)
	im.rest(router, unknownSetting)
	im.general(newSection(root.take("general_settings"), "general_settings"))
	im.rest(newSection(root.take("environment_variables"), "environment_variables"), "set it in the environment of the process")
	im.rest(root, unknownSetting)
}

func (im *importer) settings(s *section) {
	im.backups = map[string][]string{}
	im.readBackups(s)
	if text := s.text("request_timeout"); text != "" {
		im.setTimeout(s.at("request_timeout"), text)
	}
	if on, _ := s.take("cache").(bool); on {
		params := newSection(s.take("cache_params"), "litellm_settings.cache_params")
		text := params.text("ttl")
		ttl, ok := seconds(text)
		if whole, err := strconv.ParseFloat(text, 64); ok && err == nil && whole >= 1 {
			im.cacheTTL = ttl
			im.carried(s.at("cache"), "every model caches exact matches for %s, in the memory of each process", ttl)
		} else {
			im.dropped(s.at("cache"), "set cache.ttl of the models whose answers may be repeated, from 1s to 24h")
		}
		im.rest(params, "Penstock caches exact matches in memory; only ttl is carried")
	}
}

func (im *importer) router(s *section) {
	im.readBackups(s)
	im.strategy = s.text("routing_strategy")
	if text := s.text("timeout"); text != "" {
		im.setTimeout(s.at("timeout"), text)
	}
}

func (im *importer) setTimeout(at, text string) {
	total, ok := seconds(text)
	if !ok {
		im.dropped(at, "it must be a number of seconds; set timeouts.total of the targets")
		return
	}
	im.timeout = total
}

// readBackups reads fallbacks, which are a list of maps from a model to others.
func (im *importer) readBackups(s *section) {
	list, _ := s.take("fallbacks").([]any)
	for i, one := range list {
		for name, others := range newSection(one, "").keys {
			names, ok := textList(others)
			if !ok {
				im.dropped(fmt.Sprintf("%s[%d]", s.at("fallbacks"), i), "the fallbacks of %s must be a list of model names", name)
				continue
			}
			im.backups[name] = append(im.backups[name], names...)
		}
	}
	if names, ok := textList(s.take("default_fallbacks")); ok {
		im.defaults = append(im.defaults, names...)
	}
}

func textList(v any) ([]string, bool) {
	list, ok := v.([]any)
	var all []string
	for _, one := range list {
		text, isText := one.(string)
		if !isText {
			return nil, false
		}
		all = append(all, text)
	}
	return all, ok
}

func (im *importer) general(s *section) {
	if key := s.take("master_key"); key != nil {
		im.adminKey = im.secret(s.at("master_key"), key, "LITELLM_MASTER_KEY", "LITELLM_MASTER_KEY")
		im.carried(s.at("master_key"), "it is the admin key, which calls no models: create tenants and keys for applications. It needs 128 random bits: openssl rand -base64 24")
	}
	im.rest(s, unknownSetting)
}

// deployment reads one entry of the list of models.
func (im *importer) deployment(s *section) {
	name := s.text("model_name")
	params, info := newSection(s.take("litellm_params"), s.at("litellm_params")), newSection(s.take("model_info"), s.at("model_info"))
	defer im.rest(s, unknownSetting)
	asked := params.text("model")
	if name == "" || asked == "" {
		im.dropped(s.path, "it needs model_name and litellm_params.model")
		return
	}
	if problem := config.ModelNameProblem(name); problem != "" && name != "*" {
		im.dropped(s.at("model_name"), "the model %q is left out: %s; rename it, and the name that applications call", clip(name), problem)
		return
	}
	v, upstream, prefix, ok := im.vendorOf(asked, params.text("custom_llm_provider"))
	if !ok {
		im.dropped(params.at("model"), "%q has no adapter in Penstock (%s); %s", asked, prefixText(prefix), cmp.Or(instead[prefix], "use an OpenAI-compatible endpoint of that vendor, with kind: openai and base_url"))
		return
	}
	region := ""
	if v.Kind == config.KindBedrock {
		upstream, region = bedrockModel(upstream)
	}
	mode := im.mode(v, upstream, info)
	if !serves(v, mode) {
		im.dropped(params.at("model"), "%q is a model for %s, which Penstock does not call at %s%s", asked, strings.ReplaceAll(cmp.Or(mode, "chat"), "_", " "), v.Name, elsewhere(v))
		return
	}
	if !im.wildcard(params.at("model"), name, &upstream) {
		return
	}
	t := &target{UpstreamModel: upstream, Limits: map[string]int64{}, Timeouts: map[string]string{}}
	if v.Kind == config.KindBedrock {
		t.Provider = im.bedrock(params, v, region)
	} else if t.Provider, ok = im.provider(params, v); !ok {
		return
	}
	im.limits(params, t)
	im.price(t, mode, params, info)
	im.describe(t, info, v)
	for _, one := range []*section{params, info} {
		im.rest(one, unknownSetting)
	}
	t.from = s.path
	id := unused(slug(name), im.targets)
	im.targets[id] = t
	im.join(name, id)
}

// mode is the kind of a model, by the file or else by the catalogue, "" if neither has it.
func (im *importer) mode(v vendor, upstream string, info *section) string {
	if written, _ := info.keys["mode"].(string); written != "" {
		return written
	}
	if e, _ := im.book.Find(v.Name, upstream); e.Mode != "" {
		return e.Mode
	}
	if strings.Contains(strings.ToLower(upstream), "rerank") {
		return modeRerank
	}
	return ""
}

// modeRerank is LiteLLM's word for models that rank documents.
const modeRerank = "rerank"

// elsewhere is what to do about a model that chats, at a vendor whose preset has no chat.
func elsewhere(v vendor) string {
	if v.Chats() {
		return ""
	}
	return "; use an OpenAI-compatible endpoint of that vendor, with kind: openai and base_url"
}

// serves says whether the vendor's adapter has an endpoint for a kind of model.
func serves(v vendor, mode string) bool {
	switch mode {
	case "": // a vendor without chat has its few kinds of models in the catalogue, or by their names
		return v.Chats() || v.Embeds()
	case "chat", "completion", "responses":
		return v.Chats()
	case "embedding":
		return v.Embeds()
	case modeRerank:
		return v.Ranks()
	}
	return false
}

func prefixText(prefix string) string {
	if prefix == "" {
		return "the vendor of the name is not known"
	}
	return "vendor " + prefix
}

// wildcard maps a name with a star. The name that is asked for goes upstream unchanged, so both sides must agree.
func (im *importer) wildcard(at, name string, upstream *string) bool {
	if !strings.Contains(name+*upstream, "*") {
		return true
	}
	switch {
	case name == "*" && *upstream == "*":
		im.fallback = "any"
	case name == *upstream && strings.HasSuffix(name, "*") && strings.Count(name, "*") == 1:
	default:
		im.dropped(at, "names with a star can be carried if the part before the star is the same on both sides; list the models by name")
		return false
	}
	*upstream = penstock.UpstreamModelAsAsked
	return true
}

// join adds a target to a model.
func (im *importer) join(name, id string) {
	if name == "*" {
		name = im.fallback
	}
	m, ok := im.models[name]
	if !ok {
		m = &model{}
		im.models[name] = m
		im.order = append(im.order, name)
	}
	m.Targets = append(m.Targets, id)
}

// provider finds or adds the provider of a deployment.
func (im *importer) provider(s *section, v vendor) (string, bool) {
	p := &provider{Kind: v.Kind, BaseURL: v.BaseURL}
	base := s.text("api_base")
	if other := s.text("base_url"); base == "" {
		base = other
	}
	base = im.reference(base, "https://upstream.example")
	if base = v.address(base); base != "" {
		p.BaseURL = base
	} else if v.ownURL {
		im.dropped(s.path, "it needs api_base: the URL of the server")
		return "", false
	}
	if key := s.take("api_key"); key != nil || v.variable != "" {
		if text, _ := key.(string); v.variable != "" || !placeholder(text) {
			literal := strings.ToUpper(strings.ReplaceAll(slug(v.Name), "-", "_")) + "_KEY"
			p.APIKey = im.secret(s.at("api_key"), key, cmp.Or(v.variable, literal), literal)
		}
	}
	if version := s.text("api_version"); v.Name == "azure" {
		if version == "" {
			version = "2024-10-21"
			im.carried(s.path, "it has no api_version; %s is set", version)
		}
		p.Azure = map[string]string{"api_version": version}
		p.BaseURL = resource(p.BaseURL)
	}
	return im.addProvider(v, p), true
}

// reference is a value that is no secret, or the variable that has it, for which a sample is kept.
func (im *importer) reference(text, sample string) string {
	variable, ok := im.variable(text)
	if !ok {
		return text
	}
	im.variables[variable], im.samples[variable] = true, sample
	return "${" + variable + "}"
}

// addProvider returns the name of a provider, a new one if no other is the same.
func (im *importer) addProvider(v vendor, p *provider) string {
	for _, name := range slices.Sorted(maps.Keys(im.providers)) {
		if known := im.providers[name]; known.Kind == p.Kind && known.APIKey == p.APIKey && known.BaseURL == p.BaseURL && maps.Equal(known.Azure, p.Azure) && maps.Equal(known.AWS, p.AWS) {
			return name
		}
	}
	name := unused(v.Name, im.providers)
	im.providers[name] = p
	return name
}

// placeholder says whether a key only fills a required field, as for local servers.
func placeholder(key string) bool {
	return key == "" || slices.Contains([]string{"none", "null", "empty", "dummy", "fake", "fake-key", "anything", "sk-1234", "not-needed"}, strings.ToLower(key))
}

// resource is the URL of a resource at Azure without a path.
func resource(base string) string {
	if u, err := url.Parse(base); err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host
	}
	return base
}

func (im *importer) limits(s *section, t *target) {
	for key, name := range map[string]string{"rpm": "requests_per_minute", "tpm": "input_tokens_per_minute", "max_parallel_requests": "concurrency"} {
		n, ok := s.count(key)
		if !ok {
			im.dropped(s.at(key), "it must be a whole number; set limits.%s of the target", name)
		} else if n > 0 {
			t.Limits[name] = n
		}
	}
	if n := t.Limits["input_tokens_per_minute"]; n > 0 {
		im.carried(s.at("tpm"), "LiteLLM counts input and output together; here it is limits.input_tokens_per_minute: %d. Set output_tokens_per_minute too if the upstream has such a limit", n)
	}
	t.weight, _ = s.count("weight")
	t.rank, _ = s.count("order")
	total := im.timeout
	if text := s.text("timeout"); text != "" {
		own, ok := seconds(text)
		if !ok {
			im.dropped(s.at("timeout"), "it must be a number of seconds; set timeouts.total of the target")
		} else {
			total = own
		}
	}
	if total != "" {
		t.Timeouts["total"] = total
	}
	if region := s.text("region_name"); region != "" {
		t.Region = slug(region)
	}
}

// prices are the costs per token, and the classes of Penstock.
var prices = []struct{ key, class string }{
	{"input_cost_per_token", "input"}, {"output_cost_per_token", "output"}, {"cache_read_input_token_cost", "cached_input"},
	{"cache_creation_input_token_cost", "cache_write"}, {"input_cost_per_audio_token", "audio_input"}, {"output_cost_per_audio_token", "audio_output"},
	{"output_cost_per_reasoning_token", "reasoning"}, {"input_cost_per_token_above_200k_tokens", "input_above_200k"},
	{"output_cost_per_token_above_200k_tokens", "output_above_200k"},
}

// price reads what a model costs, by its parameters or by the statements about it.
func (im *importer) price(t *target, mode string, sections ...*section) {
	price := map[string]string{}
	for _, s := range sections {
		im.searchPrice(s, price)
		for _, p := range prices {
			text := s.text(p.key)
			if text == "" {
				continue
			}
			quote, exact, ok := dollars(text, million)
			switch {
			case !ok:
				im.dropped(s.at(p.key), "it must be dollars per token, such as 0.00000015; set price.%s", p.class)
				continue
			case !exact:
				im.carried(s.at(p.key), "price.%s is rounded up to %s dollars per million tokens", p.class, quote)
			}
			price[p.class] = quote
		}
	}
	if len(price) == 0 {
		return
	}
	if mode == modeRerank { // LiteLLM's files leave out the price that such a model does not have
		price["input"], price["output"] = cmp.Or(price["input"], "0"), cmp.Or(price["output"], "0")
	}
	if price["input"] == "" || price["output"] == "" {
		im.dropped(sections[0].path, "a price needs input_cost_per_token and output_cost_per_token; set price of the target, or leave it to the catalogue")
		return
	}
	t.Price = price
}

// searchPrice reads the price of a search.
func (im *importer) searchPrice(s *section, price map[string]string) {
	const key = "input_cost_per_query"
	text := s.text(key)
	if text == "" {
		return
	}
	quote, exact, ok := dollars(text, 1)
	switch {
	case !ok:
		im.dropped(s.at(key), "it must be dollars per search, such as 0.002; set price.per_search")
		return
	case !exact:
		im.carried(s.at(key), "price.per_search is rounded up to %s dollars", quote)
	}
	price["per_search"] = quote
}

// supports are LiteLLM's statements about models, and the capabilities of Penstock.
var supports = []struct{ key, capability string }{
	{"supports_function_calling", "tools"}, {"supports_vision", "vision"}, {"supports_response_schema", "json_schema"}, {"supports_native_streaming", "streaming"},
}

// describe reads what the file says about a model.
func (im *importer) describe(t *target, s *section, v vendor) {
	var lacks []string
	for _, one := range supports {
		if has, written := s.take(one.key).(bool); written && !has {
			lacks = append(lacks, one.capability)
		}
	}
	if len(lacks) > 0 {
		for _, c := range penstock.AllCapabilities {
			if c != penstock.CapabilityRerank && !slices.Contains(lacks, string(c)) { // the file is about models that chat
				t.Capabilities = append(t.Capabilities, string(c))
			}
		}
	}
	if n, ok := s.count("max_input_tokens"); ok {
		t.ContextTokens = n
	}
	if n, ok := s.count("max_output_tokens"); ok {
		t.MaxOutputTokens = n
	}
	base := s.text("base_model")
	if base == "" {
		return
	}
	entry := v.Name + "/" + strings.TrimPrefix(base, v.Name+"/")
	if _, ok := im.book.Named(entry); !ok {
		im.dropped(s.at("base_model"), "%s is not in the catalogue of %s; set price of the target", strconv.Quote(entry), im.book.Date)
		return
	}
	t.Catalogue = entry
}

// aliases gives models further names.
func (im *importer) aliases(s *section) {
	for _, alias := range s.left() {
		of, ok := s.take(alias).(string)
		if !ok {
			of = newSection(s.keys[alias], "").text("model")
		}
		m, known := im.models[of]
		if !known {
			im.dropped(s.at(alias), "no model %q was imported that it could stand for", of)
			continue
		}
		if problem := config.ModelNameProblem(alias); problem != "" {
			im.dropped(s.at(alias), "the alias is left out: %s; rename it, and the name that applications call", problem)
			continue
		}
		if _, taken := im.models[alias]; taken {
			im.dropped(s.at(alias), "there is a model of that name already")
			continue
		}
		im.models[alias] = &model{Targets: slices.Clone(m.Targets)}
		im.order = append(im.order, alias)
		im.backups[alias] = append(im.backups[alias], im.backups[of]...)
	}
}
