package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"penstock/internal/store"
)

// heldThing is something that is held back, as the admin API tells it.
type heldThing struct {
	Kind    store.ControlKind `json:"kind"`
	Name    string            `json:"name"`
	State   string            `json:"state"`
	Reason  string            `json:"reason"`
	Actor   string            `json:"actor"`
	Since   time.Time         `json:"since"`
	Running *int64            `json:"running"`
	DryRun  bool              `json:"dry_run"`
}

// drainPoll is how often a drain is looked at.
const drainPoll = 500 * time.Millisecond

func (sh *shell) controlsCommand() *cobra.Command {
	return noun("controls", "Show what is paused", sh.controlsListCommand())
}

func (sh *shell) lanesCommand() *cobra.Command {
	return noun("lanes", "List, pause and resume lanes", append([]*cobra.Command{sh.lanesListCommand()}, sh.pauseCommands(store.ControlLane, "bulk")...)...)
}

func (sh *shell) targetsCommand() *cobra.Command {
	return noun("targets", "List, pause and resume targets", append([]*cobra.Command{sh.targetsListCommand()}, sh.pauseCommands(store.ControlTarget, "openai-mini")...)...)
}

func (sh *shell) controlsListCommand() *cobra.Command {
	var at string
	c := &cobra.Command{
		Use: "list", Short: "List what is paused, by whom and why", Args: takes(),
		Example: "  penstock controls list",
		RunE: func(c *cobra.Command, _ []string) error {
			a, err := sh.connectAdmin(at)
			if err != nil {
				return err
			}
			all, err := a.controls(c.Context())
			if err != nil {
				return err
			}
			return sh.printControls(all)
		},
	}
	adminFlag(c, &at)
	return c
}

func adminFlag(c *cobra.Command, at *string) {
	c.Flags().StringVar(at, "admin-url", "", "admin API of any process (PENSTOCK_ADMIN_URL, else http://127.0.0.1:9090)")
}

func (a *admin) controls(ctx context.Context) ([]json.RawMessage, error) {
	var list struct {
		Data []json.RawMessage `json:"data"`
	}
	err := a.do(ctx, adminCall{method: http.MethodGet, path: []string{"admin/v1/controls"}}, &list)
	return list.Data, err
}

func (sh *shell) printControls(all []json.RawMessage) error {
	if sh.output == outputJSON {
		return sh.json(rawList{Object: "list", Data: all})
	}
	t := sh.table("KIND", "NAME", "STATE", "RUNNING", "SINCE", "BY", "REASON")
	for _, raw := range all {
		var h heldThing
		if err := json.Unmarshal(raw, &h); err != nil {
			return fmt.Errorf("reading a control: %w", err)
		}
		if err := t.row(string(h.Kind), h.Name, h.State, h.left(), sh.when(h.Since), h.Actor, sh.brief(h.Reason)); err != nil {
			return err
		}
	}
	return t.end("Nothing is paused.")
}

// left is how much still runs, "" if that is unknown.
func (h heldThing) left() string {
	if h.Running == nil {
		return ""
	}
	return fmt.Sprint(*h.Running)
}

// pauseCommands are the verbs that hold something back and let it go again.
func (sh *shell) pauseCommands(kind store.ControlKind, example string) []*cobra.Command {
	noun := string(kind) + "s"
	pause := sh.setCommand(kind, &cobra.Command{
		Use: "pause NAME", Short: fmt.Sprintf("Stop starting new work of a %s until it is resumed", kind),
		Long: fmt.Sprintf(`Starts no new work of a %s, in every process, until it is resumed. Running work
continues. Jobs are still accepted and wait; synchronous calls are refused with the reason.`, kind),
		Example: fmt.Sprintf("  penstock %s pause %s --reason \"the provider is down\"", noun, example),
	}, store.ControlPaused)
	drain := sh.setCommand(kind, &cobra.Command{
		Use: "drain NAME", Short: fmt.Sprintf("Pause a %s and wait until nothing of it runs", kind),
		Long: fmt.Sprintf(`Pauses a %s and waits until %s. It stays paused,
also if you interrupt the command.`, kind, drainedWhen(kind)),
		Example: fmt.Sprintf("  penstock %s drain %s --reason \"moving it\"", noun, example),
	}, store.ControlDraining)
	return []*cobra.Command{pause, drain, sh.resumeCommand(kind, fmt.Sprintf("  penstock %s resume %s", noun, example))}
}

