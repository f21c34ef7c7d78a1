// Package litellm translates the configuration file of the LiteLLM proxy to one of Penstock.
//
// It owns what the keys of LiteLLM's file mean. Nothing is dropped silently: every key of the file is either carried
// or reported, with its path and the next step. It never shows or writes a secret: a secret in the file becomes an
// environment variable, and the report asks for it.
package litellm

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"penstock/internal/catalogue"
	"penstock/internal/config"
)

// Result is a translated file.
type Result struct {
	// YAML is the configuration of Penstock.
	YAML []byte
	// Findings are what was not carried, or was carried with another meaning, in the order of the file's sections.
	Findings []Finding
	// Variables are the environment variables that the configuration needs.
	Variables []string
	// Samples are values for those variables that hold no secret, to check the configuration with.
	Samples map[string]string
	// Models is how many models the configuration has.
	Models int
}

// Finding is one thing that the operator should know.
type Finding struct {
	Path    string `json:"path"`    // in LiteLLM's file
	Status  Status `json:"status"`  // whether it has an effect
	Message string `json:"message"` // what happened, and what to do
}

// Status is what became of a key.
type Status string

// The states.
const (
	Carried    Status = "carried"     // with another meaning, which the message says
	NotCarried Status = "not_carried" // it has no effect in Penstock's file
)

// Import translates the text of a LiteLLM configuration to a file that serve accepts. The error says why the text cannot
// be read at all: an entry that Penstock cannot hold is left out and reported.
func Import(text []byte) (*Result, error) {
	tree, err := config.ReadTree(text)
	if err != nil {
		return nil, fmt.Errorf("this is not a LiteLLM configuration: %w", err)
	}
	root, ok := tree.(map[string]any)
	if !ok || root["model_list"] == nil {
		return nil, fmt.Errorf("this is not a LiteLLM configuration: it has no model_list")
	}
	if _, ok := root["model_list"].([]any); !ok {
		return nil, fmt.Errorf("model_list must be a list: each entry begins with \"- model_name:\"")
	}
	im := &importer{
		book: catalogue.Embedded(), providers: map[string]*provider{}, targets: map[string]*target{}, models: map[string]*model{}, variables: map[string]bool{}, samples: map[string]string{}, literals: map[string]string{},
	}
	im.file(newSection(root, ""))
	if err := im.prune(); err != nil {
		return nil, err
	}
	im.route()
	return im.checked()
}

// importer collects the parts of Penstock's file.
type importer struct {
	book *catalogue.Catalogue

	providers map[string]*provider // by name
	targets   map[string]*target
	models    map[string]*model
	order     []string // of models, as the file has them
	variables map[string]bool
	samples   map[string]string // of variables that hold no secret
	literals  map[string]string // the variables of secrets that are written in the file

	strategy string
	timeout  string              // of every target without its own
	cacheTTL string              // of every model
	backups  map[string][]string // models that answer for another that fails
	defaults []string            // models that answer for all others
	fallback string              // the model for unknown names
	adminKey string

	findings []Finding
}

// provider, target and model are sections of Penstock's file.
type provider struct {
	Kind    string            `yaml:"kind"`
	APIKey  string            `yaml:"api_key,omitempty"`
	BaseURL string            `yaml:"base_url,omitempty"`
	Azure   map[string]string `yaml:"azure,omitempty"`
	AWS     map[string]string `yaml:"aws,omitempty"`
}

type target struct {
	Provider        string            `yaml:"provider"`
	UpstreamModel   string            `yaml:"upstream_model"`
	Catalogue       string            `yaml:"catalogue,omitempty"`
	Region          string            `yaml:"region,omitempty"`
	MaxOutputTokens int64             `yaml:"max_output_tokens,omitempty"`
	ContextTokens   int64             `yaml:"context_tokens,omitempty"`
	Capabilities    []string          `yaml:"capabilities,omitempty"`
	Limits          map[string]int64  `yaml:"limits,omitempty"`
	Price           map[string]string `yaml:"price,omitempty"`
	Timeouts        map[string]string `yaml:"timeouts,omitempty"`

	from         string // the path of its deployment in LiteLLM's file
	weight, rank int64  // in its model
}

