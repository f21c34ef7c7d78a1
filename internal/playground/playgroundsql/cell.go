package playgroundsql

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"penstock"
	"penstock/internal/playground"
	"penstock/internal/store/sqldb"
)

var addCell = sqldb.InsertInto("playground_cells", "tenant_id text, run_id text, n bigint, col bigint, line bigint, trial bigint, state text, attempt bigint, seq bigint, "+
	"prompt text, prompt_version bigint, prompt_sha256 text, model text, result bytea", "")

func addCells(ctx context.Context, tx sqldb.Tx, k rowKey, cells []playground.Cell) error {
	for i := range cells {
		c := &cells[i]
		var ref playground.PromptRef
		if c.Prompt != nil {
			ref = *c.Prompt
		}
		err := tx.Put(ctx, addCell, string(k.tenant), string(k.id), int64(c.N), int64(c.Column), int64(c.Row), int64(c.Trial), string(c.State), c.Attempt, c.Seq,
			ref.Name, ref.Version, ref.SHA256, sqldb.Storable(c.Model), []byte{})
		if err != nil {
			return err
		}
	}
	return nil
}

const cellColumns = `n, col, line, trial, state, attempt, seq, prompt, prompt_version, prompt_sha256, model, target, request_ids, schema_valid,
	first_token_us, duration_us, input_tokens, output_tokens, cost, result`

// cellRow is a cell with its sealed result, which is empty for one that has only chunks.
type cellRow struct {
	playground.Cell
	sealed []byte
	chunks []chunkRow
}

// chunkRow is a sealed part of the output of a cell.
type chunkRow struct {
	n      int
	seq    int64
	sealed []byte
}

func scanCell(row sqldb.Row) (c cellRow, err error) {
	var ref playground.PromptRef
	var requests string
	var valid, first, duration int64
	err = row.Scan(&c.N, &c.Column, &c.Row, &c.Trial, &c.State, &c.Attempt, &c.Seq, &ref.Name, &ref.Version, &ref.SHA256, &c.Model, &c.Target, &requests, &valid,
		&first, &duration, &c.Metrics.InputTokens, &c.Metrics.OutputTokens, &c.Metrics.Cost, &c.sealed)
	if ref.Name != "" {
		c.Prompt = &ref
	}
	if requests != "" {
		for id := range strings.SplitSeq(requests, ",") {
			c.Requests = append(c.Requests, penstock.ID(id))
		}
	}
	if valid != 0 {
		is := valid > 0
		c.SchemaValid = &is
	}
	c.Metrics.FirstToken, c.Metrics.Duration = time.Duration(first)*time.Microsecond, time.Duration(duration)*time.Microsecond
	return c, err
}

// Open implements playground.Cells.
func (s *Store) Open(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (o playground.Opened, err error) {
	k := rowKey{tenant, id}
	var found read
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		found, err = readAll(ctx, tx, k)
		return err
	})
	if err != nil {
		return o, err
	}
	return s.opened(k, found)
}

// read is a run as its rows are.
type read struct {
	run   playground.Run
	setup []byte
	cells []cellRow
	marks []markRow
}

func readAll(ctx context.Context, tx sqldb.Tx, k rowKey) (f read, err error) {
	if f.run, err = find(ctx, tx, k, plain); err != nil {
		return f, err
	}
	if f.setup, _, err = sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT setup FROM playground_runs WHERE tenant_id = $1 AND id = $2`, k.tenant, k.id), sqldb.ScanOne[[]byte]); err != nil {
		return f, err
	}
	if f.cells, err = cellsOf(ctx, tx, k, 0); err != nil {
		return f, err
	}
	f.marks, err = sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT n, author_id, author, rating, body, marked_at FROM playground_marks
		WHERE tenant_id = $1 AND run_id = $2 ORDER BY n, marked_at, author_id`, k.tenant, k.id), scanMark)
	return f, err
}

