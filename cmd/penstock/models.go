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
	return &cobra.Command{
		Use: "list", Short: "List the models that your key may use", Args: takes(),
		Example: "  penstock models list",
		RunE: func(c *cobra.Command, _ []string) error {
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
}

func models() look[*client.Model] {
	return look[*client.Model]{
		header: []string{"MODEL", "OWNED BY"},
		cells:  func(m *client.Model) []string { return []string{m.ID, m.OwnedBy} },
		raw:    func(m *client.Model) json.RawMessage { return m.Raw },
		empty:  "No model is configured.",
	}
}
