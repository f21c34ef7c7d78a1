package promptsql

import (
	"context"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/store/sqldb"
)

// NameOf implements prompt.Heads.
func (s *Store) NameOf(ctx context.Context, tenant penstock.TenantID, id string) (name string, err error) {
	own, err := prompt.ViewPrompt.Parse(id)
	if err != nil {
		return "", prompt.NoPrompt(id)
	}
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		found, there, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT name FROM prompts WHERE tenant_id = $1 AND id = $2`, tenant, own), sqldb.ScanOne[string])
		if err == nil && !there {
			err = prompt.NoPrompt(id)
		}
		name = found
		return err
	})
	return name, err
}
