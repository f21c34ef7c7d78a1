package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"penstock/internal/config"
	"penstock/internal/litellm"
)

func (sh *shell) configImportCommand() *cobra.Command {
	return noun("import", "Translate the configuration of another gateway", sh.configImportLiteLLMCommand())
}

func (sh *shell) configImportLiteLLMCommand() *cobra.Command {
	var to newFile
	c := &cobra.Command{
		Use: "litellm FILE", Short: "Translate a configuration of the LiteLLM proxy", Args: takes("FILE"),
		Long: `Translates the config.yaml of a LiteLLM proxy. Prints the configuration, or writes it to
--out. Reports on stderr everything that was not carried, or that has another meaning.
Secrets are not copied: they become environment variables.`,
		Example: "  penstock config import litellm config.yaml --out penstock.yaml\n  penstock config import litellm config.yaml -o json | jq .findings",
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := readBounded(args[0])
			if err != nil {
				return err
			}
			result, err := litellm.Import(text)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if sh.output == outputJSON {
				return sh.json(map[string]any{"config": string(result.YAML), "findings": result.Findings, "variables": result.Variables})
			}
			if err := to.write(sh, result.YAML); err != nil {
				return err
			}
			return sh.printImport(args[0], result)
		},
	}
	to.flags(c, "")
	return c
}

// printImport reports what was not carried.
func (sh *shell) printImport(path string, r *litellm.Result) error {
	lost := 0
	for _, f := range r.Findings {
		word := "carried, but"
		if f.Status == litellm.NotCarried {
			word = "not carried"
			lost++
		}
		fmt.Fprintf(sh.stderr, "%s: %s: %s\n", clean(f.Path), word, clean(f.Message))
	}
	var missing []string
	for _, name := range r.Variables {
		if sh.variable(name) == "" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		fmt.Fprintf(sh.stderr, "Set these environment variables: %s.\n", strings.Join(missing, ", "))
	}
	_, err := fmt.Fprintf(sh.stderr, "%s: %s imported; %s not carried. Next: penstock config validate, then penstock tenants create.\n",
		path, plural(r.Models, "model"), plural(lost, "setting"))
	return err
}

func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading the file: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > config.MaxFileBytes {
		return nil, fmt.Errorf("%s must be a file of at most %d bytes", path, config.MaxFileBytes)
	}
	return os.ReadFile(path)
}

// newFile is where a new configuration file goes.
type newFile struct {
	path  string
	force bool
}

func (o *newFile) flags(c *cobra.Command, path string) {
	c.Flags().StringVar(&o.path, "out", path, "`file` to write; - for stdout")
	c.Flags().BoolVar(&o.force, "force", false, "overwrite the file if it exists")
}

// write never overwrites a file that nobody asked to overwrite.
func (o *newFile) write(sh *shell, text []byte) error {
	if o.path == "" || o.path == "-" {
		_, err := sh.stdout.Write(text)
		return err
	}
	flag := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if o.force {
		flag = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(o.path, flag, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists; use --force to overwrite it, or --out for another file", o.path)
	}
	if err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