type model struct {
	Policy  string             `yaml:"policy,omitempty"`
	Targets []string           `yaml:"targets"`
	Weights map[string]int64   `yaml:"weights,omitempty"`
	Score   map[string]float64 `yaml:"score,omitempty"`
	Cache   map[string]string  `yaml:"cache,omitempty"`
}

// carried reports a key that has another meaning now.
func (im *importer) carried(at, format string, args ...any) {
	im.findings = append(im.findings, Finding{at, Carried, fmt.Sprintf(format, args...)})
}

// dropped reports a key that has no effect.
func (im *importer) dropped(at, format string, args ...any) {
	im.findings = append(im.findings, Finding{at, NotCarried, fmt.Sprintf(format, args...)})
}

// rest reports the keys of a section that nothing has taken.
func (im *importer) rest(s *section, why string) {
	for _, name := range s.left() {
		hint := why
		if known := meanings[name]; known != "" {
			hint = known
		}
		im.dropped(s.at(name), "%s", hint)
	}
}

// result writes the file.
func (im *importer) result() (*Result, error) {
	var out bytes.Buffer
	out.WriteString("# Imported from a LiteLLM configuration by \"penstock config import litellm\".\n")
	add := func(name string, v any) error {
		text, err := yaml.MarshalWithOptions(yaml.MapSlice{{Key: name, Value: v}}, yaml.IndentSequence(true))
		if err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
		out.Write(text)
		return nil
	}
	if im.adminKey != "" {
		if err := add("admin", map[string]string{"key": im.adminKey}); err != nil {
			return nil, err
		}
	}
	ordered := yaml.MapSlice{}
	for _, name := range im.order {
		ordered = append(ordered, yaml.MapItem{Key: name, Value: im.models[name]})
	}
	sections := yaml.MapSlice{{Key: "providers", Value: im.providers}, {Key: "targets", Value: im.targets}, {Key: "models", Value: ordered}}
	if im.fallback != "" {
		sections = append(sections, yaml.MapItem{Key: "fallback_model", Value: im.fallback})
	}
	for _, s := range sections {
		if err := add(s.Key.(string), s.Value); err != nil {
			return nil, err
		}
	}
	variables := slices.DeleteFunc(slices.Sorted(maps.Keys(im.variables)), func(name string) bool { return !bytes.Contains(out.Bytes(), []byte("${"+name+"}")) })
	return &Result{YAML: out.Bytes(), Findings: im.findings, Variables: variables, Samples: im.samples, Models: len(im.models)}, nil
}

// secret is the reference to a secret, which is never copied: to the variable that the file names, to LiteLLM's own variable if nothing
// is written, or to a variable of its own for a literal one. Equal literals share a variable.
func (im *importer) secret(at string, value any, own, literal string) string {
	text, _ := value.(string)
	name := own
	if variable, ok := im.variable(text); ok {
		name = variable
	} else if text != "" {
		if name = im.literals[text]; name == "" {
			name = literal
			for n := 2; im.variables[name]; n++ {
				name = fmt.Sprintf("%s_%d", literal, n)
			}
			im.literals[text] = name
		}
		im.carried(at, "the secret is written in the file; set the environment variable %s to it, and remove it from the file", name)
	}
	im.variables[name] = true
	return "${" + name + "}"
}

// environ begins the name of an environment variable in LiteLLM's file.
const environ = "os.environ/"

// variable is the name of the environment variable that a value refers to. Variables with Penstock's own prefix set keys
// of its file, so those get another name.
func (im *importer) variable(text string) (string, bool) {
	name, ok := strings.CutPrefix(text, environ)
	if !ok || !variableName.MatchString(name) {
		return "", false
	}
	if strings.HasPrefix(name, config.EnvPrefix) {
		old := name
		if name = "LITELLM_" + old; !im.variables[name] {
			im.carried(text, "variables that begin with %s set keys of Penstock's file; set %s instead of %s", config.EnvPrefix, name, old)
		}
	}
	return name, true
}
