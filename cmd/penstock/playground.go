package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"penstock/client"
)

func (sh *shell) playgroundCommand() *cobra.Command {
	return noun("playground", "Look at runs of the playground", sh.playgroundListCommand(), sh.playgroundGetCommand(), sh.playgroundDeleteCommand())
}

// playing makes the run of a command that calls the API about the playground.
func (sh *shell) playing(run func(*cobra.Command, client.Playground, []string) error) func(*cobra.Command, []string) error {
	return sh.calling(triesOnce, func(c *cobra.Command, cl *client.Client, args []string) error {
		return run(c, client.Playground{Client: cl}, args)
	})
}

func (sh *shell) playgroundListCommand() *cobra.Command {
	var f client.PlaygroundFilter
	c := &cobra.Command{
		Use: "list", Short: "List runs", Args: takes(), Example: "  penstock playground list --query support/",
		RunE: sh.playing(func(c *cobra.Command, p client.Playground, _ []string) error {
			found, err := firstOf(p.List(c.Context(), f), client.MaxPageSize)
			if err != nil {
				return err
			}
			return look[*client.PlaygroundRun]{
				header: []string{"RUN", "STATE", "CELLS", "COST", "PROMPTS", "NAME", "CREATED"},
				cells: func(r *client.PlaygroundRun) []string {
					return []string{r.ID, r.State, cellCounts(r.Counts), "$" + r.CostUSD, strings.Join(r.Prompts, ","), r.Name, sh.when(r.CreatedAt)}
				},
				raw:   func(r *client.PlaygroundRun) json.RawMessage { return r.Raw },
				empty: "There are no runs; start one in the playground of the console.",
			}.show(sh, found)
		}),
	}
	c.Flags().StringVar(&f.Query, "query", "", "only runs with `TEXT` in their name, a prompt or a model")
	c.Flags().StringVar(&f.Author, "author", "", "`me` for your own runs, others for those that are shared with you")
	return c
}

// cellCounts says how many cells have ended well, of how many.
func cellCounts(n client.PlaygroundCounts) string {
	return fmt.Sprintf("%d/%d", n.Succeeded, n.Queued+n.Running+n.Succeeded+n.Failed+n.Stopped+n.Interrupted)
}

func (sh *shell) playgroundGetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "get RUN", Short: "Show a run with its setup and its cells, as JSON", Args: takes("the run's id"), Example: "  penstock playground get prun_01JQ…",
		RunE: sh.playing(func(c *cobra.Command, p client.Playground, args []string) error {
			r, err := p.Read(c.Context(), args[0])
			if err != nil {
				return err
			}
			return sh.raw(r.Raw)
		}),
	}
}

func (sh *shell) playgroundDeleteCommand() *cobra.Command {
	return &cobra.Command{
		Use: "delete RUN", Short: "Delete a run with its cells, marks, shares and snapshots", Args: takes("the run's id"), Example: "  penstock playground delete prun_01JQ…",
		RunE: sh.playing(func(c *cobra.Command, p client.Playground, args []string) error {
			return p.Delete(c.Context(), args[0])
		}),
	}
}
