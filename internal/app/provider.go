package app

import (
	"fmt"
	"net/http"
	"slices"
	"sync"

	"penstock/internal/config"
	"penstock/internal/provider"
	"penstock/internal/provider/anthropic"
	"penstock/internal/provider/bedrock"
	"penstock/internal/provider/gemini"
	"penstock/internal/provider/openai"
	"penstock/internal/provider/preset"
	"penstock/internal/provider/wire"
)

// registry holds the adapters of the current configuration. An adapter whose settings did not change
// survives a reload, together with its open connections.
type registry struct {
	live *config.Live
	keys keyWatch

	maxAnswerBytes int64

	mu       sync.Mutex
	snapshot *config.Snapshot // the one that adapters were made for
	adapters map[string]adapter
}

type adapter struct {
	provider.Provider
	settings config.ProviderConfig
}

func newRegistry(live *config.Live, keys keyWatch) *registry {
	return &registry{live: live, keys: keys, maxAnswerBytes: live.Current().Process.Limits.MaxAnswerBytes, adapters: make(map[string]adapter)}
}

// Provider implements outbound.Providers.
func (r *registry) Provider(name string) (provider.Provider, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if current := r.live.Current(); current != r.snapshot {
		next := r.build(current)
		for name, old := range r.adapters {
			if kept, ok := next[name]; !ok || kept.Provider != old.Provider {
				closeIdle(old.Provider) // calls in flight keep theirs until they are done
			}
		}
		r.adapters, r.snapshot = next, current
	}
	a, ok := r.adapters[name]
	return a.Provider, ok
}

// build creates the adapters of a snapshot that was checked.
func (r *registry) build(s *config.Snapshot) map[string]adapter {
	next := make(map[string]adapter, len(s.Providers))
	for name, settings := range s.Providers {
		if old, ok := r.adapters[name]; ok && sameProvider(old.settings, settings) {
			next[name] = old
			continue
		}
		if p, err := r.newProvider(name, settings, r.keys); err == nil {
			next[name] = adapter{p, settings}
		}
	}
	return next
}

// closeIdle closes the idle connections of a replaced adapter.
func closeIdle(p provider.Provider) {
	if c, ok := p.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func sameProvider(a, b config.ProviderConfig) bool {
	return a.Kind == b.Kind && a.BaseURL == b.BaseURL && a.Azure == b.Azure && sameAWS(a.AWS, b.AWS) &&
		slices.EqualFunc(a.Keys(), b.Keys(), config.Secret.Equal)
}

func sameAWS(a, b config.AWS) bool {
	return a.Region == b.Region && a.AccessKeyID == b.AccessKeyID && a.SecretAccessKey.Equal(b.SecretAccessKey) && a.SessionToken.Equal(b.SessionToken)
}

// check reports why the adapters of a snapshot cannot be created.
func (r *registry) check(s *config.Snapshot) error {
	for name, settings := range s.Providers {
		if _, err := r.newProvider(name, settings, nil); err != nil {
			return err
		}
	}
	return nil
}

// NewProvider makes the adapter of a provider whose keys are not read again.
func NewProvider(name string, c config.ProviderConfig) (provider.Provider, error) {
	return new(registry).newProvider(name, c, nil)
}

func (r *registry) newProvider(name string, c config.ProviderConfig, keys keyWatch) (provider.Provider, error) {
	settings := wire.Config{Name: name, BaseURL: c.BaseURL, WatchKeys: keys.of(name), MaxAnswerBytes: int(r.maxAnswerBytes)}
	for _, key := range c.Keys() {
		settings.APIKeys = append(settings.APIKeys, key.Reveal())
	}
	switch c.Kind {
	case config.KindOpenAI:
		if c.Azure != (config.Azure{}) {
			return openai.NewAzure(settings, c.Azure.APIVersion)
		}
		return openai.New(settings)
	case config.KindAnthropic:
		return anthropic.New(settings)
	case config.KindGemini:
		return gemini.New(settings)
	case config.KindBedrock:
		return bedrock.New(settings, bedrock.Credentials{
			Region: c.AWS.Region, AccessKeyID: c.AWS.AccessKeyID, SecretAccessKey: c.AWS.SecretAccessKey.Reveal(), SessionToken: c.AWS.SessionToken.Reveal(),
		})
	}
	if vendor, ok := preset.Of(c.Kind); ok {
		return openai.NewPreset(settings, vendor)
	}
	return nil, fmt.Errorf("providers.%s.kind: %q has no adapter", name, c.Kind)
}

// SetKey sets the headers by which a provider knows us, outside of calls to models.
func SetKey(h http.Header, p config.ProviderConfig) {
	if p.Kind == config.KindAnthropic {
		h.Set("anthropic-version", anthropic.DefaultVersion)
	}
	keys := p.Keys()
	switch {
	case len(keys) == 0:
	case p.Kind == config.KindAnthropic:
		h.Set("x-api-key", keys[0].Reveal())
	case p.Kind == config.KindGemini:
		h.Set("x-goog-api-key", keys[0].Reveal())
	case p.Azure != (config.Azure{}):
		h.Set("api-key", keys[0].Reveal())
	default:
		h.Set("Authorization", "Bearer "+keys[0].Reveal())
	}
}

// keyWatch is called when the state of a provider's key changes; nil for none.
type keyWatch func(provider string, c wire.KeyChange)

func (w keyWatch) of(name string) func(wire.KeyChange) {
	if w == nil {
		return nil
	}
	return func(c wire.KeyChange) { w(name, c) }
}

// watchKeys counts and logs the state changes of keys. A rest happens many times a day, so it is counted and not logged.
func (a *app) watchKeys(name string, c wire.KeyChange) {
	switch c.Kind {
	case "":
		a.metrics.KeyRestored(name, c.Key)
		a.log.Info("a key of a provider works again", "provider", name, "key", c.Key)
	case provider.KindRateLimited:
		a.metrics.KeyResting(name, c.Key)
		a.log.Debug("a key of a provider rests", "provider", name, "key", c.Key, "model", c.Model, "for", c.For)
	default:
		a.metrics.KeyBenched(name, c.Key, string(c.Kind))
		a.log.Warn("a key of a provider is refused and left alone", "provider", name, "key", c.Key, "kind", c.Kind, "for", c.For, "error", c.Err)
	}
}
