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
	"penstock/internal/provider/preset"
)

// starters are the vendors that a new configuration can begin with, in the order in which they are proposed.
func starters() []preset.Vendor {
	return slices.DeleteFunc(slices.Clone(preset.Vendors), func(v preset.Vendor) bool { return v.Model == "" })
}

func starterNames() []string {
	var names []string
	for _, v := range starters() {
		names = append(names, v.Name)
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
			text, variables, err := sh.firstYAML(&o)
			if err != nil {
				return err
			}
			if _, err := config.Parse("the new configuration", text, config.Pretend(map[string]string{"DATABASE_URL": "postgres://db/penstock"})); err != nil {
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
	for _, v := range starters() {
		if sh.keyVariable(v) != "" {
			found = append(found, v.Name)
		}
	}
	return found
}

// keyVariable is the variable of a vendor's key that is set, "" for none.
func (sh *shell) keyVariable(v preset.Vendor) string {
	for _, name := range v.KeyVariables {
		if sh.variable(name) != "" {
			return name
		}
	}
	return ""
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
	var answer string
	var models []string
	var err error
	for len(models) == 0 {
		if answer, err = ask("Vendors, of "+strings.Join(starterNames(), ", "), proposal); err != nil {
			return err
		}
		o.vendors = fields(answer)
		if models, err = proposed(o.vendors); err != nil { // a typo does not end the conversation
			fmt.Fprintln(sh.stdout, err)
		}
	}
	if len(o.models) == 0 {
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
func starterOf(name string) (preset.Vendor, error) {
	v, ok := preset.VendorOf(name)
	if !ok || v.Model == "" {
		return v, usageError{fmt.Sprintf("there is no vendor %q%s; the vendors are %s", name, config.Suggest(name, starterNames()), strings.Join(starterNames(), ", "))}
	}
	return v, nil
}

// proposed is one model for each vendor.
func proposed(vendors []string) ([]string, error) {
	var models []string
	for _, name := range vendors {
		v, err := starterOf(name)
		if err != nil {
			return nil, err
		}
		models = append(models, v.Model)
	}
	return models, nil
}

// starterYAML is the line of a provider, and the variables that it needs.
func (sh *shell) starterYAML(v preset.Vendor) (line string, variables []string) {
	var options string
	if v.BaseURL != "" {
		options = fmt.Sprintf(", base_url: %q", v.BaseURL)
	}
	key := sh.keyVariable(v)
	if key == "" && v.Kind != config.KindBedrock && len(v.KeyVariables) > 0 {
		key = v.KeyVariables[0]
	}
	if key != "" {
		variables = append(variables, key)
		options += fmt.Sprintf(", api_key: \"${%s}\"", key)
	}
	if v.Kind == config.KindBedrock {
		region := preset.AWSRegionVariables[0]
		for _, name := range slices.Backward(preset.AWSRegionVariables) {
			if sh.variable(name) != "" {
				region = name
			}
		}
		variables = append(variables, region)
		aws := fmt.Sprintf("region: \"${%s}\"", region)
		if key == "" {
			variables = append(variables, preset.AWSAccessKeyVariable, preset.AWSSecretKeyVariable)
			aws += fmt.Sprintf(", access_key_id: \"${%s}\", secret_access_key: \"${%s}\"", preset.AWSAccessKeyVariable, preset.AWSSecretKeyVariable)
			if sh.variable(preset.AWSSessionVariable) != "" {
				aws += fmt.Sprintf(", session_token: \"${%s}\"", preset.AWSSessionVariable)
			}
		}
		options += ", aws: {" + aws + "}"
	}
	return fmt.Sprintf("  %s: {kind: %s%s}\n", v.Name, v.Kind, options), variables
}

// firstYAML writes the file.
func (sh *shell) firstYAML(o *firstFile) (text []byte, variables []string, err error) {
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
	var used []preset.Vendor
	for _, name := range o.vendors {
		s, err := starterOf(name)
		if err != nil {
			return nil, nil, err
		}
		used = append(used, s)
		line, needed := sh.starterYAML(s)
		providers.WriteString(line)
		variables = append(variables, needed...)
	}
	taken := map[string]bool{}
	for _, model := range models {
		s, err := serves(used, model)
		if err != nil {
			return nil, nil, err
		}
		id := targetName(s.Name+"-"+model, taken)
		fmt.Fprintf(&targets, "  %s: {provider: %s, upstream_model: %q}%s\n", id, s.Name, model, priceNote(s.Name, model))
		fmt.Fprintf(&public, "  %q: {targets: [%s]}\n", model, id)
	}
	database := "# database: \"${DATABASE_URL}\"          # PostgreSQL instead of SQLite in ./penstock-data\n"
	if o.postgres {
		database, variables = "database: \"${DATABASE_URL}\"\n", append(variables, "DATABASE_URL")
	}
	return []byte("# Every key is in docs/reference/configuration.md. Editors complete keys with the schema of: penstock config schema\n" +
		"listen: " + o.listen + "\n" + database + "providers:\n" + providers.String() + "targets:\n" + targets.String() + "models:\n" + public.String()), variables, nil
}

// serves finds the vendor of a model: by the catalogue, else the only one, else one that the catalogue does not know.
func serves(used []preset.Vendor, model string) (preset.Vendor, error) {
	book := catalogue.Embedded()
	var near []string
	for _, s := range used {
		if _, ok := book.Find(s.Name, model); ok {
			return s, nil
		}
		for _, e := range book.Select(catalogue.Filter{Vendor: s.Name}) {
			near = append(near, e.Model)
		}
	}
	for _, s := range used {
		if len(book.Names(s.Name)) > 0 && len(used) > 1 {
			continue
		}
		if owner := familyOf(model); owner != "" && owner != s.Name && len(s.Families) > 0 {
			return preset.Vendor{}, usageError{fmt.Sprintf("%q is a model of %s, not of %s; use --vendor %[2]s for it", model, owner, s.Name)}
		}
		return s, nil
	}
	return preset.Vendor{}, usageError{fmt.Sprintf("the catalogue has no model %q of these vendors%s; see penstock models list --catalogue", model, config.Suggest(model, near))}
}

// familyOf is the vendor whose models have names that begin like this one, "" if none has.
func familyOf(model string) string {
	for _, v := range preset.Vendors {
		if slices.ContainsFunc(v.Families, func(family string) bool { return strings.HasPrefix(model, family) }) {
			return v.Name
		}
	}
	return ""
}

// priceNote says what a model costs, in a comment.
func priceNote(vendor, model string) string {
	e, ok := catalogue.Embedded().Find(vendor, model)
	if !ok || e.Price.Input == "" {
		return "   # set price: the catalogue does not know it"
	}
	if e.Price.PerSearch != "" {
		return fmt.Sprintf("   # %s dollars per search unit, by the catalogue of %s", e.Price.PerSearch, catalogue.Embedded().Date)
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
