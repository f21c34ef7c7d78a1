package app

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"penstock/internal/config"
	"penstock/internal/filter"
	"penstock/internal/isolate"
	"penstock/internal/provider"
	"penstock/internal/supervise"
)

// connectSuspects creates the pool that runs suspects, in a worker that can start child processes.
func (a *app) connectSuspects() error {
	if len(a.Child) == 0 || !a.Role.works() {
		return nil
	}
	keys, err := a.store.keys.Export()
	if err != nil {
		return fmt.Errorf("preparing child processes: %w", err)
	}
	a.children, err = supervise.New(supervise.Config{
		Command: a.Child, Env: childEnv(os.Environ()), Children: a.Config.Process.Work.Suspects, Log: a.log,
		Watch: supervise.Watch{
			Started:     a.metrics.ChildStarted,
			Died:        func(*supervise.Death) { a.metrics.ChildDied() },
			StartFailed: func(error) { a.metrics.ChildUnstarted() },
		},
	})
	if err != nil {
		return fmt.Errorf("preparing child processes: %w", err)
	}
	a.isolated = isolate.New(isolate.Deps{
		Children: a.children, Attempts: a.runner, Settings: a.providerSettings, Keys: keys, Log: a.log,
	})
	return nil
}

// childNeeds are the environment variables that a child process inherits. None of them is a secret: a child process gets
// secrets through its standard input.
var childNeeds = []string{
	"PATH", "HOME", "TMPDIR", "TZ", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR", "GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
}

func childEnv(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return !slices.Contains(childNeeds, name)
	})
}

// providerSettings are the settings of a provider as a child process gets them.
type providerSettings struct {
	Name    string
	Kind    string
	BaseURL string
	Azure   config.Azure
	Keys    []string

	AWSRegion, AWSAccessKeyID, AWSSecretAccessKey, AWSSessionToken string
}

// providerSettings returns the settings of a provider in the current configuration. A provider that was removed has none;
// the attempt reports that.
func (a *app) providerSettings(name string) ([]byte, error) {
	c, ok := a.live.Current().Providers[name]
	if !ok {
		return nil, nil
	}
	s := providerSettings{
		Name: name, Kind: c.Kind, BaseURL: c.BaseURL, Azure: c.Azure, AWSRegion: c.AWS.Region, AWSAccessKeyID: c.AWS.AccessKeyID,
		AWSSecretAccessKey: c.AWS.SecretAccessKey.Reveal(), AWSSessionToken: c.AWS.SessionToken.Reveal(),
	}
	for _, key := range c.Keys() {
		s.Keys = append(s.Keys, key.Reveal())
	}
	return json.Marshal(s)
}

// provider creates the adapter of a provider in a child process.
func (s providerSettings) provider() (provider.Provider, error) {
	c := config.ProviderConfig{Kind: s.Kind, BaseURL: s.BaseURL, Azure: s.Azure, AWS: config.AWS{
		Region: s.AWSRegion, AccessKeyID: s.AWSAccessKeyID, SecretAccessKey: config.NewSecret(s.AWSSecretAccessKey), SessionToken: config.NewSecret(s.AWSSessionToken),
	}}
	for _, key := range s.Keys {
		c.APIKeys = append(c.APIKeys, config.NewSecret(key))
	}
	return NewProvider(s.Name, c)
}

// RunChild runs a child process, which runs suspects for its parent. It opens no database, listens nowhere and
// takes no lock. Its filters must be those of its parent.
func RunChild(log io.Writer, filters *filter.Chain) error {
	child := isolate.NewChild(isolate.ChildDeps{
		Provider: func(text []byte) (provider.Provider, error) {
			var s providerSettings
			if err := json.Unmarshal(text, &s); err != nil {
				return nil, err
			}
			return s.provider()
		},
		Translator: translator{}, Filters: filters, Log: slog.New(slog.NewJSONHandler(log, nil)),
	})
	return supervise.Serve(child.Run)
}