// drainedWhen is the condition that a drain waits for.
func drainedWhen(kind store.ControlKind) string {
	if kind == store.ControlTarget {
		return "no process calls it, for jobs\nor for synchronous calls; processes report this about ten seconds later"
	}
	return "no item of a job runs"
}

// setCommand completes a command that pauses something.
func (sh *shell) setCommand(kind store.ControlKind, c *cobra.Command, state store.ControlState) *cobra.Command {
	var o changing
	var reason string
	c.Args = takes("NAME")
	c.RunE = func(c *cobra.Command, args []string) error {
		now, err := sh.change(c.Context(), o, adminCall{
			method: http.MethodPut, path: []string{"admin/v1/controls", string(kind), args[0]},
			body: map[string]string{"state": string(state), "reason": reason, "actor": sh.operator()},
		})
		if err == nil && state == store.ControlDraining && !o.dryRun {
			now, err = sh.awaitDrained(c.Context(), o.at, now)
		}
		if err != nil {
			return err
		}
		return sh.printHeld(now)
	}
	o.flags(c)
	o.matchFlag(c)
	c.Flags().StringVar(&reason, "reason", "", "reason, shown to other operators and to refused callers")
	return c
}

func (sh *shell) resumeCommand(kind store.ControlKind, example string) *cobra.Command {
	var o changing
	c := &cobra.Command{
		Use: "resume NAME", Short: fmt.Sprintf("Resume a %s", kind), Args: takes("NAME"), Example: example,
		RunE: func(c *cobra.Command, args []string) error {
			now, err := sh.change(c.Context(), o, adminCall{method: http.MethodDelete, path: []string{"admin/v1/controls", string(kind), args[0]}})
			if err != nil {
				return err
			}
			return sh.printHeld(now)
		},
	}
	o.flags(c)
	o.matchFlag(c)
	return c
}

// operator is the actor of audit entries.
func (sh *shell) operator() string { return cmp.Or(sh.variable("USER"), sh.variable("LOGNAME")) }

// awaitDrained waits until nothing runs of something that drains.
func (sh *shell) awaitDrained(ctx context.Context, at string, now json.RawMessage) (json.RawMessage, error) {
	a, err := sh.connectAdmin(at)
	if err != nil {
		return nil, err
	}
	var mine heldThing
	tick := time.NewTicker(drainPoll)
	defer tick.Stop()
	for waited := false; ; waited = true {
		if err := json.Unmarshal(now, &mine); err != nil {
			return nil, fmt.Errorf("reading a control: %w", err)
		}
		if mine.State != string(store.ControlDraining) {
			return now, nil
		}
		if !waited {
			fmt.Fprintf(sh.stderr, "Waiting until the %s %s is drained; it stays paused if you interrupt this.\n", mine.Kind, clean(mine.Name))
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
		all, err := a.controls(ctx)
		if err != nil {
			return nil, err
		}
		if now = find(all, mine); now == nil {
			return nil, fmt.Errorf("another operator resumed the %s %s before it was drained", mine.Kind, mine.Name)
		}
	}
}

// find returns the entry for a thing, nil if it is not held back.
func find(all []json.RawMessage, mine heldThing) json.RawMessage {
	for _, raw := range all {
		var h heldThing
		if json.Unmarshal(raw, &h) == nil && h.Kind == mine.Kind && h.Name == mine.Name {
			return raw
		}
	}
	return nil
}

func (sh *shell) printHeld(raw json.RawMessage) error {
	if sh.output == outputJSON {
		return sh.raw(raw)
	}
	var h heldThing
	if err := json.Unmarshal(raw, &h); err != nil {
		return fmt.Errorf("reading a control: %w", err)
	}
	if h.DryRun {
		_, err := fmt.Fprintf(sh.stdout, "Dry run, nothing was changed: the %s %s would be %s.\n", h.Kind, clean(h.Name), h.State)
		return err
	}
	note := ""
	if h.State != "open" && h.Running != nil && *h.Running > 0 {
		note = ", " + plural(int(*h.Running), "item") + " still running"
	}
	_, err := fmt.Fprintf(sh.stdout, "The %s %s is %s%s.\n", h.Kind, clean(h.Name), h.State, note)
	return err
}
