package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"penstock"
	"penstock/client"
)

func (sh *shell) webhooksCommand() *cobra.Command {
	return noun("webhooks", "Manage webhook endpoints and see their deliveries",
		sh.webhooksListCommand(), sh.webhooksCreateCommand(), sh.webhooksUpdateCommand(), sh.webhooksRotateCommand(), sh.webhooksSecretCommand(),
		sh.webhooksDeleteCommand(), sh.webhooksTestCommand(), sh.webhooksDeliveriesCommand(), sh.webhooksRedeliverCommand())
}

func (sh *shell) webhooksListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List endpoints", Args: takes(),
		Example: "  penstock webhooks list",
		RunE: func(c *cobra.Command, _ []string) error {
			cl, err := sh.connect(triesOnce)
			if err != nil {
				return err
			}
			hooks, err := firstOf(cl.Webhooks(c.Context()), client.MaxPageSize)
			if err != nil {
				return err
			}
			return sh.webhooks().show(sh, hooks)
		},
	}
}

func (sh *shell) webhooks() look[*client.Webhook] {
	return look[*client.Webhook]{
		header: []string{"WEBHOOK", "STATE", "EVENTS", "FAILURES", "CREATED", "URL"},
		cells: func(w *client.Webhook) []string {
			return []string{w.ID, webhookState(w), eventList(w.Events), strconv.Itoa(w.Failures), sh.when(w.CreatedAt), w.URL}
		},
		raw:   func(w *client.Webhook) json.RawMessage { return w.Raw },
		empty: "There are no endpoints; add one with: penstock webhooks create URL",
	}
}

func webhookState(w *client.Webhook) string {
	switch {
	case !w.Enabled:
		return "disabled: " + w.DisabledReason
	case w.Failures > 0:
		return "failing"
	}
	return "enabled"
}

func eventList(events []penstock.EventType) string {
	words := make([]string, len(events))
	for i, e := range events {
		words[i] = string(e)
	}
	return strings.Join(words, ",")
}

func eventTypes(words []string) (events []penstock.EventType) {
	for _, w := range words {
		events = append(events, penstock.EventType(w))
	}
	return events
}

// printSecret prints what is shown once. The secret alone is on stdout, so that it can be caught.
func (sh *shell) printSecret(secret string, raw json.RawMessage, about string) error {
	if sh.output == outputJSON {
		return sh.raw(raw)
	}
	fmt.Fprintln(sh.stderr, about)
	_, err := fmt.Fprintln(sh.stdout, secret)
	return err
}

func (sh *shell) webhooksCreateCommand() *cobra.Command {
	var events []string
	var about string
	c := &cobra.Command{
		Use: "create URL", Short: "Add an endpoint; prints the secret that signs its messages, once", Args: takes("the URL"),
		Example: "  penstock webhooks create https://app.example/hook --event job.finished",
		RunE: func(c *cobra.Command, args []string) error {
			cl, err := sh.connect(triesOnce)
			if err != nil {
				return err
			}
			w, err := cl.CreateWebhook(c.Context(), client.WebhookOrder{URL: &args[0], Description: &about, Events: eventTypes(events)})
			if err != nil {
				return err
			}
			return sh.printSecret(w.Secret, w.Raw, "Added "+w.ID+". Give this secret to the receiver; it is not shown again:")
		},
	}
	c.Flags().StringSliceVar(&events, "event", nil, "events to send: job.started, job.finished, budget.soft_exceeded, prompt.version.created, prompt.label.moved, prompt.label.requested (default all)")
	c.Flags().StringVar(&about, "description", "", "description of the endpoint")
	return c
}

