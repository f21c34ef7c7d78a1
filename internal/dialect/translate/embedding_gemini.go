package translate

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/dialect"
	"penstock/internal/provider"
)

var embeddingsToGemini = &whole{request: geminiFromEmbeddings, answer: embeddingsFromGemini, envelope: chatError}

// embeddingRules are for embeddings that go to Gemini.
var embeddingRules = rules{
	"model": {}, "input": {}, "dimensions": {}, "encoding_format": {},
	"user": {disposition: dropped},
}

// geminiEmbedding is one text of a body of batchEmbedContents. The adapter adds the model.
type geminiEmbedding struct {
	Content              geminiContent `json:"content"`
	OutputDimensionality *int64        `json:"outputDimensionality,omitzero"`
}

// geminiFromEmbeddings translates a body of embeddings.
func geminiFromEmbeddings(text []byte) ([]byte, []string, error) {
	var in struct {
		Input          jsontext.Value `json:"input"`
		Dimensions     *int64         `json:"dimensions"`
		EncodingFormat string         `json:"encoding_format"`
	}
	var left notes
	if _, err := embeddingRules.decode(text, &in, &left); err != nil {
		return nil, nil, err
	}
	if in.EncodingFormat != "" && in.EncodingFormat != "float" && in.EncodingFormat != encodingBase64 {
		return nil, nil, penstock.InvalidParam("encoding_format", "encoding_format must be float or base64.")
	}
	var texts texts
	if json.Unmarshal(in.Input, &texts) != nil || len(texts) == 0 {
		return nil, nil, untranslatable("input", "Use a text or a list of texts.")
	}
	var out struct {
		Requests []geminiEmbedding `json:"requests"`
	}
	for i, text := range texts {
		if text == "" {
			return nil, nil, penstock.InvalidParam(fmt.Sprintf("input[%d]", i), "input[%d] must not be empty.", i)
		}
		out.Requests = append(out.Requests, geminiEmbedding{geminiContent{Parts: []geminiPart{textPart(text)}}, in.Dimensions})
	}
	return encode(out), left.paths, nil
}

const encodingBase64 = "base64"

// embeddingsFromGemini translates the answer.
func embeddingsFromGemini(text []byte, asked dialect.Asked, _ provider.Meta) ([]byte, error) {
	var in struct {
		Embeddings []struct {
			Values []float32 `json:"values"`
		} `json:"embeddings"`
		UsageMetadata geminiUsage `json:"usageMetadata"`
	}
	if err := json.Unmarshal(text, &in, lenient); err != nil {
		return nil, malformed(err, "it is not a list of embeddings")
	}
	if wanted := inputsOf(asked.Body); len(in.Embeddings) != wanted {
		return nil, malformed(nil, fmt.Sprintf("it has %d embeddings for %d inputs", len(in.Embeddings), wanted))
	}
	type item struct {
		Object    string `json:"object"`
		Index     int    `json:"index"`
		Embedding any    `json:"embedding"`
	}
	type usage struct {
		PromptTokens int64 `json:"prompt_tokens"`
		TotalTokens  int64 `json:"total_tokens"`
	}
	data := make([]item, len(in.Embeddings))
	packed := wantsBase64(asked.Body)
	for i, e := range in.Embeddings {
		data[i] = item{Object: "embedding", Index: i, Embedding: e.Values}
		if packed {
			data[i].Embedding = packFloats(e.Values)
		}
	}
	used := max(0, in.UsageMetadata.PromptTokenCount)
	return encode(struct {
		Object string `json:"object"`
		Data   []item `json:"data"`
		Model  string `json:"model"`
		Usage  usage  `json:"usage"`
	}{"list", data, asked.Model, usage{used, used}}), nil
}

// inputsOf is how many texts a body of embeddings has.
func inputsOf(text []byte) int {
	var in struct {
		Input texts `json:"input"`
	}
	if json.Unmarshal(text, &in, lenient) != nil {
		return 0
	}
	return len(in.Input)
}

// wantsBase64 says whether the caller wants vectors as bytes.
func wantsBase64(text []byte) bool {
	o, err := body.Scan(text)
	if err != nil {
		return false
	}
	format, err := o.String("encoding_format")
	return err == nil && format == encodingBase64
}

// packFloats writes a vector as little-endian float32, in base64.
func packFloats(values []float32) string {
	raw := make([]byte, 0, 4*len(values))
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	return base64.StdEncoding.EncodeToString(raw)
}
