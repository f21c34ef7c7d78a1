package translate

import "github.com/go-json-experiment/json/jsontext"

// converseRequest is a body of Converse and ConverseStream. The model and whether to stream are part of the URL.
type converseRequest struct {
	Messages        []converseMessage `json:"messages"`
	System          []converseBlock   `json:"system,omitempty"`
	InferenceConfig converseInference `json:"inferenceConfig,omitzero"`
	ToolConfig      *converseTools    `json:"toolConfig,omitzero"`
	OutputConfig    *converseOutput   `json:"outputConfig,omitzero"`
	// Additional are members of the model's own request, which Bedrock forwards: those of Anthropic's models here.
	Additional *converseAdditional `json:"additionalModelRequestFields,omitzero"`
}

type converseMessage struct {
	Role    string          `json:"role"`
	Content []converseBlock `json:"content"`
}

// converseBlock is one of its members.
type converseBlock struct {
	Text       *string            `json:"text,omitzero"`
	Image      *converseMedia     `json:"image,omitzero"`
	Document   *converseMedia     `json:"document,omitzero"`
	ToolUse    *converseUse       `json:"toolUse,omitzero"`
	ToolResult *converseResult    `json:"toolResult,omitzero"`
	Reasoning  *converseReasoning `json:"reasoningContent,omitzero"`
	CachePoint *converseCache     `json:"cachePoint,omitzero"`
	Unknown    jsontext.Value     `json:",embed"`
}

type converseMedia struct {
	Format string `json:"format"`
	Name   string `json:"name,omitzero"`
	Source struct {
		Bytes string `json:"bytes"`
	} `json:"source"`
}

type converseUse struct {
	ToolUseID string         `json:"toolUseId"`
	Name      string         `json:"name"`
	Input     jsontext.Value `json:"input"`
}

type converseResult struct {
	ToolUseID string          `json:"toolUseId"`
	Content   []converseBlock `json:"content"`
	Status    string          `json:"status,omitzero"`
}

type converseReasoning struct {
	ReasoningText *struct {
		Text      string `json:"text"`
		Signature string `json:"signature,omitzero"`
	} `json:"reasoningText,omitzero"`
	RedactedContent string `json:"redactedContent,omitzero"`
}

type converseCache struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitzero"`
}

type converseInference struct {
	MaxTokens     int64    `json:"maxTokens,omitzero"`
	Temperature   *float64 `json:"temperature,omitzero"`
	TopP          *float64 `json:"topP,omitzero"`
	StopSequences []string `json:"stopSequences,omitempty"`
}

type converseTools struct {
	Tools      []converseTool  `json:"tools"`
	ToolChoice *converseChoice `json:"toolChoice,omitzero"`
}

type converseTool struct {
	ToolSpec   *converseSpec  `json:"toolSpec,omitzero"`
	CachePoint *converseCache `json:"cachePoint,omitzero"`
}

type converseSpec struct {
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
	Strict      *bool  `json:"strict,omitzero"`
	InputSchema struct {
		JSON jsontext.Value `json:"json"`
	} `json:"inputSchema"`
}

type converseChoice struct {
	Auto *struct{}      `json:"auto,omitzero"`
	Any  *struct{}      `json:"any,omitzero"`
	Tool *converseNamed `json:"tool,omitzero"`
}

type converseNamed struct {
	Name string `json:"name"`
}

type converseOutput struct {
	TextFormat *converseFormat `json:"textFormat,omitzero"`
	Effort     string          `json:"effort,omitzero"`
}

type converseFormat struct {
	Type      string `json:"type"`
	Structure struct {
		JSONSchema struct {
			Schema string `json:"schema"`
			Name   string `json:"name,omitzero"`
		} `json:"jsonSchema"`
	} `json:"structure"`
}

type converseAdditional struct {
	Thinking *thinking `json:"thinking,omitzero"`
	TopK     *int64    `json:"top_k,omitzero"`
}

// converseResponse is a whole answer.
type converseResponse struct {
	Output struct {
		Message *converseMessage `json:"message"`
	} `json:"output"`
	StopReason string         `json:"stopReason"`
	Usage      jsontext.Value `json:"usage"`
}

// converseEvent is an event of a stream: one of its members. The adapter writes it as an object with one member, named as the type.
type converseEvent struct {
	MessageStart      *struct{} `json:"messageStart"`
	ContentBlockStart *struct {
		Start struct {
			ToolUse *converseUse `json:"toolUse"`
		} `json:"start"`
	} `json:"contentBlockStart"`
	ContentBlockDelta *struct {
		Delta struct {
			Text    string `json:"text"`
			ToolUse *struct {
				Input string `json:"input"`
			} `json:"toolUse"`
			Reasoning *struct {
				Text      string     `json:"text"`
				Signature string     `json:"signature"`
				Redacted  spokenText `json:"redactedContent"`
			} `json:"reasoningContent"`
			Citation saidMark `json:"citation"`
		} `json:"delta"`
	} `json:"contentBlockDelta"`
	ContentBlockStop *struct{} `json:"contentBlockStop"`
	MessageStop      *struct {
		StopReason string `json:"stopReason"`
	} `json:"messageStop"`
	Metadata *struct {
		Usage jsontext.Value `json:"usage"`
	} `json:"metadata"`
}

// converseUsage is usage, whose input excludes what was read from and written to a cache.
type converseUsage struct {
	InputTokens           int64 `json:"inputTokens"`
	OutputTokens          int64 `json:"outputTokens"`
	CacheReadInputTokens  int64 `json:"cacheReadInputTokens"`
	CacheWriteInputTokens int64 `json:"cacheWriteInputTokens"`
}