// cellsOf reads the cells of a run that changed behind a number, with their chunks behind it.
func cellsOf(ctx context.Context, tx sqldb.Tx, k rowKey, after int64) ([]cellRow, error) {
	cells, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT `+cellColumns+` FROM playground_cells WHERE tenant_id = $1 AND run_id = $2 AND seq > $3 ORDER BY n`,
		k.tenant, k.id, after), scanCell)
	if err != nil || len(cells) == 0 {
		return cells, err
	}
	at := map[int]*cellRow{}
	for i := range cells {
		at[cells[i].N] = &cells[i]
	}
	chunks, err := sqldb.QueryAll(ctx, tx, sqldb.SQL(`SELECT n, seq, body FROM playground_chunks WHERE tenant_id = $1 AND run_id = $2 AND seq > $3 ORDER BY n, seq`,
		k.tenant, k.id, after), func(r sqldb.Row) (c chunkRow, err error) { return c, r.Scan(&c.n, &c.seq, &c.sealed) })
	for _, c := range chunks {
		if cell := at[c.n]; cell != nil {
			cell.chunks = append(cell.chunks, c)
		}
	}
	return cells, err
}

// opened opens the sealed parts of a run.
func (s *Store) opened(k rowKey, f read) (o playground.Opened, err error) {
	o.Run = f.run
	if err := s.openJSON(k.owner(partSetup), f.setup, &o.Setup); err != nil {
		return o, err
	}
	for i := range f.cells {
		c, err := s.changed(k, &f.cells[i])
		if err != nil {
			return o, err
		}
		if len(f.cells[i].sealed) == 0 {
			c.Result.Output = outputOf(c.Pieces)
		}
		o.Cells = append(o.Cells, c.Cell)
	}
	for _, m := range f.marks {
		mark, err := s.openMark(k, m)
		if err != nil {
			return o, err
		}
		if m.n < len(o.Cells) {
			o.Cells[m.n].Marks = append(o.Cells[m.n].Marks, mark)
		}
	}
	return o, nil
}

// changed opens the sealed parts of a cell.
func (s *Store) changed(k rowKey, row *cellRow) (c playground.Changed, err error) {
	c.Cell = row.Cell
	if len(row.sealed) > 0 {
		err = s.openJSON(k.owner(partResult(c.N, c.Attempt)), row.sealed, &c.Result)
		c.Pieces = playground.PiecesOf(c.Result.Output)
		return c, err
	}
	for _, chunk := range row.chunks {
		var pieces []playground.Piece
		if err := s.openJSON(k.owner(partChunk(c.N, chunk.seq)), chunk.sealed, &pieces); err != nil {
			return c, err
		}
		c.Pieces = append(c.Pieces, pieces...)
	}
	return c, nil
}

// outputOf puts the pieces of a cell that has not ended together.
func outputOf(pieces []playground.Piece) (o playground.Output) {
	var text, reasoning strings.Builder
	for _, p := range pieces {
		switch p.Kind {
		case playground.DeltaText:
			text.WriteString(p.Text)
		case playground.DeltaReasoning:
			reasoning.WriteString(p.Text)
		case playground.DeltaArguments:
			for len(o.ToolCalls) <= p.Call && p.Call < playground.MaxToolResults {
				o.ToolCalls = append(o.ToolCalls, playground.ToolCall{})
			}
			if p.Call < len(o.ToolCalls) {
				o.ToolCalls[p.Call].Arguments += p.Text
			}
		}
	}
	o.Text, o.Reasoning = text.String(), reasoning.String()
	return o
}

// Input implements playground.Cells.
func (s *Store) Input(ctx context.Context, tenant penstock.TenantID, id penstock.ID, at playground.CellPlace) (text []byte, err error) {
	var sealed []byte
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		found, ok, err := sqldb.QueryOne(ctx, tx, sqldb.SQL(`SELECT body FROM playground_inputs WHERE tenant_id = $1 AND run_id = $2 AND col = $3 AND line = $4`,
			tenant, id, at.Column, at.Row), sqldb.ScanOne[[]byte])
		if err == nil && !ok {
			err = playground.NotFound(id)
		}
		sealed = found
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.open(rowKey{tenant, id}.owner(partInput(at)), sealed)
}

// Changes implements playground.Cells.
func (s *Store) Changes(ctx context.Context, tenant penstock.TenantID, id penstock.ID, after int64) (c playground.Changes, err error) {
	k := rowKey{tenant, id}
	var rows []cellRow
	err = s.db.Read(ctx, func(tx sqldb.Tx) error {
		if c.Run, err = find(ctx, tx, k, plain); err != nil || c.Run.Seq <= after {
			return err
		}
		rows, err = cellsOf(ctx, tx, k, after)
		return err
	})
	if err != nil {
		return c, err
	}
	c.Cells = nil
	for i := range rows {
		one, err := s.changed(k, &rows[i])
		if err != nil {
			return c, err
		}
		c.Cells = append(c.Cells, one)
	}
	slices.SortFunc(c.Cells, func(a, b playground.Changed) int { return cmp.Compare(a.Seq, b.Seq) })
	return c, nil
}
