package sim

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// responseTool is a function, a custom tool, or a tool that the service would run, which has no name and is never called.
type responseTool struct {
	Type       string         `json:"type"`
	Name       string         `json:"name"`
	Parameters jsontext.Value `json:"parameters"`
	Format     customFormat   `json:"format"` // of a custom tool
}

// servedTools are the types of the tools that the service would run.
var servedTools = []string{
	"apply_patch", "code_interpreter", "computer", "computer_use_preview", "file_search", "image_generation", "local_shell", "mcp", "namespace",
	"shell", "tool_search", "web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11",
}

// toolTypes are the types of all tools.
var toolTypes = append([]string{"function", "custom"}, servedTools...)

// offer adds the tool. Its place is at.
func (t *responseTool) offer(into *tools, at string) error {
	if err := oneOf(at+".type", t.Type, toolTypes); err != nil {
		return err
	}
	if slices.Contains(servedTools, t.Type) {
		return nil
	}
	if err := checkToolName(at+".name", t.Name); err != nil {
		return err
	}
	if t.Type == "custom" {
		return into.offerCustom(customTool{t.Name, t.Format})
	}
	return into.offer(t.Name, t.Parameters)
}
