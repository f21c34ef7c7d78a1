package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"penstock/internal/app"
)

func (sh *shell) ledgerCommand() *cobra.Command {
	return noun("ledger", "Verify the ledger", sh.ledgerVerifyCommand())
}

func (sh *shell) ledgerVerifyCommand() *cobra.Command {
	var path string
	c := &cobra.Command{
		Use: "verify", Short: "Check that every outcome is settled exactly once", Args: takes(),
		Long: `Verifies the ledger of the configured database: every finished item and recorded
request is settled exactly once, costs, reservations and counts add up, and no job's
event log has a gap. It changes nothing. It exits with 1 if it finds a problem. The
server may run meanwhile.

Without --config and without a penstock.yaml it uses the database of "penstock dev".`,
		Example: "  penstock ledger verify --config penstock.yaml\n  penstock ledger verify -o json",
		RunE: func(c *cobra.Command, _ []string) error {
			snapshot, err := sh.loadOrDefault(c, path)
			if err != nil {
				return err
			}
			store, err := app.InspectStore(c.Context(), snapshot.Process)
			if err != nil {
				return err
			}
			report, err := store.VerifyLedger(c.Context())
			if err := errors.Join(err, store.Close()); err != nil {
				return err
			}
			return sh.printLedger(ledgerReport{report.Entries, report.Items, report.Requests, report.Problems})
		},
	}
	sh.configFlag(c, &path)
	return c
}

// ledgerReport is a store's report as it is printed.
type ledgerReport struct {
	Entries  int64    `json:"entries"`
	Items    int64    `json:"items"`
	Requests int64    `json:"requests"`
	Problems []string `json:"problems"`
}

func (sh *shell) printLedger(r ledgerReport) error {
	if r.Problems == nil {
		r.Problems = []string{}
	}
	var err error
	if sh.output == outputJSON {
		err = sh.json(r)
	} else {
		for _, p := range r.Problems {
			fmt.Fprintln(sh.stdout, p)
		}
		_, err = fmt.Fprintf(sh.stdout, "%d entries for %d finished items and %d requests: %s.\n",
			r.Entries, r.Items, r.Requests, plural(len(r.Problems), "problem"))
	}
	if err == nil && len(r.Problems) > 0 {
		err = fmt.Errorf("the ledger is wrong in %s; do not change the database, and report this", plural(len(r.Problems), "place"))
	}
	return err
}
