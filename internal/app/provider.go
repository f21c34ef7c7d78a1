package app

import (
	"fmt"
	"sync"

	"penstock/internal/config"
	"penstock/internal/provider"
	"penstock/internal/provider/anthropic"
	"penstock/internal/provider/openai"
)

// registry makes the adapters of the configuration in force. An adapter whose settings did not change
// outlives a reload, and with it its warm connections.
type registry struct {
	live *config.Live

	mu       sync.Mutex
	snapshot *config.Snapshot // the one that adapters were made for
	adapters map[string]adapter
}

type adapter struct {
	provider.Provider
	settings config.ProviderConfig
}

func newRegistry(live *config.Live) *registry {
	return &registry{live: live, adapters: make(map[string]adapter)}
}

// Provider implements attempt.Providers.
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

// build makes the adapters of a snapshot that was checked.
func (r *registry) build(s *config.Snapshot) map[string]adapter {
	next := make(map[string]adapter, len(s.Providers))
	for name, settings := range s.Providers {
		if old, ok := r.adapters[name]; ok && sameProvider(old.settings, settings) {
			next[name] = old
			continue
		}
		if p, err := newProvider(name, settings); err == nil {
			next[name] = adapter{p, settings}
		}
	}
	return next
}

// closeIdle lets go of the connections that an adapter keeps for calls that will not come.
func closeIdle(p provider.Provider) {
	if c, ok := p.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func sameProvider(a, b config.ProviderConfig) bool {
	return a.Kind == b.Kind && a.BaseURL == b.BaseURL && a.Azure == b.Azure && a.APIKey.Equal(b.APIKey)
}

// check reports what keeps a snapshot's adapters from being made.
func (r *registry) check(s *config.Snapshot) error {
	for name, settings := range s.Providers {
		if _, err := newProvider(name, settings); err != nil {
			return err
		}
	}
	return nil
}

func newProvider(name string, c config.ProviderConfig) (provider.Provider, error) {
	switch c.Kind {
	case config.KindOpenAI:
		settings := openai.Config{Name: name, BaseURL: c.BaseURL, APIKey: c.APIKey.Reveal()}
		if c.Azure != (config.Azure{}) {
			return openai.NewAzure(settings, c.Azure.APIVersion)
		}
		return openai.New(settings)
	case config.KindAnthropic:
		return anthropic.New(anthropic.Config{Name: name, BaseURL: c.BaseURL, APIKey: c.APIKey.Reveal()})
	}
	return nil, fmt.Errorf("providers.%s.kind: %q has no adapter", name, c.Kind)
}
