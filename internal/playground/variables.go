package playground

import (
	"encoding/json"
	"maps"
)

// shareRows tells each column the variables that only other columns have. A row has the variables of all columns, and a prompt
// refuses variables that it does not know; so a column leaves out those of the others. A variable that no column has stays, and
// is a mistake. A column that could not be compiled is nil.
func shareRows(columns []*column) {
	all := map[string]bool{}
	for _, c := range columns {
		if c != nil {
			maps.Copy(all, c.names())
		}
	}
	for _, c := range columns {
		if c == nil {
			continue
		}
		own := c.names()
		c.foreign = maps.Clone(all)
		maps.DeleteFunc(c.foreign, func(name string, _ bool) bool { return own[name] })
	}
}

// names are the variables that the templates of a column use, and those that its schema describes.
func (c *column) names() map[string]bool {
	found := map[string]bool{}
	for _, name := range c.Content.Variables() {
		found[name] = true
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(c.Content.Schema(), &schema) == nil { // a schema may be a boolean
		for name := range schema.Properties {
			found[name] = true
		}
	}
	return found
}
