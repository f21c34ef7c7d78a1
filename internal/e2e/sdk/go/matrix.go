package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"
)

// feature is one thing that a client does with a model. It returns an error if anything about it is not as it should be.
type feature func(ctx context.Context, model string) error

// matrixClients are the features of each client, as the scripts in ../matrix have them.
var matrixClients = map[string]map[string]feature{
	"openai-go": {
		"chat": openaiChat, "stream": openaiStream, "tools": openaiTools, "structured": openaiStructured, "images": openaiImage,
		"image_addresses": openaiImageAddress, "responses": openaiResponses, "embeddings": openaiEmbeddings, "files": openaiFiles, "batches": openaiBatches,
	},
	"anthropic-sdk-go": {
		"chat": anthropicChat, "stream": anthropicStream, "tools": anthropicTools, "structured": anthropicStructured, "images": anthropicImage,
		"image_addresses": anthropicImageAddress, "batches": anthropicBatches,
	},
}

// playMatrix runs cells, written client|feature|model, and prints each one that passed.
func playMatrix(ctx context.Context, cells []string) error {
	failed := 0
	for _, cell := range cells {
		parts := strings.Split(cell, "|")
		if len(parts) != 3 || matrixClients[parts[0]][parts[1]] == nil {
			return fmt.Errorf("no script plays the cell %q", cell)
		}
		if err := matrixClients[parts[0]][parts[1]](ctx, parts[2]); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", cell, explained(err))
			failed++
			continue
		}
		fmt.Println(cell)
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d cells failed", failed, len(cells))
	}
	return nil
}

const (
	briefly  = "Be brief."
	question = "Tell me about rivers, please [sim:tokens=12]"
	lookup   = "What are the weather and the time in Rome?" // mentions both tools, so that the model calls both in one turn
	picture  = "What is it? [sim:tokens=12]"
	address  = "https://example.com/cat.png"
	seesLink = "sees 1 image by reference" // what the simulator says about a picture at an address
)

// seesPixel is what the simulator says about the picture in the request: with its size.
var seesPixel = fmt.Sprintf("sees 1 image of %d bytes", base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(pixel, "="))))

var toolNames = []string{"get_time", "get_weather"}

// citySchema is that of the arguments of both tools.
var citySchema = object{"type": "object", "properties": object{"city": object{"type": "string"}}, "required": []string{"city"}, "additionalProperties": false}

// person is what structured answers are to be.
type person struct {
	Name string   `json:"name"`
	Age  *int     `json:"age"`
	Tags []string `json:"tags"`
}

var personSchema = object{
	"type": "object", "required": []string{"name", "age", "tags"}, "additionalProperties": false,
	"properties": object{"name": object{"type": "string"}, "age": object{"type": "integer"}, "tags": object{"type": "array", "items": object{"type": "string"}}},
}

// check holds that a text is a person and nothing else.
func (p *person) check(text string) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(p); err != nil {
		return fmt.Errorf("the answer %q: %w", text, err)
	}
	if p.Name == "" || p.Age == nil || p.Tags == nil {
		return fmt.Errorf("the answer %q has not all members", text)
	}
	return nil
}

// toolCall is a call of a tool, whichever SDK reported it.
type toolCall struct{ name, arguments string }

// calledBoth holds that both tools were called in one turn, with arguments by their schema.
func calledBoth(calls []toolCall) error {
	var names []string
	for _, c := range calls {
		var given struct{ City *string }
		if err := json.Unmarshal([]byte(c.arguments), &given); err != nil || given.City == nil {
			return fmt.Errorf("%s was called with %s: %w", c.name, c.arguments, err)
		}
		names = append(names, c.name)
	}
	slices.Sort(names)
	if !slices.Equal(names, toolNames) {
		return fmt.Errorf("the model called %q", names)
	}
	return nil
}

// inPieces holds that a stream gave the text of a plain answer, in more than one piece.
func inPieces(pieces []string, text string) error {
	if len(pieces) < 2 || strings.Join(pieces, "") != text {
		return fmt.Errorf("the stream had the pieces %q, the plain answer %q", pieces, text)
	}
	return nil
}

// explained is an error with the body of the answer, which OpenAI's SDK leaves out of its texts.
func explained(err error) error {
	if e, ok := errors.AsType[*openai.Error](err); ok {
		return fmt.Errorf("%w %s", err, e.RawJSON())
	}
	return err
}
