package sim

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Bounds of an embedding request.
const (
	DefaultDimensions = 1536
	MaxDimensions     = 4096
	maxInputs         = 2048
)

// dimensionsOf is how many numbers an embedding of a model has if the request does not say.
func dimensionsOf(model string) int {
	switch model {
	case "text-embedding-3-large", "gemini-embedding-001":
		return 3072
	case "text-embedding-004":
		return 768
	}
	return DefaultDimensions
}

type embeddingRequest struct {
	Model          string `json:"model"`
	Input          inputs `json:"input"`
	Dimensions     *int   `json:"dimensions"`
	EncodingFormat string `json:"encoding_format"`
}

func decodeEmbedding(body []byte) (*call, error) {
	r := new(embeddingRequest)
	if err := decodeBody(body, r); err != nil {
		return nil, err
	}
	switch n := len(r.Input.turns); {
	case r.Model == "":
		return nil, required("model")
	case n == 0:
		return nil, required("input")
	case n > maxInputs:
		return nil, invalid("input", fmt.Sprintf("Invalid 'input': expected at most %d items.", maxInputs))
	case r.Dimensions != nil && (*r.Dimensions < 1 || *r.Dimensions > MaxDimensions):
		return nil, invalid("dimensions", fmt.Sprintf("Invalid 'dimensions': expected 1 to %d.", MaxDimensions))
	}
	switch r.EncodingFormat {
	case "", "float", "base64":
	default:
		return nil, invalid("encoding_format", "Invalid 'encoding_format': use float or base64.")
	}
	return &call{model: r.Model, prompt: &r.Input.prompt, silent: true, responder: r}, nil
}

type embeddingList struct {
	Object string          `json:"object"`
	Data   []embeddingItem `json:"data"`
	Model  string          `json:"model"`
	Usage  struct {
		PromptTokens int `json:"prompt_tokens"`
		TotalTokens  int `json:"total_tokens"`
	} `json:"usage"`
}

type embeddingItem struct {
	Object    string `json:"object"`
	Index     int    `json:"index"`
	Embedding any    `json:"embedding"` // []float32, or []byte, which is encoded as base64
}

func (r *embeddingRequest) plain(a *answer) []byte {
	list := embeddingList{Object: "list", Model: a.model}
	list.Usage.PromptTokens, list.Usage.TotalTokens = a.reported(a.inputTokens), a.reported(a.inputTokens)
	dimensions := dimensionsOf(a.model)
	if r.Dimensions != nil {
		dimensions = *r.Dimensions
	}
	for i, t := range r.Input.turns {
		one := prompt{turns: []turn{t}} // each input has its own vector, whatever stands beside it
		vector := unitVector(one.digest(a.seed, a.model), dimensions)
		item := embeddingItem{Object: "embedding", Index: i, Embedding: vector}
		if r.EncodingFormat == "base64" {
			item.Embedding = packed(vector)
		}
		list.Data = append(list.Data, item)
	}
	return encode(list)
}

// packed lays a vector out as little-endian float32.
func packed(vector []float32) []byte {
	b := make([]byte, 0, 4*len(vector))
	for _, v := range vector {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}
