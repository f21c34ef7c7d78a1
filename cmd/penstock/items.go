package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"penstock/client"
)

func (sh *shell) itemsCommand() *cobra.Command {
	return noun("items", "Explain the items of jobs", sh.itemsGetCommand())
}

func (sh *shell) itemsGetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "get ITEM", Short: "Show an item and everything that was tried for it", Args: takes("the item's id"),
		Example: "  penstock items get item_01JQ…\n  penstock items get item_01JQ… -o json | jq .response.body",
		RunE: func(c *cobra.Command, args []string) error {
			cl, err := sh.connect(triesOnce)
			if err != nil {
				return err
			}
			item, err := cl.Item(c.Context(), args[0])
			if err != nil {
				return err
			}
			return sh.printItem(item)
		},
	}
}

func (sh *shell) printItem(i *client.Item) error {
	if sh.output == outputJSON {
		return sh.raw(i.Raw)
	}
	err := sh.describe(
		field{"Item", i.ItemID}, field{"Job", i.JobID}, field{"Index", strconv.Itoa(i.Index)}, field{"Custom id", i.CustomID},
		field{"Status", string(i.Status)}, field{"Target", i.Target}, field{"Attempts", strconv.Itoa(i.Attempts)},
		field{"Tokens", tokens(i.Usage)}, field{"Cost", dollars(i.Usage.Cost)}, field{"Finished", sh.when(i.FinishedAt)},
		field{"Error", itemError(i.Error)}, field{"Answer", sh.brief(answer(&i.Result))},
	)
	if err != nil {
		return err
	}
	return sh.printAttempts(i.History)
}

// printAttempts shows what was tried, under a blank line.
func (sh *shell) printAttempts(history []client.Attempt) error {
	fmt.Fprintln(sh.stdout)
	t := sh.table("#", "TARGET", "WHY CHOSEN", "ERROR", "HTTP", "STARTED", "FIRST TOKEN", "TOTAL", "TOKENS", "COST", "MESSAGE")
	for _, a := range history {
		used, cost := tokens(a.Usage), dollars(a.Usage.Cost)
		if !a.UsageKnown {
			used, cost = "unknown", "unknown"
		}
		status := ""
		if a.StatusCode != 0 {
			status = strconv.Itoa(a.StatusCode)
		}
		err := t.row(strconv.Itoa(a.Number), a.Target, a.Reason, a.ErrorKind, status, sh.when(a.StartedAt),
			span(a.StartedAt, a.FirstTokenAt), span(a.StartedAt, a.FinishedAt), used, cost, sh.brief(a.ErrorMessage))
		if err != nil {
			return err
		}
	}
	return t.end("Nothing was tried yet.")
}
