package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"penstock/internal/backlog"
)

// load is the report of GET /admin/v1/load: as it was sent, and read.
type load struct {
	raw struct {
		Lanes   []json.RawMessage `json:"lanes"`
		Targets []json.RawMessage `json:"targets"`
	}
	report backlog.LoadReport
}

func (sh *shell) queueLoad(ctx context.Context, at string) (l load, err error) {
	a, err := sh.connectAdmin(at)
	if err != nil {
		return l, err
	}
	var answer json.RawMessage
	if err := a.do(ctx, adminCall{method: http.MethodGet, path: []string{"admin", "v1", "load"}}, &answer); err != nil {
		return l, err
	}
	for _, into := range []any{&l.raw, &l.report} {
		if err := json.Unmarshal(answer, into); err != nil {
			return l, fmt.Errorf("reading the load: %w", err)
		}
	}
	return l, nil
}

func (sh *shell) targetsListCommand() *cobra.Command {
	return sh.loadCommand(&cobra.Command{
		Use: "list", Short: "List targets with their state, calls and limits",
		Long:    `Lists the targets of the process that answers, in the columns of "penstock top".`,
		Example: "  penstock targets list\n  penstock targets list -o json | jq '.data[].state'",
	}, func(l load) error {
		if sh.output == outputJSON {
			return sh.json(rawList{Object: "list", Data: l.raw.Targets})
		}
		if len(l.report.Targets) == 0 {
			return sh.table().end("No target is configured.")
		}
		return sh.printTargets(l.report.Targets)
	})
}

func (sh *shell) lanesListCommand() *cobra.Command {
	return sh.loadCommand(&cobra.Command{
		Use: "list", Short: "List lanes with their queued and running items",
		Long:    `Lists the lanes over all processes, in the columns of "penstock top".`,
		Example: "  penstock lanes list\n  penstock lanes list -o json",
	}, func(l load) error {
		if sh.output == outputJSON {
			return sh.json(rawList{Object: "list", Data: l.raw.Lanes})
		}
		if len(l.report.Lanes) == 0 {
			return sh.table().end("No lane has work.")
		}
		return sh.printRows("LANE", l.report.Lanes)
	})
}

// loadCommand completes a command that shows a part of the load.
func (sh *shell) loadCommand(c *cobra.Command, show func(load) error) *cobra.Command {
	var at string
	c.Args = takes()
	c.RunE = func(c *cobra.Command, _ []string) error {
		l, err := sh.queueLoad(c.Context(), at)
		if err != nil {
			return err
		}
		return show(l)
	}
	adminFlag(c, &at)
	return c
}
