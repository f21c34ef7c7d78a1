package sim

import (
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// geminiPath is the path of all methods. Its last segment is the model and the method.
const geminiPath = "/v1beta/models/{call}"

// contentRequest is a body of generateContent and streamGenerateContent.
type contentRequest struct {
	SystemInstruction *geminiContent  `json:"systemInstruction"`
	Contents          []geminiContent `json:"contents"`
	Tools             []struct {
		FunctionDeclarations []struct {
			Name                 string         `json:"name"`
			ParametersJSONSchema jsontext.Value `json:"parametersJsonSchema"`
			Parameters           jsontext.Value `json:"parameters"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	ToolConfig struct {
		FunctionCallingConfig struct {
			Mode                 string   `json:"mode"`
			AllowedFunctionNames []string `json:"allowedFunctionNames"`
		} `json:"functionCallingConfig"`
	} `json:"toolConfig"`
	GenerationConfig struct {
		MaxOutputTokens    *int           `json:"maxOutputTokens"`
		CandidateCount     *int           `json:"candidateCount"`
		Temperature        *float64       `json:"temperature"`
		StopSequences      stopList       `json:"stopSequences"`
		ResponseMimeType   string         `json:"responseMimeType"`
		ResponseJSONSchema jsontext.Value `json:"responseJsonSchema"`
		ResponseSchema     jsontext.Value `json:"responseSchema"`
		ThinkingConfig     struct {
			ThinkingBudget  *int   `json:"thinkingBudget"`
			ThinkingLevel   string `json:"thinkingLevel"`
			IncludeThoughts bool   `json:"includeThoughts"`
		} `json:"thinkingConfig"`
	} `json:"generationConfig"`
}

// geminiContent is a turn of the conversation.
type geminiContent struct {
	Role  string       `json:"role,omitempty"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text             *string             `json:"text,omitzero"`
	Thought          bool                `json:"thought,omitzero"`
	ThoughtSignature string              `json:"thoughtSignature,omitempty"`
	InlineData       *geminiData         `json:"inlineData,omitzero"`
	FileData         *geminiData         `json:"fileData,omitzero"`
	FunctionCall     *geminiFunctionCall `json:"functionCall,omitzero"`
	FunctionResponse *geminiFunctionCall `json:"functionResponse,omitzero"`
}

type geminiData struct {
	MimeType string `json:"mimeType"`
	Data     string `json:"data"`
	FileURI  string `json:"fileUri"`
}

// geminiFunctionCall is the call of a function, or its result.
type geminiFunctionCall struct {
	ID       string         `json:"id,omitempty"`
	Name     string         `json:"name"`
	Args     jsontext.Value `json:"args,omitzero"`
	Response jsontext.Value `json:"response,omitzero"`
}

// decodeGemini reads a request of any method.
func decodeGemini(r *http.Request, body []byte) (*call, error) {
	model, method, _ := strings.Cut(r.PathValue("call"), ":")
	switch method {
	case "generateContent":
		return decodeContent(model, body)
	case "streamGenerateContent":
		if r.URL.Query().Get("alt") != "sse" {
			return nil, invalid("alt", "The simulator streams server-sent events only: use alt=sse.")
		}
		c, err := decodeContent(model, body)
		if err == nil {
			c.stream = true
		}
		return c, err
	case "countTokens":
		return decodeContentCount(model, body)
	case "batchEmbedContents", "embedContent":
		return decodeContentEmbedding(model, body)
	}
	return nil, &failure{class: classNoRoute, message: "There is no method " + abridge(method) + "."}
}

func decodeContent(model string, body []byte) (*call, error) {
	r := new(contentRequest)
	if err := decodeBody(body, r); err != nil {
		return nil, err
	}
	c, err := r.call(model)
	if err != nil {
		return nil, err
	}
	g := &r.GenerationConfig
	if g.MaxOutputTokens != nil {
		if *g.MaxOutputTokens < 1 {
			return nil, invalid("maxOutputTokens", "max_output_tokens must be positive.")
		}
		c.maxTokens = *g.MaxOutputTokens
	}
	switch {
	case g.Temperature != nil && (*g.Temperature < 0 || *g.Temperature > 2):
		return nil, invalid("temperature", "temperature must be in the range [0.0, 2.0].")
	case g.CandidateCount != nil && *g.CandidateCount != 1:
		return nil, invalid("candidateCount", "Multiple candidates is not enabled for this model")
	}
	if err := g.StopSequences.check("stopSequences", maxStopsGemini); err != nil {
		return nil, err
	}
	c.stops = g.StopSequences
	if c.effort, err = r.effort(); err != nil {
		return nil, err
	}
	if g.ResponseMimeType == "application/json" {
		format := responseFormat{Type: "json_object"}
		for _, schema := range []jsontext.Value{g.ResponseJSONSchema, g.ResponseSchema} {
			if len(schema) > 0 {
				format.Type, format.Schema = "json_schema", schema
			}
		}
		if c.format, err = format.read("responseJsonSchema"); err != nil {
			return nil, err
		}
	}
	c.responder = r
	return c, nil
}

// effort is how many tokens the model thinks. A budget of -1 leaves it to the model.
func (r *contentRequest) effort() (int, error) {
	t := &r.GenerationConfig.ThinkingConfig
	switch {
	case t.ThinkingBudget == nil && t.ThinkingLevel == "":
		return 0, nil
	case t.ThinkingBudget == nil:
		return effortOf("thinkingLevel", strings.ToLower(t.ThinkingLevel))
	case *t.ThinkingBudget < -1 || *t.ThinkingBudget > 32768:
		return 0, invalid("thinkingBudget", "The thinking budget is invalid. Please choose a value between 0 and 32768.")
	case *t.ThinkingBudget == 0:
		return 0, nil
	}
	return anthropicEfforts["medium"], nil
}

// call reads the conversation and the tools.
func (r *contentRequest) call(model string) (*call, error) {
	if len(r.Contents) == 0 {
		return nil, invalid("contents", "* GenerateContentRequest.contents: contents is not specified")
	}
	p := new(prompt)
	if r.SystemInstruction != nil {
		p.add("system", r.SystemInstruction.content())
	}
	for _, turn := range r.Contents {
		switch turn.Role {
		case "", "user", "function":
			p.add("user", turn.content())
		case "model":
			p.add("assistant", turn.content())
		default:
			return nil, invalid("contents", "Please use a valid role: user, model.")
		}
		if len(turn.Parts) == 0 {
			return nil, invalid("contents", "contents.parts must not be empty.")
		}
		if err := turn.checkData(); err != nil {
			return nil, err
		}
	}
	c := &call{model: model, prompt: p}
	return c, r.offerTools(&c.tools)
}

// geminiImages are the types of images that Gemini reads.
var geminiImages = []string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}

// checkData refuses data that is not base64, and images of a type that Gemini does not read.
func (g *geminiContent) checkData() error {
	for i := range g.Parts {
		switch data := g.Parts[i].InlineData; {
		case data == nil:
		case !isBase64(data.Data):
			return invalid("contents", fmt.Sprintf("Invalid value at 'contents.parts[%d].inline_data.data' (TYPE_BYTES), Base64 decoding failed.", i))
		case strings.HasPrefix(data.MimeType, "image/") && !slices.Contains(geminiImages, data.MimeType):
			return invalid("contents", "Unsupported MIME type: "+abridge(data.MimeType))
		}
	}
	return nil
}

// content is a turn in no dialect's form.
func (g *geminiContent) content() content {
	var c content
	var texts, asked []string
	for i := range g.Parts {
		part := &g.Parts[i]
		switch {
		case part.FunctionCall != nil:
			c.calls = append(c.calls, part.FunctionCall.Name)
			c.attachments++
		case part.FunctionResponse != nil:
			texts = append(texts, string(part.FunctionResponse.Response))
		case part.InlineData != nil && strings.HasPrefix(part.InlineData.MimeType, "image/"):
			c.media.addImage(&contentPart{Source: mediaSource{Data: part.InlineData.Data}})
			c.attachments++
		case part.FileData != nil:
			c.media.linked++
			c.attachments++
		case part.Text == nil:
			c.media.files++
			c.attachments++
		case !part.Thought:
			texts, asked = append(texts, *part.Text), append(asked, *part.Text)
		}
	}
	c.text, c.asked = strings.Join(texts, "\n"), strings.Join(asked, "\n")
	return c
}

// offerTools reads the functions and how they may be used.
func (r *contentRequest) offerTools(t *tools) error {
	for _, group := range r.Tools {
		for _, f := range group.FunctionDeclarations {
			schema := f.ParametersJSONSchema
			if len(schema) == 0 {
				schema = f.Parameters
			}
			if f.Name == "" {
				return invalid("tools", "function_declarations.name: must not be empty")
			}
			if !functionNames.MatchString(f.Name) {
				return invalid("tools", "Invalid function name. Must start with a-z, A-Z or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.")
			}
			if err := t.offer(f.Name, schema); err != nil {
				return err
			}
		}
	}
	config := &r.ToolConfig.FunctionCallingConfig
	switch config.Mode {
	case "NONE":
		t.use = noUse
	case "ANY":
		if len(t.offered) == 0 {
			return invalid("toolConfig", "Function calling mode is ANY but no function_declarations are provided.")
		}
		t.use = mustUse
	case "", "AUTO", "VALIDATED":
	default:
		return invalid("toolConfig", "Invalid value for 'function_calling_config.mode': use AUTO, ANY, NONE or VALIDATED.")
	}
	allowed := config.AllowedFunctionNames
	switch {
	case len(allowed) == 0:
	case config.Mode != "ANY" && config.Mode != "VALIDATED":
		return invalid("toolConfig", "allowed_function_names can only be set when the mode is ANY or VALIDATED.")
	case t.allow(allowed) != "":
		return invalid("toolConfig", "allowed_function_names must be a subset of function_declarations.")
	}
	return nil
}

// contentResponse is an answer, and a part of a streamed one.
type contentResponse struct {
	Candidates    []geminiCandidate `json:"candidates"`
	UsageMetadata geminiUsage       `json:"usageMetadata"`
	ModelVersion  string            `json:"modelVersion"`
	ResponseID    string            `json:"responseId"`
}

type geminiCandidate struct {
	Content      geminiContent `json:"content"`
	FinishReason string        `json:"finishReason,omitempty"`
	Index        int           `json:"index"`
}

type geminiUsage struct {
	PromptTokenCount        int `json:"promptTokenCount"`
	CachedContentTokenCount int `json:"cachedContentTokenCount,omitzero"`
	CandidatesTokenCount    int `json:"candidatesTokenCount,omitzero"`
	ThoughtsTokenCount      int `json:"thoughtsTokenCount,omitzero"`
	TotalTokenCount         int `json:"totalTokenCount"`
}

func (a *answer) content(finish string, parts ...geminiPart) contentResponse {
	output := a.reported(a.outputTokens)
	return contentResponse{
		Candidates: []geminiCandidate{{Content: geminiContent{Role: "model", Parts: parts}, FinishReason: finish}},
		UsageMetadata: geminiUsage{
			PromptTokenCount: a.reported(a.inputTokens), CachedContentTokenCount: a.parts.cached,
			CandidatesTokenCount: max(0, output-a.parts.reasoning), ThoughtsTokenCount: a.parts.reasoning,
			TotalTokenCount: a.reported(a.inputTokens) + output,
		},
		ModelVersion: a.model, ResponseID: a.id,
	}
}

// geminiFinish is why the answer ended, in the dialect's words: calls of functions are no reason of their own.
func (c *choice) geminiFinish() string {
	if c.stop == stopLength {
		return "MAX_TOKENS"
	}
	return "STOP"
}

// callPart is the call of a function. The service signs the first of them.
func (c *choice) callPart(i int) geminiPart {
	called := &c.calls[i]
	arguments := called.arguments.String()
	part := geminiPart{FunctionCall: &geminiFunctionCall{ID: called.id, Name: called.name, Args: jsontext.Value(arguments)}}
	if !jsontext.Value(arguments).IsValid() {
		part.FunctionCall.Args = jsontext.Value("{}") // the request's maximum cut it
	}
	if i == 0 {
		part.ThoughtSignature = signature(called.id)
	}
	return part
}

func (r *contentRequest) thoughtsShown() bool {
	return r.GenerationConfig.ThinkingConfig.IncludeThoughts
}

func (r *contentRequest) plain(a *answer) []byte {
	c := a.only()
	var parts []geminiPart
	if c.thoughts.length > 0 && r.thoughtsShown() {
		parts = append(parts, geminiPart{Text: new(c.thoughts.String()), Thought: true})
	}
	for i := range c.calls {
		parts = append(parts, c.callPart(i))
	}
	if len(c.calls) == 0 {
		parts = append(parts, geminiPart{Text: new(c.text.String())})
	}
	return encode(a.content(c.geminiFinish(), parts...))
}

func (r *contentRequest) frames(a *answer) iter.Seq[frame] {
	c := a.only()
	event := func(finish string, parts ...geminiPart) []byte { return dataEvent(encode(a.content(finish, parts...))) }
	return func(yield func(frame) bool) {
		hidden := 0
		for token := range c.thoughts.tokens() {
			if !r.thoughtsShown() {
				hidden++
				continue
			}
			if !yield(frame{data: event("", geminiPart{Text: &token, Thought: true}), token: true}) {
				return
			}
		}
		for i := range c.calls {
			hidden += max(0, c.calls[i].arguments.length-1)
			if !yield(frame{data: event("", c.callPart(i)), token: true, hidden: hidden}) {
				return
			}
			hidden = 0
		}
		for token := range c.text.tokens() {
			if !yield(frame{data: event("", geminiPart{Text: &token}), token: true, hidden: hidden}) {
				return
			}
			hidden = 0
		}
		yield(frame{data: event(c.geminiFinish(), geminiPart{Text: new("")}), hidden: hidden})
	}
}
