package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"penstock/client"
	"penstock/internal/store"
)

func (sh *shell) modelsCommand() *cobra.Command {
	return noun("models", "See what can be asked for; pause and resume it",
		append([]*cobra.Command{sh.modelsListCommand(), sh.modelsExplainCommand()}, sh.holdCommands(store.ControlModel, "fast")...)...)
}

func (sh *shell) modelsListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the models that your key may ask for", Args: takes(),
		Example: "  penstock models list",
		RunE: func(c *cobra.Command, _ []string) error {
			cl, err := sh.connect(triesOnce)
			if err != nil {
				return err
			}
			models, err := cl.Models(c.Context())
			if err != nil {
				return err
			}
			return sh.printModels(models)
		},
	}
}

func (sh *shell) printModels(models []*client.Model) error {
	if sh.output == outputJSON {
		list := rawList{Object: "list", Data: []json.RawMessage{}}
		for _, m := range models {
			list.Data = append(list.Data, m.Raw)
		}
		return sh.json(list)
	}
	t := sh.table("MODEL", "OWNED BY")
	for _, m := range models {
		if err := t.row(m.ID, m.OwnedBy); err != nil {
			return err
		}
	}
	return t.end("No model is configured.")
}
