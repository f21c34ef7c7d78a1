package sim

import "github.com/go-json-experiment/json/jsontext"

// contentCountRequest is a body of countTokens: contents, or a whole request of generateContent.
type contentCountRequest struct {
	contentRequest
	GenerateContentRequest *contentRequest `json:"generateContentRequest"`
}

func decodeContentCount(model string, body []byte) (*call, error) {
	r := new(contentCountRequest)
	if err := decodeBody(body, r); err != nil {
		return nil, err
	}
	inner := &r.contentRequest
	if r.GenerateContentRequest != nil {
		inner = r.GenerateContentRequest
	}
	c, err := inner.call(model)
	if err != nil {
		return nil, err
	}
	c.silent, c.dry, c.responder = true, true, r
	return c, nil
}

func (r *contentCountRequest) plain(a *answer) []byte {
	return encode(struct {
		TotalTokens int `json:"totalTokens"`
	}{a.inputTokens})
}

// contentEmbeddingRequest is a body of batchEmbedContents, or of embedContent for one text.
type contentEmbeddingRequest struct {
	contentEmbedding
	Requests []contentEmbedding `json:"requests"`
	one      bool
}

type contentEmbedding struct {
	Model                string         `json:"model"`
	Content              *geminiContent `json:"content"`
	OutputDimensionality *int           `json:"outputDimensionality"`
	EmbedContentConfig   jsontext.Value `json:"embedContentConfig"`
}

func decodeContentEmbedding(model string, body []byte) (*call, error) {
	r := new(contentEmbeddingRequest)
	if err := decodeBody(body, r); err != nil {
		return nil, err
	}
	if r.Content != nil {
		r.one, r.Requests = true, []contentEmbedding{r.contentEmbedding}
	}
	p := new(prompt)
	for _, one := range r.Requests {
		switch {
		case one.Content == nil:
			return nil, invalid("requests", "* EmbedContentRequest.content: contents is not specified")
		case !r.one && one.Model != "models/"+model:
			return nil, invalid("requests", "* BatchEmbedContentsRequest.requests.model: must match the model of the path")
		case one.OutputDimensionality != nil && (*one.OutputDimensionality < 1 || *one.OutputDimensionality > MaxDimensions):
			return nil, invalid("requests", "output_dimensionality is out of range.")
		}
		p.add("user", one.Content.content())
	}
	if len(p.turns) == 0 {
		return nil, invalid("requests", "* BatchEmbedContentsRequest.requests: at least one request is required")
	}
	return &call{model: model, prompt: p, silent: true, responder: r}, nil
}

type geminiEmbedding struct {
	Values []float32 `json:"values"`
}

func (r *contentEmbeddingRequest) plain(a *answer) []byte {
	var list []geminiEmbedding
	for _, one := range r.Requests {
		dimensions := dimensionsOf(a.model)
		if one.OutputDimensionality != nil {
			dimensions = *one.OutputDimensionality
		}
		var p prompt
		p.add("user", one.Content.content())
		list = append(list, geminiEmbedding{unitVector(p.digest(a.seed, a.model), dimensions)})
	}
	usage := geminiUsage{PromptTokenCount: a.reported(a.inputTokens), TotalTokenCount: a.reported(a.inputTokens)}
	if r.one {
		return encode(struct {
			Embedding     geminiEmbedding `json:"embedding"`
			UsageMetadata geminiUsage     `json:"usageMetadata"`
		}{list[0], usage})
	}
	return encode(struct {
		Embeddings    []geminiEmbedding `json:"embeddings"`
		UsageMetadata geminiUsage       `json:"usageMetadata"`
	}{list, usage})
}
