package promptsql

import (
	"context"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/store/sqldb"
)

// Head implements prompt.Heads.
func (s *Store) Head(ctx context.Context, tenant penstock.TenantID, name string) (h prompt.Head, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		p, err := find(ctx, tx, tenant, name)
		if err != nil {
			return err
		}
		h = prompt.Head{ID: p.ID, Change: p.changes, Deleted: p.deleted, Archived: !p.ArchivedAt.IsZero(), Latest: p.Latest, Labels: map[string]int64{}}
		labels, err := labelsOf(ctx, tx, p)
		if err != nil {
			return err
		}
		for _, l := range labels {
			h.Labels[l.Label] = l.Version
		}
		aliases, err := aliasesOf(ctx, tx, p)
		h.Aliases = make(map[string]map[string]int64, len(aliases))
		for _, a := range aliases {
			h.Aliases[a.Alias] = a.Versions
		}
		return err
	})
	return h, err
}

// Changes implements prompt.Heads.
func (s *Store) Changes(ctx context.Context, ids []penstock.ID) (found map[penstock.ID]int64, err error) {
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		found = make(map[penstock.ID]int64, len(ids))
		return tx.QueryIn(ctx, sqldb.IDQuery{SQL: `SELECT id, changes FROM prompts WHERE id = /*pg ANY */($1)`, IDs: sqldb.Strings(ids)}, func(r sqldb.Row) error {
			var id penstock.ID
			var n int64
			err := r.Scan(&id, &n)
			found[id] = n
			return err
		})
	})
	return found, err
}
