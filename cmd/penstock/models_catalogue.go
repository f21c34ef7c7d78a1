package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"penstock/internal/catalogue"
	"penstock/internal/config"
)

// catalogueFlags select entries of the catalogue.
type catalogueFlags struct {
	show   bool
	config string
	filter catalogue.Filter
}

func (f *catalogueFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.BoolVar(&f.show, "catalogue", false, "list the catalogue of models instead: prices, context and capabilities; needs no server")
	flags.StringVar(&f.filter.Vendor, "vendor", "", "with --catalogue: only models of this vendor, such as openai")
	flags.StringVar(&f.filter.Mode, "mode", "", "with --catalogue: only models of this kind: "+strings.Join(catalogue.Modes, ", "))
	flags.StringVar(&f.filter.Text, "name", "", "with --catalogue: only models whose name contains this `text`")
	flags.StringSliceVar(&f.filter.Capabilities, "capability", nil, "with --catalogue: only models with this `capability`, such as tools or vision; can be repeated")
	flags.Int64Var(&f.filter.MinContext, "min-context", 0, "with --catalogue: only models that accept at least this many `tokens`")
	flags.StringVarP(&f.config, "config", "c", defaultConfig, "with --catalogue: configuration `file` whose catalogue is listed, if the file exists")
}

// misused reports a filter that has no effect.
func (f *catalogueFlags) misused(c *cobra.Command) error {
	if f.show {
		return nil
	}
	for _, name := range []string{"vendor", "mode", "name", "capability", "min-context", "config"} {
		if c.Flags().Changed(name) {
			return usageError{fmt.Sprintf("--%s needs --catalogue", name)}
		}
	}
	return nil
}

// catalogueOf is the catalogue of a configuration file, or the embedded one if there is no file.
func (sh *shell) catalogueOf(c *cobra.Command, path string) (*catalogue.Catalogue, error) {
	if _, err := os.Stat(path); err != nil && !c.Flags().Changed("config") {
		return catalogue.Embedded(), nil
	}
	name, err := config.CatalogueFile(path, sh.env)
	if err != nil || name == "" {
		return catalogue.Embedded(), err
	}
	return catalogue.Load(name)
}

func (sh *shell) listCatalogue(c *cobra.Command, f catalogueFlags) error {
	book, err := sh.catalogueOf(c, f.config)
	if err != nil {
		return err
	}
	if v := f.filter.Vendor; v != "" && len(book.Names(v)) == 0 {
		return usageError{fmt.Sprintf("the catalogue has no vendor %q%s; it has %s", v, config.Suggest(v, book.Vendors()), strings.Join(book.Vendors(), ", "))}
	}
	entries := book.Select(f.filter)
	if sh.output == outputJSON { // in the format of a catalogue file, to begin one with
		if err := sh.json(map[string]string{"catalogue": book.Date, "source": book.Source}); err != nil {
			return err
		}
		for _, e := range entries {
			if err := sh.json(e); err != nil {
				return err
			}
		}
		return nil
	}
	t := sh.table("MODEL", "MODE", "CONTEXT", "MAX OUTPUT", "INPUT", "CACHED", "OUTPUT", "CAPABILITIES", "ENDS")
	for _, e := range entries {
		ends := e.EndsOn
		if e.Ended(sh.now()) {
			ends += " (ended)"
		}
		if err := t.row(e.Name(), e.Mode, known(e.ContextTokens), known(e.MaxOutputTokens), e.Price.Input, e.Price.CachedInput, e.Price.Output,
			strings.Join(e.Capabilities, ","), ends); err != nil {
			return err
		}
	}
	if err := t.end("No model matches."); err != nil {
		return err
	}
	_, err = fmt.Fprintf(sh.stderr, "%s of the catalogue of %s%s. Prices are US dollars per million tokens.\n", plural(len(entries), "model"), book.Date, age(book.Date, sh.now()))
	return err
}

// age says how old a catalogue is, once that matters.
func age(date string, now time.Time) string {
	day, err := time.Parse(time.DateOnly, date)
	if days := int(now.Sub(day).Hours() / 24); err == nil && days > 30 {
		return fmt.Sprintf(", %d days old", days)
	}
	return ""
}

// known is a count of tokens, "" if it is not known.
func known(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
