package playgroundsql

import (
	"context"

	"penstock"
	"penstock/internal/playground"
	"penstock/internal/store/sqldb"
)

// markRow is a mark with its sealed texts.
type markRow struct {
	n      int
	mark   playground.Mark
	sealed []byte
}

// markTexts are the texts of a mark.
type markTexts struct {
	Comment    string `json:"comment,omitempty"`
	Correction string `json:"correction,omitempty"`
}

func scanMark(row sqldb.Row) (m markRow, err error) {
	var at int64
	err = row.Scan(&m.n, &m.mark.Author.ID, &m.mark.Author.Name, &m.mark.Rating, &m.sealed, &at)
	m.mark.At = sqldb.FromMicros(at)
	return m, err
}

func (s *Store) openMark(k rowKey, m markRow) (playground.Mark, error) {
	var texts markTexts
	err := s.openJSON(k.owner(partMark(m.n, m.mark.Author.ID)), m.sealed, &texts)
	m.mark.Comment, m.mark.Correction = texts.Comment, texts.Correction
	return m.mark, err
}

// SetMark implements playground.Cells.
func (s *Store) SetMark(ctx context.Context, tenant penstock.TenantID, m playground.NewMark) (mark playground.Mark, err error) {
	k := rowKey{tenant, m.Run}
	m.Author.ID = sqldb.Storable(m.Author.ID)
	sealed, size, err := s.sealJSON(k.owner(partMark(m.Cell, m.Author.ID)), markTexts{m.Comment, m.Correction})
	if err != nil {
		return mark, err
	}
	err = s.db.Write(ctx, "playground_mark_set", func(tx sqldb.Tx) error {
		if _, err := find(ctx, tx, k, locked); err != nil {
			return err
		}
		cells, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT COUNT(*) FROM playground_cells WHERE tenant_id = $1 AND run_id = $2 AND n = $3`, tenant, m.Run, m.Cell), sqldb.ScanOne[int64])
		if err != nil {
			return err
		}
		if cells == 0 {
			return penstock.Errorf(penstock.CodeNotFound, "The run %s has no cell %d.", playground.ViewRun.Format(m.Run), m.Cell)
		}
		was, there, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT bytes FROM playground_marks WHERE tenant_id = $1 AND run_id = $2 AND n = $3 AND author_id = $4`,
			tenant, m.Run, m.Cell, m.Author.ID), sqldb.ScanOne[int64])
		if err != nil {
			return err
		}
		mark = m.Mark
		mark.Author.Name, mark.At = name(m.Author), tx.Now()
		if m.Rating == 0 && m.Comment == "" && m.Correction == "" {
			if err := tx.Do(ctx, `DELETE FROM playground_marks WHERE tenant_id = $1 AND run_id = $2 AND n = $3 AND author_id = $4`, tenant, m.Run, m.Cell, m.Author.ID); err != nil {
				return err
			}
			return grow(ctx, tx, k, growth{bytes: -was})
		}
		if !there {
			if err := fewMarks(ctx, tx, k, m.Cell); err != nil {
				return err
			}
		}
		err = tx.Do(ctx, `INSERT INTO playground_marks (tenant_id, run_id, n, author_id, author, rating, body, bytes, marked_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
			ON CONFLICT (tenant_id, run_id, n, author_id) DO UPDATE SET author = excluded.author, rating = excluded.rating, body = excluded.body, bytes = excluded.bytes, marked_at = excluded.marked_at`,
			tenant, m.Run, m.Cell, m.Author.ID, mark.Author.Name, m.Rating, sealed, size, sqldb.Micros(mark.At))
		if err != nil {
			return err
		}
		return grow(ctx, tx, k, growth{m.Stored, size - was})
	})
	return mark, err
}

// fewMarks refuses another mark on a cell that has many. Codes: conflict.
func fewMarks(ctx context.Context, tx sqldb.Tx, k rowKey, cell int) error {
	n, _, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT COUNT(*) FROM playground_marks WHERE tenant_id = $1 AND run_id = $2 AND n = $3`, k.tenant, k.id, cell), sqldb.ScanOne[int64])
	if err == nil && n >= playground.MaxMarks {
		err = penstock.Errorf(penstock.CodeConflict, "The cell has %d marks, which is the most.", n)
	}
	return err
}
