// Package schema is the whole schema of Penstock: it lists the owners of migrations.
//
// Each owner keeps its steps in a directory beside its SQL; package sqldb puts them in one order by their numbers. A
// database belongs to a release line, which begins with the baselines that are in testdata: from there on, every step
// only expands the schema.
package schema

import (
	"context"

	"penstock/internal/audit"
	"penstock/internal/conversation/conversationsql"
	"penstock/internal/identity/identitysql"
	"penstock/internal/playground/playgroundsql"
	"penstock/internal/prompt/promptsql"
	"penstock/internal/rollup/rollupsql"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/sqlstore"
	"penstock/internal/upload/uploadsql"
	"penstock/internal/webhook/webhooksql"
)

// Sources are the migrations of every owner. A new capability adds its own.
func Sources() []sqldb.Source {
	return []sqldb.Source{
		sqlstore.Migrations(),
		audit.Migrations(),
		webhooksql.Migrations(),
		conversationsql.Migrations(),
		uploadsql.Migrations(),
		identitysql.Migrations(),
		rollupsql.Migrations(),
		promptsql.Migrations(),
		playgroundsql.Migrations(),
	}
}

// Plan is every step of the schema, in order.
func Plan() ([]sqldb.Migration, error) { return sqldb.Plan(Sources()...) }

// Open brings the schema of a database up to date and returns the database. Closing it closes the engine.
func Open(ctx context.Context, engine sqldb.Engine) (*sqldb.DB, error) {
	steps, err := Plan()
	if err != nil {
		return nil, err
	}
	if err := sqldb.Migrate(ctx, engine, steps); err != nil {
		return nil, err
	}
	return sqldb.New(engine), nil
}
