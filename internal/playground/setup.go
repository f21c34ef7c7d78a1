package playground

import (
	"encoding/json"
	"fmt"

	"penstock"
	"penstock/internal/prompt/content"
)

// Setup is what a run does. It is stored with the run, so that it can be restored.
type Setup struct {
	Columns []Column          `json:"columns"`
	Rows    []json.RawMessage `json:"rows"` // variables, one object for each row
	Trials  int               `json:"trials"`
}

// Column is one way to answer.
type Column struct {
	Prompt  *Reference       `json:"prompt,omitempty"`  // of the registry; nil for an inline content
	Content *content.Content `json:"content,omitempty"` // a prompt that is not saved; nil for one of the registry
	Model   string           `json:"model,omitempty"`   // "" for the model of the prompt's config
	Params  content.Config   `json:"params,omitempty"`  // members of a chat completion; they replace those of the prompt's config
	// Tools and ResponseFormat replace those of the prompt's config; nil keeps these.
	Tools          json.RawMessage   `json:"tools,omitempty"`
	ToolResults    map[string]string `json:"tool_results,omitempty"` // simulated results, by the names of tools
	ResponseFormat json.RawMessage   `json:"response_format,omitempty"`
}

// Reference names a prompt of the registry: its draft, or a version by number or label.
type Reference struct {
	Name    string `json:"name"`
	Label   string `json:"label,omitempty"`
	Version int64  `json:"version,omitempty"`
	Draft   bool   `json:"draft,omitempty"`
}

// Size is the number of cells.
func (s *Setup) Size() int { return len(s.Columns) * len(s.Rows) * s.Trials }

// encode writes a setup as it is stored, and checks its size. Codes: too_large.
func (s *Setup) encode() ([]byte, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, penstock.InvalidParam("setup", "setup is not valid JSON.")
	}
	if len(text) > MaxSetupBytes {
		e := penstock.Errorf(penstock.CodeTooLarge, "The setup has %d bytes; %d are the most. Use fewer rows, or shorter values.", len(text), MaxSetupBytes)
		e.Param = "setup"
		return nil, e
	}
	return text, nil
}

// check refuses a setup whose shape is wrong. Codes: invalid_request.
func (s *Setup) check() error {
	if n := len(s.Columns); n < 1 || n > MaxColumns {
		return penstock.InvalidParam("setup.columns", "setup.columns must have 1 to %d columns, not %d.", MaxColumns, n)
	}
	if n := len(s.Rows); n < 1 || n > MaxRows {
		return penstock.InvalidParam("setup.rows", "setup.rows must have 1 to %d rows, not %d; [{}] is one row without variables.", MaxRows, n)
	}
	if s.Trials < 1 || s.Trials > MaxTrials {
		return penstock.InvalidParam("setup.trials", "setup.trials must be from 1 to %d.", MaxTrials)
	}
	if n := s.Size(); n > MaxCells {
		return penstock.InvalidParam("setup", "The setup has %d cells (%d columns, %d rows, %d trials); %d are the most.", n, len(s.Columns), len(s.Rows), s.Trials, MaxCells)
	}
	for i := range s.Columns {
		if err := s.Columns[i].check(columnParam(i)); err != nil {
			return err
		}
	}
	return nil
}

func columnParam(i int) string { return fmt.Sprintf("setup.columns[%d]", i) }

func (c *Column) check(at string) error {
	if (c.Prompt == nil) == (c.Content == nil) {
		return penstock.InvalidParam(at, "%s must have exactly one of prompt and content.", at)
	}
	if r := c.Prompt; r != nil {
		given := 0
		for _, one := range []bool{r.Label != "", r.Version != 0, r.Draft} {
			if one {
				given++
			}
		}
		if given > 1 || r.Version < 0 {
			return penstock.InvalidParam(at+".prompt", "%s.prompt must have at most one of label, version and draft.", at)
		}
		if err := content.CheckName(r.Name); err != nil {
			return penstock.InvalidParam(at+".prompt.name", "%s: %s", at, penstock.AsError(err).Message)
		}
	}
	for _, name := range []string{"model", "tools", "response_format"} {
		if _, twice := c.Params[name]; twice {
			return penstock.InvalidParam(at+".params."+name, "%s.params cannot have %s: the column has a member of this name.", at, name)
		}
	}
	if _, several := c.Params["n"]; several {
		return penstock.InvalidParam(at+".params.n", "%s.params cannot have n: use trials for several answers.", at)
	}
	if len(c.ToolResults) > MaxToolResults {
		return penstock.InvalidParam(at+".tool_results", "%s.tool_results must have at most %d results.", at, MaxToolResults)
	}
	return nil
}

// config is the config of a column over that of its prompt. Codes: invalid_request.
func (c *Column) config(of content.Config) (content.Config, error) {
	over := content.Config{}
	for name, value := range c.Params {
		over[name] = value
	}
	if c.Tools != nil {
		over["tools"] = c.Tools
	}
	if c.ResponseFormat != nil {
		over["response_format"] = c.ResponseFormat
	}
	merged, err := of.Overlay(over)
	if err != nil {
		return nil, err
	}
	if c.Model != "" {
		merged = merged.WithModel(c.Model)
	}
	delete(merged, "n")
	return merged, nil
}

// cells are the cells of a setup, in the order in which they start: row by row, so that the columns of a row can be compared soon.
func (s *Setup) cells() []Cell {
	all := make([]Cell, 0, s.Size())
	for row := range s.Rows {
		for trial := range s.Trials {
			for column := range s.Columns {
				n := len(all)
				all = append(all, Cell{N: n, Column: column, Row: row, Trial: trial, State: CellQueued, Attempt: 1, Seq: int64(n) + 1})
			}
		}
	}
	return all
}
