package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"penstock/client"
	"penstock/internal/store"
)

func (sh *shell) modelsCommand() *cobra.Command {
	return noun("models", "List, explain, pause and resume models",
		append([]*cobra.Command{sh.modelsListCommand(), sh.modelsExplainCommand()}, sh.pauseCommands(store.ControlModel, "fast")...)...)
}

func (sh *shell) modelsListCommand() *cobra.Command {
	var f catalogueFlags
	cmd := &cobra.Command{
		Use: "list", Short: "List the models that your key may use, or the catalogue of known models", Args: takes(),
		Long: `Lists the models of the server that your key may use. With --catalogue, lists known models
of vendors instead, with their prices, without a server. Targets take prices and
capabilities from the catalogue if the configuration does not set them. With -o json, the
output is a catalogue file: edit it and set catalogue.file to its path.`,
		Example: "  penstock models list\n  penstock models list --catalogue --vendor openai --capability vision\n  penstock models list --catalogue -o json > models.jsonl",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.misused(c); err != nil {
				return err
			}
			if f.show {
				return sh.listCatalogue(c, f)
			}
			cl, err := sh.connect(triesOnce)
			if err != nil {
				return err
			}
			all, err := cl.Models(c.Context())
			if err != nil {
				return err
			}
			return models().show(sh, page[*client.Model]{entries: all})
		},
	}
	f.add(cmd)
	return cmd
}

func models() look[*client.Model] {
	return look[*client.Model]{
		header: []string{"MODEL", "OWNED BY"},
		cells:  func(m *client.Model) []string { return []string{m.ID, m.OwnedBy} },
		raw:    func(m *client.Model) json.RawMessage { return m.Raw },
		empty:  "No model is configured.",
	}
}
