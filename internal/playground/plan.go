package playground

import (
	"context"
	"fmt"
	"slices"

	"penstock"
	"penstock/internal/dialect"
	"penstock/internal/dialect/assemble"
	"penstock/internal/dialect/catalog"
	"penstock/internal/prompt/content"
	"penstock/internal/prompt/promptbody"
)

// Prompts is the registry.
type Prompts interface {
	// Compile finds the prompt of a column. Codes: not_found, gone, conflict, invalid_request, too_large.
	Compile(ctx context.Context, tenant penstock.TenantID, c Column) (Compiled, error)
}

// Compiled is the prompt of a column, ready to be rendered.
type Compiled struct {
	Ref     *PromptRef // nil for an inline content
	Content *content.Compiled
}

// Quote is the most that one call can use.
type Quote struct {
	Tokens int64
	Cost   penstock.NanoUSD
	Priced bool // at least one target of the model has a price
}

// plan is a setup whose cells are rendered and checked.
type plan struct {
	setup   Setup
	text    []byte // the setup as it is stored
	cells   []Cell
	inputs  map[CellPlace][]byte // of each column and row
	models  []string
	prompts []string
}

// plan renders all cells of a setup. A mistake names its column and its row. Codes: invalid_request, too_large, not_found, gone,
// conflict, model_not_found.
func (s *Service) plan(ctx context.Context, caller penstock.Principal, setup Setup) (*plan, error) {
	if err := setup.check(); err != nil {
		return nil, err
	}
	p := &plan{setup: setup, cells: setup.cells(), inputs: map[CellPlace][]byte{}}
	var err error
	if p.text, err = setup.encode(); err != nil {
		return nil, err
	}
	size := 0
	columns, mistakes := s.compileAll(ctx, caller.Tenant.ID, setup.Columns)
	for i, c := range columns {
		if c == nil {
			return nil, mistakes[i]
		}
		for row := range setup.Rows {
			r, err := c.render(setup.Rows[row])
			if err == nil {
				_, err = s.Quote(caller.Tenant, r.read)
			}
			if err != nil {
				return nil, c.mistake(row, err)
			}
			if size += len(r.body); size > MaxInputBytes {
				return nil, tooMuchInput()
			}
			p.inputs[CellPlace{i, row}] = r.body
		}
		p.describe(c)
	}
	return p, nil
}

func tooMuchInput() error {
	e := penstock.Errorf(penstock.CodeTooLarge, "The rendered prompts of the run have more than %d bytes together. Use fewer rows or columns.", MaxInputBytes)
	e.Param = "setup"
	return e
}

// describe notes what a column resolved to on its cells.
func (p *plan) describe(c *column) {
	for i := range p.cells {
		if p.cells[i].Column == c.at {
			p.cells[i].Prompt, p.cells[i].Model = c.Ref, c.config.Model()
		}
	}
	if model := c.config.Model(); !slices.Contains(p.models, model) {
		p.models = append(p.models, model)
	}
	if c.Ref != nil {
		version := "draft"
		if c.Ref.Version > 0 {
			version = fmt.Sprint(c.Ref.Version)
		}
		if name := c.Ref.Name + "@" + version; !slices.Contains(p.prompts, name) {
			p.prompts = append(p.prompts, name)
		}
	}
}

// column is a column that is ready to be rendered.
type column struct {
	Compiled
	at     int
	config content.Config
	all    []*content.Compiled // of all columns
}

// compileAll makes all columns ready, or says what is wrong with them. A row has the variables of all columns.
func (s *Service) compileAll(ctx context.Context, tenant penstock.TenantID, columns []Column) (ready []*column, mistakes []error) {
	var all []*content.Compiled
	for i := range columns {
		c, err := s.compile(ctx, tenant, i, columns[i])
		if err == nil {
			all = append(all, c.Content)
		}
		ready, mistakes = append(ready, c), append(mistakes, err)
	}
	for _, c := range ready {
		if c != nil {
			c.all = all
		}
	}
	return ready, mistakes
}

// compile finds the prompt of a column and its config. Codes: those of Prompts.Compile.
func (s *Service) compile(ctx context.Context, tenant penstock.TenantID, at int, c Column) (*column, error) {
	found, err := s.Prompts.Compile(ctx, tenant, c)
	if err != nil {
		return nil, inColumn(at, err)
	}
	config, err := c.config(found.Content.Content.Config)
	if err != nil {
		return nil, inColumn(at, err)
	}
	if config.Model() == "" {
		return nil, penstock.InvalidParam(columnParam(at)+".model", "%s needs a model: the config of its prompt names none.", columnParam(at))
	}
	return &column{Compiled: found, at: at, config: config}, nil
}

// inColumn adds the column to a mistake. An error of the server stays as it is.
func inColumn(at int, err error) error {
	e := penstock.AsError(err)
	if e.Code == penstock.CodeInternal || e.Code == penstock.CodeOverloaded {
		return err
	}
	told := *e
	told.Param = columnParam(at)
	if e.Param != "" {
		told.Param += "." + e.Param
	}
	told.Message = fmt.Sprintf("Column %d: %s", at+1, e.Message)
	if e.Code == penstock.CodeNotFound || e.Code == penstock.CodeGone || e.Code == penstock.CodeConflict || e.Code == penstock.CodeModelNotFound {
		told.Code = penstock.CodeInvalidRequest // the object of the call is the run, which does not depend on these
	}
	return &told
}

// mistake adds the column and the row to a mistake.
func (c *column) mistake(row int, err error) error {
	e := penstock.AsError(inColumn(c.at, err))
	if e.Code != penstock.CodeInvalidRequest && e.Code != penstock.CodeTooLarge {
		return err
	}
	told := *e
	told.Param = fmt.Sprintf("setup.rows[%d]", row)
	told.Message = fmt.Sprintf("Column %d, row %d: %s", c.at+1, row+1, penstock.AsError(err).Message)
	return &told
}

// rendered is the body of one call.
type rendered struct {
	messages []content.Message
	config   content.Config
	body     []byte
	read     dialect.Inference
}

// render makes the body of a row: a chat completion that asks for a stream with its usage. Codes: invalid_request, too_large.
func (c *column) render(row []byte) (r rendered, err error) {
	variables, err := content.ParseVariables(row)
	if err != nil {
		return r, err
	}
	done, err := c.Content.Render(c.Content.Own(variables, c.all))
	if err != nil {
		return r, err
	}
	r.messages, r.config = done.Messages, c.config
	done.Config = c.config
	body, err := promptbody.Chat(done)
	if err != nil {
		return r, err
	}
	if r.body, err = assemble.Ask(penstock.EndpointChat, body); err != nil {
		return r, penstock.Internal(err)
	}
	r.read, err = catalog.Read(penstock.EndpointChat, r.body)
	return r, err
}
