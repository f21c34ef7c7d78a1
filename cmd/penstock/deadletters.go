package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"penstock/client"
)

func (sh *shell) deadLettersCommand() *cobra.Command {
	return noun("dead-letters", "Look at failed items that nobody has dealt with", sh.deadLettersListCommand())
}

func (sh *shell) deadLettersListCommand() *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List failed items that nobody has dealt with, oldest first", Args: takes(),
		Long:    "Lists dead letters, oldest first. Failures with the same cause share a fingerprint.",
		Example: "  penstock dead-letters list\n  penstock dead-letters list --limit 1000 -o json | jq -r '.data[].fingerprint' | sort | uniq -c",
		RunE: func(c *cobra.Command, _ []string) error {
			if limit < 1 {
				return usageError{"--limit must be at least 1"}
			}
			cl, err := sh.connect(triesOnce)
			if err != nil {
				return err
			}
			return sh.printDeadLetters(firstOf(cl.DeadLetters(c.Context(), client.DeadLetterFilter{PageSize: limit + 1}), limit))
		},
	}
	c.Flags().IntVar(&limit, "limit", 20, "how many at the most")
	return c
}

func (sh *shell) printDeadLetters(letters []*client.DeadLetter, more hasMore, err error) error {
	if err != nil {
		return err
	}
	if sh.output == outputJSON {
		list := rawList{Object: "list", Data: []json.RawMessage{}, HasMore: more}
		for _, d := range letters {
			list.Data = append(list.Data, d.Raw)
		}
		return sh.json(list)
	}
	t := sh.table("ITEM", "JOB", "MODEL", "CODE", "KIND", "FINGERPRINT", "CREATED", "MESSAGE")
	for _, d := range letters {
		err := t.row(d.ItemID, d.JobID, d.Model, string(d.Code), d.ErrorKind, d.Fingerprint, sh.when(d.CreatedAt), sh.brief(d.Message))
		if err != nil {
			return err
		}
	}
	defer sh.tellMore(more)
	return t.end("There are no dead letters.")
}
