package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"penstock/client"
)

func (sh *shell) requestsCommand() *cobra.Command {
	return noun("requests", "List and explain synchronous calls", sh.requestsListCommand(), sh.requestsGetCommand())
}

func (sh *shell) requestsGetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "get REQUEST", Short: "Show a synchronous call and all its attempts",
		Args:    takes("the request's id"),
		Long:    "Shows a synchronous call by the x-request-id of its answer.",
		Example: "  penstock requests get req_01JQ…",
		RunE: func(c *cobra.Command, args []string) error {
			cl, err := sh.connect(triesOnce)
			if err != nil {
				return err
			}
			request, err := cl.Request(c.Context(), args[0])
			if err != nil {
				return err
			}
			return sh.printRequest(request)
		},
	}
}

// promptText is the prompt of a call, "" for none.
func promptText(u *client.PromptUse) string {
	if u == nil {
		return ""
	}
	text := u.Name + "@" + strconv.FormatInt(u.Version, 10)
	if u.Label != "" {
		text += " (" + u.Label + ")"
	}
	return text
}

func (sh *shell) printRequest(r *client.Request) error {
	if sh.output == outputJSON {
		return sh.raw(r.Raw)
	}
	err := sh.describe(
		field{"Request", r.ID}, field{"Endpoint", string(r.Endpoint)}, field{"Model", r.Model},
		field{"Streamed", strconv.FormatBool(r.Stream)}, field{"Status", string(r.Status)},
		field{"Key", r.Key}, field{"Tags", tagsText(r.Tags)}, field{"Subject", r.Subject},
		field{"HTTP", strconv.Itoa(r.StatusCode)}, field{"Target", r.Target},
		field{"Tokens", tokens(r.Usage)}, field{"Cost", dollars(r.Usage.Cost)}, field{"Started", sh.when(r.StartedAt)},
		field{"First token", span(r.StartedAt, r.FirstTokenAt)}, field{"Took", span(r.StartedAt, r.FinishedAt)},
		field{"Prompt", promptText(r.Prompt)}, field{"Error", itemError(r.Error)},
	)
	if err != nil {
		return err
	}
	return sh.printAttempts(r.History)
}