func (sh *shell) webhooksUpdateCommand() *cobra.Command {
	var events []string
	var to, about, match string
	var enable, disable bool
	c := &cobra.Command{
		Use: "update WEBHOOK", Short: "Change, enable or disable an endpoint", Args: takes("the endpoint's id"),
		Example: "  penstock webhooks update whk_01JQ… --url https://new.example/hook\n  penstock webhooks update whk_01JQ… --enable",
		RunE: func(c *cobra.Command, args []string) error {
			o := client.WebhookOrder{Events: eventTypes(events)}
			changed := c.Flags().Changed
			if changed("url") {
				o.URL = &to
			}
			if changed("description") {
				o.Description = &about
			}
			if enable && disable {
				return usageError{"--enable and --disable contradict each other"}
			}
			if enable || disable {
				o.Enabled = &enable
			}
			cl, err := sh.connect(triesOnce)
			if err != nil {
				return err
			}
			w, err := cl.ChangeWebhook(c.Context(), args[0], o, onMatch(match)...)
			if err != nil {
				return err
			}
			if sh.output == outputJSON {
				return sh.raw(w.Raw)
			}
			_, err = fmt.Fprintf(sh.stdout, "%s is %s and receives %s at %s.\n", w.ID, webhookState(w), eventList(w.Events), w.URL)
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&to, "url", "", "new URL")
	f.StringVar(&about, "description", "", "description of the endpoint")
	f.StringSliceVar(&events, "event", nil, "events to send: job.started, job.finished, budget.soft_exceeded, prompt.version.created, prompt.label.moved, prompt.label.requested")
	f.BoolVar(&enable, "enable", false, "enable it, and forget earlier failures")
	f.BoolVar(&disable, "disable", false, "disable it")
	matchFlag(c, &match)
	return c
}

// onMatch is what --if-match asks for.
func onMatch(etag string) (options []client.ChangeOption) {
	if etag != "" {
		options = append(options, client.IfMatch(etag))
	}
	return options
}

func (sh *shell) webhooksRotateCommand() *cobra.Command {
	var match string
	c := &cobra.Command{
		Use: "rotate WEBHOOK", Short: "Rotate the secret of an endpoint; the old one signs for 24 hours more", Args: takes("the endpoint's id"),
		Example: "  penstock webhooks rotate whk_01JQ…",
		RunE: func(c *cobra.Command, args []string) error {
			cl, err := sh.connect(triesOnce)
			if err != nil {
				return err
			}
			w, err := cl.RotateWebhook(c.Context(), args[0], onMatch(match)...)
			if err != nil {
				return err
			}
			return sh.printSecret(w.Secret, w.Raw, "The new secret, not shown again; the old secret also signs until "+sh.when(w.OldSecretUntil)+":")
		},
	}
	matchFlag(c, &match)
	return c
}

func (sh *shell) webhooksSecretCommand() *cobra.Command {
	return &cobra.Command{
		Use: "secret", Short: "Create or replace the secret that signs the webhooks of single jobs", Args: takes(),
		Example: "  penstock webhooks secret",
		RunE: func(c *cobra.Command, _ []string) error {
			cl, err := sh.connect(triesOnce)
			if err != nil {
				return err
			}
			s, err := cl.RotateWebhookSecret(c.Context())
			if err != nil {
				return err
			}
			return sh.printSecret(s.Secret, s.Raw, "The new secret, not shown again; an old secret also signs for another 24 hours:")
		},
	}
}

func (sh *shell) webhooksDeleteCommand() *cobra.Command {
	var match string
	c := &cobra.Command{
		Use: "delete WEBHOOK", Short: "Delete an endpoint", Args: takes("the endpoint's id"),
		Example: "  penstock webhooks delete whk_01JQ…",
		RunE: func(c *cobra.Command, args []string) error {
			cl, err := sh.connect(triesOnce)
			if err != nil {
				return err
			}
			if err := cl.DeleteWebhook(c.Context(), args[0], onMatch(match)...); err != nil {
				return err
			}
			if sh.output == outputJSON {
				return sh.json(map[string]any{"id": args[0], "object": "webhook", "deleted": true})
			}
			_, err = fmt.Fprintf(sh.stdout, "Deleted %s.\n", args[0])
			return err
		},
	}
	matchFlag(c, &match)
	return c
}

func (sh *shell) webhooksTestCommand() *cobra.Command {
	return &cobra.Command{
		Use: "test WEBHOOK", Short: "Send a webhook.test event to an endpoint", Args: takes("the endpoint's id"),
		Example: "  penstock webhooks test whk_01JQ…",
		RunE: func(c *cobra.Command, args []string) error {
			cl, err := sh.connect(triesOnce)
			if err != nil {
				return err
			}
			d, err := cl.TestWebhook(c.Context(), args[0])
			if err != nil {
				return err
			}
			return sh.printSent(d, "see penstock webhooks deliveries "+args[0])
		},
	}
}

func (sh *shell) webhooksRedeliverCommand() *cobra.Command {
	return &cobra.Command{
		Use: "redeliver DELIVERY", Short: "Send a message again", Args: takes("the delivery's id"),
		Example: "  penstock webhooks redeliver dlv_01JQ…",
		RunE: func(c *cobra.Command, args []string) error {
			cl, err := sh.connect(triesOnce)
			if err != nil {
				return err
			}
			d, err := cl.Redeliver(c.Context(), args[0])
			if err != nil {
				return err
			}
			return sh.printSent(d, "its webhook-id is "+d.EventID+" again")
		},
	}
}

func (sh *shell) printSent(d *client.Delivery, hint string) error {
	if sh.output == outputJSON {
		return sh.raw(d.Raw)
	}
	_, err := fmt.Fprintf(sh.stdout, "%s is on its way to %s; %s.\n", d.ID, d.URL, hint)
	return err
}

func (sh *shell) webhooksDeliveriesCommand() *cobra.Command {
	var limit int
	var status string
	c := &cobra.Command{
		Use: "deliveries [WEBHOOK]", Short: "List deliveries to an endpoint, or to the webhooks of single jobs", Args: takesAtMostOne,
		Example: "  penstock webhooks deliveries whk_01JQ… --status failed",
		RunE: func(c *cobra.Command, args []string) error {
			if limit < 1 {
				return usageError{"--limit must be at least 1"}
			}
			cl, err := sh.connect(triesOnce)
			if err != nil {
				return err
			}
			list := client.DeliveryList{Status: penstock.DeliveryStatus(status), PageSize: limit + 1}
			if len(args) > 0 {
				list.Webhook = args[0]
			}
			sent, err := firstOf(cl.Deliveries(c.Context(), list), limit)
			if err != nil {
				return err
			}
			return sh.deliveries().show(sh, sent)
		},
	}
	c.Flags().IntVar(&limit, "limit", 20, "maximum number")
	c.Flags().StringVar(&status, "status", "", "only those that are pending, delivered or failed")
	return c
}

func (sh *shell) deliveries() look[*client.Delivery] {
	return look[*client.Delivery]{
		header: []string{"DELIVERY", "STATUS", "TYPE", "JOB", "ATTEMPTS", "CREATED", "LAST"},
		cells: func(d *client.Delivery) []string {
			last := d.Error
			if n := len(d.History); n > 0 && last == "" {
				last = d.History[n-1].Error
			}
			return []string{d.ID, string(d.Status), string(d.Type), d.JobID, strconv.Itoa(d.Attempts), sh.when(d.CreatedAt), sh.brief(last)}
		},
		raw:   func(d *client.Delivery) json.RawMessage { return d.Raw },
		empty: "Nothing was sent yet.",
	}
}
