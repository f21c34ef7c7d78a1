package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"penstock/internal/catalogue"
	"penstock/internal/config"
)

// starter is a vendor that a new configuration can begin with.
type starter struct {
	name, kind, baseURL string
	variable            string // of its key; "" for a server that needs none
	model               string // that is proposed
}

// starters are the vendors, in the order in which they are proposed.
var starters = []starter{
	{"openai", config.KindOpenAI, "", "OPENAI_API_KEY", "gpt-4.1-mini"},
	{"anthropic", config.KindAnthropic, "", "ANTHROPIC_API_KEY", "claude-haiku-4-5"},
	{"mistral", config.KindOpenAI, "https://api.mistral.ai/v1", "MISTRAL_API_KEY", "mistral-small-latest"},
	{"groq", config.KindOpenAI, "https://api.groq.com/openai/v1", "GROQ_API_KEY", "llama-3.3-70b-versatile"},
	{"together", config.KindOpenAI, "https://api.together.xyz/v1", "TOGETHER_API_KEY", "meta-llama/Llama-3.3-70B-Instruct-Turbo"},
	{"xai", config.KindOpenAI, "https://api.x.ai/v1", "XAI_API_KEY", "grok-3-mini"},
	{"deepseek", config.KindOpenAI, "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "deepseek-chat"},
	{"openrouter", config.KindOpenAI, "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "openai/gpt-4.1-mini"},
	{"ollama", config.KindOpenAI, "http://127.0.0.1:11434/v1", "", "llama3.2"},
}

func starterNames() []string {
	var names []string
	for _, s := range starters {
		names = append(names, s.name)
	}
	return names
}

// firstFile is what is asked for a new configuration.
type firstFile struct {
	vendors  []string
	models   []string
	listen   string
	postgres bool
}

func (sh *shell) configInitCommand() *cobra.Command {
	var o firstFile
	var to newFile
	c := &cobra.Command{
		Use: "init", Short: "Write a first configuration file", Args: takes(),
		Long: `Writes a configuration file to begin with. On a terminal it asks for vendors, models and
the database; flags answer the questions beforehand. Elsewhere it uses the flags, and the
vendors whose keys are in the environment. The file names environment variables and holds
no secrets. Prices come from the catalogue of models.`,
		Example: "  penstock config init\n  penstock config init --vendor openai,anthropic --model gpt-4.1-mini --model claude-haiku-4-5\n  penstock config init --vendor ollama --model llama3.2 --out - ",
		RunE: func(c *cobra.Command, _ []string) error {
			if len(o.vendors) == 0 {
				o.vendors = sh.foundVendors()
			}
			if sh.terminal && !c.Flags().Changed("vendor") {
				if err := sh.askFirstFile(&o); err != nil {
					return err
				}
			}
			text, variables, err := o.yaml()
			if err != nil {
				return err
			}
			if _, err := config.Parse("the new configuration", text, pretend(map[string]string{"DATABASE_URL": "postgres://db/penstock"})); err != nil {
				return err
			}
			if err := to.write(sh, text); err != nil {
				return err
			}
			return sh.printFirstSteps(to.path, variables)
		},
	}
	f := c.Flags()
	f.StringSliceVar(&o.vendors, "vendor", nil, "`vendors` to call: "+strings.Join(starterNames(), ", ")+" (those with a key in the environment)")
	f.StringSliceVar(&o.models, "model", nil, "`models` to serve, as the vendor names them (one for each vendor)")
	f.StringVar(&o.listen, "listen", config.DefaultListen, "address of the API")
	f.BoolVar(&o.postgres, "postgres", false, "use PostgreSQL, at ${DATABASE_URL}, instead of SQLite")
	to.flags(c, defaultConfig)
	return c
}

// foundVendors are those whose keys are in the environment.
func (sh *shell) foundVendors() []string {
	var found []string
	for _, s := range starters {
		if s.variable != "" && sh.variable(s.variable) != "" {
			found = append(found, s.name)
		}
	}
	return found
}

// askFirstFile asks a person. An empty answer takes the proposal.
func (sh *shell) askFirstFile(o *firstFile) error {
	in := bufio.NewReader(io.LimitReader(sh.stdin, 64<<10))
	ask := func(question, proposal string) (string, error) {
		fmt.Fprintf(sh.stdout, "%s [%s]: ", question, proposal)
		line, err := in.ReadString('\n')
		if err != nil && line == "" {
			return "", fmt.Errorf("the questions were not answered; use flags instead, such as --vendor openai")
		}
		if line = strings.TrimSpace(line); line == "" {
			return proposal, nil
		}
		return line, nil
	}
	proposal := strings.Join(o.vendors, ",")
	if proposal == "" {
		proposal = "openai"
	}
	answer, err := ask("Vendors, of "+strings.Join(starterNames(), ", "), proposal)
	if err != nil {
		return err
	}
	o.vendors = fields(answer)
	if len(o.models) == 0 {
		models, err := proposed(o.vendors)
		if err != nil {
			return err
		}
		if answer, err = ask("Models, as the vendors name them", strings.Join(models, ",")); err != nil {
			return err
		}
		o.models = fields(answer)
	}
	if answer, err = ask("Database, sqlite or postgres", "sqlite"); err != nil {
		return err
	}
	o.postgres = o.postgres || strings.HasPrefix(strings.ToLower(answer), "postgres")
	o.listen, err = ask("Address of the API", o.listen)
	return err
}

func fields(answer string) []string {
	return strings.FieldsFunc(answer, func(r rune) bool { return r == ',' || r == ' ' })
}

// starterOf finds a vendor by name.
func starterOf(name string) (starter, error) {
	i := slices.IndexFunc(starters, func(s starter) bool { return s.name == name })
	if i < 0 {
		return starter{}, usageError{fmt.Sprintf("there is no vendor %q%s; the vendors are %s", name, config.Suggest(name, starterNames()), strings.Join(starterNames(), ", "))}
	}
	return starters[i], nil
}

// proposed is one model for each vendor.
func proposed(vendors []string) ([]string, error) {
	var models []string
	for _, name := range vendors {
		s, err := starterOf(name)
		if err != nil {
			return nil, err
		}
		models = append(models, s.model)
	}
	return models, nil
}

// yaml writes the file.
func (o *firstFile) yaml() (text []byte, variables []string, err error) {
	if len(o.vendors) == 0 {
		return nil, nil, usageError{"no key of a vendor is in the environment: name vendors with --vendor, such as --vendor openai"}
	}
	if _, _, err := net.SplitHostPort(o.listen); err != nil {
		return nil, nil, usageError{fmt.Sprintf("--listen must look like 127.0.0.1:8080, not %q", o.listen)}
	}
	models := o.models
	if len(models) == 0 {
		if models, err = proposed(o.vendors); err != nil {
			return nil, nil, err
		}
	}
	var providers, targets, public strings.Builder
	var used []starter
	for _, name := range o.vendors {
		s, err := starterOf(name)
		if err != nil {
			return nil, nil, err
		}
		used = append(used, s)
		fmt.Fprintf(&providers, "  %s: {kind: %s%s%s}\n", s.name, s.kind, option("base_url", s.baseURL), option("api_key", reference(s.variable)))
		if s.variable != "" {
			variables = append(variables, s.variable)
		}
	}
	taken := map[string]bool{}
	for _, model := range models {
		s, err := serves(used, model)
		if err != nil {
			return nil, nil, err
		}
		id := targetName(s.name+"-"+model, taken)
		fmt.Fprintf(&targets, "  %s: {provider: %s, upstream_model: %q}%s\n", id, s.name, model, priceNote(s.name, model))
		fmt.Fprintf(&public, "  %q: {targets: [%s]}\n", model, id)
	}
	database := "# database: \"${DATABASE_URL}\"          # PostgreSQL instead of SQLite in ./penstock-data\n"
	if o.postgres {
		database, variables = "database: \"${DATABASE_URL}\"\n", append(variables, "DATABASE_URL")
	}
	return []byte("# Every key is in docs/reference/configuration.md. Editors complete keys with the schema of: penstock config schema\n" +
		"listen: " + o.listen + "\n" + database + "providers:\n" + providers.String() + "targets:\n" + targets.String() + "models:\n" + public.String()), variables, nil
}

func option(name, value string) string {
	if value == "" {
		return ""
	}
	return fmt.Sprintf(", %s: %q", name, value)
}

func reference(variable string) string {
	if variable == "" {
		return ""
	}
	return "${" + variable + "}"
}

// serves finds the vendor of a model: by the catalogue, else the only one, else one that the catalogue does not know.
func serves(used []starter, model string) (starter, error) {
	book := catalogue.Embedded()
	var near []string
	for _, s := range used {
		if _, ok := book.Find(s.name, model); ok {
			return s, nil
		}
		for _, e := range book.Select(catalogue.Filter{Vendor: s.name}) {
			near = append(near, e.Model)
		}
	}
	for _, s := range used {
		if len(book.Names(s.name)) == 0 || len(used) == 1 {
			return s, nil
		}
	}
	return starter{}, usageError{fmt.Sprintf("the catalogue has no model %q of these vendors%s; see penstock models list --catalogue", model, config.Suggest(model, near))}
}

// priceNote says what a model costs, in a comment.
func priceNote(vendor, model string) string {
	e, ok := catalogue.Embedded().Find(vendor, model)
	if !ok || e.Price.Input == "" {
		return "   # set price: the catalogue does not know it"
	}
	return fmt.Sprintf("   # input %s, output %s dollars per million tokens, by the catalogue of %s", e.Price.Input, e.Price.Output, catalogue.Embedded().Date)
}

// targetName makes a name of a target that is not taken.
func targetName(text string, taken map[string]bool) string {
	name := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, strings.ToLower(text)), "-._")
	name = name[:min(len(name), 60)]
	for taken[name] {
		name += "x"
	}
	taken[name] = true
	return name
}

// printFirstSteps says how to go on, if the file is not printed itself.
func (sh *shell) printFirstSteps(path string, variables []string) error {
	if path == "" || path == "-" {
		return nil
	}
	fmt.Fprintf(sh.stdout, "%s is written. Next:\n\n", path)
	for _, name := range variables {
		if sh.variable(name) == "" {
			fmt.Fprintf(sh.stdout, "  export %s=…\n", name)
		}
	}
	_, err := fmt.Fprintf(sh.stdout, `  penstock config validate %[1]s
  penstock serve --config %[1]s
  penstock tenants create search          # while it runs, in another terminal
  penstock keys create app --tenant search
`, path)
	return err
}
