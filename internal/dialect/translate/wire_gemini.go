package translate

import "github.com/go-json-experiment/json/jsontext"

// geminiRequest is a body of generateContent. The model and whether to stream are part of the URL.
type geminiRequest struct {
	SystemInstruction *geminiContent   `json:"systemInstruction,omitzero"`
	Contents          []geminiContent  `json:"contents"`
	Tools             []geminiTool     `json:"tools,omitempty"`
	ToolConfig        *geminiCalling   `json:"toolConfig,omitzero"`
	GenerationConfig  geminiGeneration `json:"generationConfig,omitzero"`
}

type geminiContent struct {
	Role  string       `json:"role,omitzero"`
	Parts []geminiPart `json:"parts"`
}

// geminiPart is a text, data, the address of data, a function's call or its result; each has its own fields.
type geminiPart struct {
	Text             *string        `json:"text,omitzero"`
	InlineData       *geminiData    `json:"inlineData,omitzero"`
	FileData         *geminiFile    `json:"fileData,omitzero"`
	FunctionCall     *geminiCall    `json:"functionCall,omitzero"`
	FunctionResponse *geminiResult  `json:"functionResponse,omitzero"`
	Thought          bool           `json:"thought,omitzero"`
	ThoughtSignature string         `json:"thoughtSignature,omitzero"`
	Unknown          jsontext.Value `json:",embed"`
}

type geminiData struct {
	MimeType string `json:"mimeType"`
	Data     string `json:"data"`
}

type geminiFile struct {
	MimeType string `json:"mimeType,omitzero"`
	FileURI  string `json:"fileUri"`
}

type geminiCall struct {
	ID   string         `json:"id,omitzero"`
	Name string         `json:"name"`
	Args jsontext.Value `json:"args,omitzero"`
}

type geminiResult struct {
	ID       string         `json:"id,omitzero"`
	Name     string         `json:"name"`
	Response jsontext.Value `json:"response"`
}

type geminiTool struct {
	FunctionDeclarations []geminiFunction `json:"functionDeclarations"`
}

type geminiFunction struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Parameters  jsontext.Value `json:"parametersJsonSchema,omitzero"`
}

type geminiCalling struct {
	FunctionCallingConfig struct {
		Mode                 string   `json:"mode"`
		AllowedFunctionNames []string `json:"allowedFunctionNames,omitempty"`
	} `json:"functionCallingConfig"`
}

type geminiGeneration struct {
	MaxOutputTokens    int64           `json:"maxOutputTokens,omitzero"`
	Temperature        *float64        `json:"temperature,omitzero"`
	TopP               *float64        `json:"topP,omitzero"`
	TopK               *int64          `json:"topK,omitzero"`
	StopSequences      []string        `json:"stopSequences,omitempty"`
	Seed               *int64          `json:"seed,omitzero"`
	PresencePenalty    *float64        `json:"presencePenalty,omitzero"`
	FrequencyPenalty   *float64        `json:"frequencyPenalty,omitzero"`
	ResponseMimeType   string          `json:"responseMimeType,omitzero"`
	ResponseJSONSchema jsontext.Value  `json:"responseJsonSchema,omitzero"`
	ThinkingConfig     *geminiThinking `json:"thinkingConfig,omitzero"`
}

type geminiThinking struct {
	IncludeThoughts bool  `json:"includeThoughts,omitzero"`
	ThinkingBudget  int64 `json:"thinkingBudget"`
}

// geminiResponse is an answer, or a part of a streamed one.
type geminiResponse struct {
	ResponseID string `json:"responseId"`
	Candidates []struct {
		Index        int           `json:"index"`
		Content      geminiContent `json:"content"`
		FinishReason string        `json:"finishReason"`
		Grounding    saidMark      `json:"groundingMetadata"`
	} `json:"candidates"`
	UsageMetadata jsontext.Value `json:"usageMetadata"`
	Error         jsontext.Value `json:"error"`
}

// geminiUsage is usage in an answer. The prompt includes what was read from a cache.
type geminiUsage struct {
	PromptTokenCount        int64 `json:"promptTokenCount"`
	CachedContentTokenCount int64 `json:"cachedContentTokenCount"`
	ToolUsePromptTokenCount int64 `json:"toolUsePromptTokenCount"`
	CandidatesTokenCount    int64 `json:"candidatesTokenCount"`
	ThoughtsTokenCount      int64 `json:"thoughtsTokenCount"`
}
