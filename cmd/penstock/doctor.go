package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"penstock/internal/config"
)

// health is how serious a finding is.
type health string

const (
	healthOK   health = "ok"
	healthWarn health = "warn" // Penstock starts, but something will not work
	healthFail health = "fail" // Penstock does not start, or is never ready
)

// finding is the outcome of one check.
type finding struct {
	Check  string `json:"check"`
	Status health `json:"status"`
	Detail string `json:"detail"`
	Next   string `json:"next,omitempty"` // what to do about it
}

func (sh *shell) doctorCommand() *cobra.Command {
	var path string
	c := &cobra.Command{
		Use: "doctor", Short: "Check that Penstock can run here, and suggest fixes", Args: takes(),
		Long: `Checks the configuration, the data directory, the keyset, the database and its
schema, the bucket of blobs if one is configured, every provider, every issuer of
tokens and both addresses, and suggests a fix for each problem. It changes nothing, except for two small objects
that it writes to the bucket, reads and removes. A "warn" does not prevent a start; a
"fail" prevents a start or readiness, and makes the exit code 1.

Without --config and without a penstock.yaml it checks what "penstock dev" would use.`,
		Example: "  penstock doctor\n  penstock doctor --config penstock.yaml -o json",
		RunE: func(c *cobra.Command, _ []string) error {
			snapshot, err := sh.loadOrDefault(c, path)
			if err != nil {
				return sh.printFindings([]finding{{"config", healthFail, explain(err), "penstock config validate " + path}})
			}
			return sh.printFindings(examine(c.Context(), snapshot))
		},
	}
	sh.configFlag(c, &path)
	return c
}

// examine makes all checks.
func examine(ctx context.Context, s *config.Snapshot) []finding {
	p := s.Process
	all := []finding{{Check: "config", Status: healthOK, Detail: s.Hash}}
	if problems := s.Inspect(time.Now()); len(problems) > 0 {
		all[0] = finding{"config", healthFail, problems[0].String(), "correct the file, then run penstock config validate"}
	}
	if len(s.Tenants) == 0 {
		all[0].Detail += ", without tenants; create one with: penstock tenants create"
	}
	all = append(all, checkData(p.Data), checkKeyset(p), checkDatabase(ctx, p))
	if !p.Blobs.S3.IsZero() {
		all = append(all, checkBucket(ctx, p.Blobs.S3))
	}
	all = append(all, checkProviders(ctx, s.Providers)...)
	all = append(all, checkIssuers(ctx, s.ClientTokens)...)
	return append(all, checkAddress(ctx, "listen", p.Listen), checkAddress(ctx, "admin_listen", p.AdminListen))
}

func (sh *shell) printFindings(all []finding) error {
	failed := 0
	for _, f := range all {
		if f.Status == healthFail {
			failed++
		}
	}
	if err := sh.listFindings(all); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%s failed; follow the column NEXT, then run penstock doctor again", plural(failed, "check"))
	}
	return nil
}

func (sh *shell) listFindings(all []finding) error {
	if sh.output == outputJSON {
		return sh.json(all)
	}
	t := sh.table("CHECK", "STATUS", "DETAIL", "NEXT")
	for _, f := range all {
		if err := t.row(f.Check, string(f.Status), f.Detail, f.Next); err != nil {
			return err
		}
	}
	return t.end("")
}
