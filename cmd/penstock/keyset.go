package main

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"penstock/internal/config"
	"penstock/internal/payload"
)

func (sh *shell) keysetCommand() *cobra.Command {
	return noun("keyset", "Create and install the keys that payloads are encrypted with", sh.keysetCreateCommand(), sh.keysetImportCommand())
}

func (sh *shell) keysetCreateCommand() *cobra.Command {
	var data string
	c := &cobra.Command{
		Use: "create", Short: "Create a keyset before the first start", Args: takes(),
		Long: `Creates keyset.json in the data directory. If there is one, the command changes nothing.

A server creates its keyset at its first start. Use this command when several machines
need the same keyset, or when the keyset is stored as a secret of Kubernetes.`,
		Example: "  penstock keyset create --data ./keys",
		RunE: func(*cobra.Command, []string) error {
			path := sh.keysetPath(data)
			keys, err := payload.LoadOrCreate(path)
			if err != nil {
				return err
			}
			return sh.printKeyset(path, keys)
		},
	}
	dataFlag(c, &data)
	return c
}

func (sh *shell) keysetImportCommand() *cobra.Command {
	var data string
	c := &cobra.Command{
		Use: "import FILE", Short: "Install a keyset in the data directory", Args: takes("FILE"),
		Long: `Copies the keyset in FILE to keyset.json in the data directory, readable by its owner
alone. FILE may have any mode, as mounted secrets do.

A keyset that is already there is replaced only by a keyset with all of its keys.
Otherwise the command fails, because stored payloads could not be read any more.`,
		Example: "  penstock keyset import /run/secrets/keyset.json --data /var/lib/penstock",
		RunE: func(_ *cobra.Command, args []string) error {
			path := sh.keysetPath(data)
			keys, err := payload.Install(args[0], path)
			if err != nil {
				return err
			}
			return sh.printKeyset(path, keys)
		},
	}
	dataFlag(c, &data)
	return c
}

func dataFlag(c *cobra.Command, data *string) {
	c.Flags().StringVar(data, "data", "", "data directory (PENSTOCK_DATA, else "+config.DefaultData+")")
}

func (sh *shell) keysetPath(data string) string {
	return filepath.Join(cmp.Or(data, sh.variable("PENSTOCK_DATA"), config.DefaultData), keysetFile)
}

func (sh *shell) printKeyset(path string, keys *payload.Keyset) error {
	if sh.output == outputJSON {
		return sh.json(map[string]any{"path": path, "primary_key_id": keys.PrimaryID()})
	}
	_, err := fmt.Fprintf(sh.stdout, "%s: %v\n", path, keys)
	return err
}
