// Package webhooksql stores the endpoints of tenants and the deliveries to them.
package webhooksql

import (
	"embed"

	"penstock/internal/store/sqldb"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations are the steps of the package's tables.
func Migrations() sqldb.Source { return sqldb.Source{Owner: "webhook", Files: files} }
