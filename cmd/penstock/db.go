package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"penstock/internal/app"
	"penstock/internal/store/schema"
)

func (sh *shell) dbCommand() *cobra.Command {
	return noun("db", "Manage the database", sh.dbMigrateCommand())
}

func (sh *shell) dbMigrateCommand() *cobra.Command {
	var path string
	c := &cobra.Command{
		Use: "migrate", Short: "Bring the database's schema up to date", Args: takes(),
		Long: `Brings the schema of the configured database up to date. A server does the same
when it starts; use this command to do it earlier, or with another role. Migrations only
expand the schema, so servers of the previous release keep working. The command needs
and creates no keyset, so it may run on another machine than the servers.

Without --config and without a penstock.yaml it uses the database of "penstock dev".`,
		Example: "  penstock db migrate --config penstock.yaml\n  PENSTOCK_DATABASE_URL=postgres://… penstock db migrate",
		RunE: func(c *cobra.Command, _ []string) error {
			snapshot, err := sh.loadOrDefault(c, path)
			if err != nil {
				return err
			}
			if err := app.Migrate(c.Context(), snapshot.Process); err != nil {
				return err
			}
			return sh.printSchema()
		},
	}
	sh.configFlag(c, &path)
	return c
}

func (sh *shell) printSchema() error {
	steps, err := schema.Plan()
	if err != nil {
		return err
	}
	last := steps[len(steps)-1]
	if sh.output == outputJSON {
		return sh.json(map[string]any{"version": last.Number, "name": last.Owner + "/" + last.Name})
	}
	_, err = fmt.Fprintf(sh.stdout, "The schema is up to date: version %d (%s).\n", last.Number, last.Owner+"/"+last.Name)
	return err
}
