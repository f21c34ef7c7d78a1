package main

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"penstock/client"
)

func (sh *shell) modelsExplainCommand() *cobra.Command {
	var body string
	cmd := &cobra.Command{
		Use: "explain NAME", Short: "Show which target a call to a model would use, and why", Args: takes("NAME"),
		Example: "  penstock models explain fast\n" +
			`  penstock models explain fast --body '{"messages":[],"stream":true}'`,
		RunE: func(c *cobra.Command, args []string) error {
			cl, err := sh.connect(triesOnce)
			if err != nil {
				return err
			}
			e, err := cl.ExplainModel(c.Context(), args[0], json.RawMessage(body))
			if err != nil {
				return err
			}
			return sh.printExplanation(e)
		},
	}
	cmd.Flags().StringVar(&body, "body", "", "JSON `body` of the call, for its needs and its cost")
	return cmd
}

func (sh *shell) printExplanation(e *client.Explanation) error {
	if sh.output == outputJSON {
		return sh.json(e.Raw)
	}
	t := sh.table("PLACE", "TARGET", "SCORE", "COST", "LATENCY", "QUALITY", "HEADROOM", "NOTE")
	for _, one := range e.Targets {
		if one.Place == 0 {
			if err := t.row("", one.Target, "", "", "", "", "", one.Excluded); err != nil {
				return err
			}
			continue
		}
		latency, score := "", ""
		if one.LatencyMS > 0 {
			latency = fmt.Sprintf("%d ms", one.LatencyMS)
		}
		if one.Score != nil {
			score = fmt.Sprintf("%.2f", one.Score.Total)
		}
		if err := t.row(strconv.Itoa(one.Place), one.Target, score, "$"+one.CostUSD, latency,
			fmt.Sprintf("%.2f", one.Quality), fmt.Sprintf("%.0f %%", 100*one.Headroom), one.NoCapacity); err != nil {
			return err
		}
	}
	if err := t.end("The model has no target."); err != nil {
		return err
	}
	chosen := "none"
	if e.Chosen != "" {
		chosen = e.Chosen
	}
	_, err := fmt.Fprintf(sh.stdout, "\n%s, policy %s: %s (%s)\n", e.Model, e.Policy, chosen, e.Reason)
	return err
}
