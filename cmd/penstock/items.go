package main

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"penstock"
	"penstock/client"
)

func (sh *shell) itemsCommand() *cobra.Command {
	return noun("items", "List and explain the items of jobs", sh.itemsListCommand(), sh.itemsGetCommand())
}

func (sh *shell) itemsListCommand() *cobra.Command {
	var status string
	var limit int
	c := &cobra.Command{
		Use: "list JOB", Short: "List the items of a job in input order, in any status", Args: takes("the job's id"),
		Example: "  penstock items list job_01JQ…\n  penstock items list job_01JQ… --status running\n  penstock items list job_01JQ… --limit 1000 -o json",
		RunE: func(c *cobra.Command, args []string) error {
			if limit < 1 {
				return usageError{"--limit must be at least 1"}
			}
			cl, err := sh.connect(triesOnce)
			if err != nil {
				return err
			}
			items, err := firstOf(cl.Items(c.Context(), args[0], client.ItemFilter{Status: penstock.Status(status), PageSize: limit + 1}), limit)
			if err != nil {
				return err
			}
			return sh.items().show(sh, items)
		},
	}
	c.Flags().StringVar(&status, "status", "", "only items in this status: queued, running, succeeded, failed, cancelled or expired")
	c.Flags().IntVar(&limit, "limit", 20, "maximum number")
	return c
}

func (sh *shell) items() look[*client.Item] {
	return look[*client.Item]{
		header: []string{"INDEX", "CUSTOM ID", "ITEM", "STATUS", "TARGET", "ATTEMPTS", "TOKENS", "COST", "FINISHED", "ERROR"},
		cells: func(i *client.Item) []string {
			return []string{
				strconv.Itoa(i.Index), i.CustomID, i.ItemID, string(i.Status), i.Target, strconv.Itoa(i.Attempts),
				tokens(i.Usage), dollars(i.Usage.Cost), sh.when(i.FinishedAt), sh.brief(itemError(i.Error)),
			}
		},
		raw:   func(i *client.Item) json.RawMessage { return i.Raw },
		empty: "There are no such items.",
	}
}

func (sh *shell) itemsGetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "get ITEM", Short: "Show an item and all its attempts", Args: takes("the item's id"),
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
		target := a.Target
		if a.Isolated {
			target += " (isolated)"
		}
		err := t.row(strconv.Itoa(a.Number), target, a.Reason, a.ErrorKind, status, sh.when(a.StartedAt),
			span(a.StartedAt, a.FirstTokenAt), span(a.StartedAt, a.FinishedAt), used, cost, sh.brief(a.ErrorMessage))
		if err != nil {
			return err
		}
	}
	return t.end("There are no attempts yet.")
}
