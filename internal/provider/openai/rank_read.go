package openai

import (
	"bytes"
	"errors"
	"math"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
	"penstock/internal/provider/wire"
	"penstock/internal/sse"
)

// rankReader reads rankings of documents. They carry no text and are never streamed. Servers differ in their shape: the translation,
// which knows the documents, reads the order itself.
type rankReader struct {
	usage    penstock.Usage
	reported wire.Reported
}

// Plain implements [wire.Reader].
func (r *rankReader) Plain(text []byte) (wire.Part, error) {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) { // SGLang's, which reports no usage as a whole
		var list []jsontext.Value
		return wire.Part{}, wire.Decode(text, &list)
	}
	var top struct {
		Object  errorMark      `json:"object"`
		Results arrayMark      `json:"results"`
		Data    arrayMark      `json:"data"` // Voyage's and Fireworks' name for results
		Usage   jsontext.Value `json:"usage"`
		Meta    struct {       // Cohere's
			Tokens jsontext.Value `json:"tokens"`
			Billed jsontext.Value `json:"billed_units"`
		} `json:"meta"`
		Error jsontext.Value `json:"error"`
	}
	if err := wire.Decode(text, &top); err != nil {
		return wire.Part{}, err
	}
	if wire.IsSet(top.Error) || bool(top.Object) {
		return wire.Part{Failed: true}, nil
	}
	if !top.Results && !top.Data {
		return wire.Part{}, errors.New("it has no results")
	}
	for _, reported := range []jsontext.Value{top.Usage, top.Meta.Tokens} {
		if r.usage, r.reported = readRankUsage(reported); r.reported != wire.ReportedPart {
			break
		}
	}
	return wire.Part{SearchUnits: max(readSearchUnits(top.Meta.Billed), readSearchUnits(top.Usage))}, nil
}

// readRankUsage reads the usage of a ranking. Many servers report the total alone, all of which is input. A report of zero tokens counts as
// no report: such servers do not count tokens.
func readRankUsage(reported jsontext.Value) (penstock.Usage, wire.Reported) {
	usage, state := readUsage(reported)
	if state == wire.ReportedPart && wire.IsSet(reported) {
		if n := countOf(reported, "total_tokens"); n < 0 {
			return penstock.Usage{}, wire.ReportedInvalid
		} else if n > 0 {
			return penstock.Usage{InputTokens: n}, wire.ReportedAll
		}
	}
	if usage.InputTokens == 0 && state == wire.ReportedAll {
		return penstock.Usage{}, wire.ReportedPart
	}
	usage.OutputTokens, usage.ReasoningTokens = 0, 0 // nothing is generated
	return usage, state
}

// countOf reads a count of an object, 0 if it has none and -1 if it is no count.
func countOf(object jsontext.Value, name string) (n int64) {
	if object.Kind() != '{' {
		return -1
	}
	in := body.NewCursor(object)
	for member := range in.Members {
		if string(member) == name {
			n = readCount(&in)
			continue
		}
		in.Skip()
	}
	return n
}

// readSearchUnits reads the search units of a report, 0 for none. Cohere writes them as a number that may have a fraction.
func readSearchUnits(reported jsontext.Value) int64 {
	var counts struct {
		SearchUnits float64 `json:"search_units"`
	}
	if !wire.IsSet(reported) || wire.Decode(reported, &counts) != nil || !(counts.SearchUnits > 0) {
		return 0
	}
	return int64(min(math.Ceil(counts.SearchUnits), penstock.MaxTokens))
}

// Event implements [wire.Reader]. A server of rankings can stream only an error.
func (r *rankReader) Event(ev sse.Event) (wire.Part, error) {
	if c, err := readCompletion(ev.Data); err == nil && c.failed {
		return wire.Part{Failed: true}, nil
	}
	return wire.Part{}, errors.New("rankings are not streamed")
}

// Usage implements [wire.Reader].
func (r *rankReader) Usage() (penstock.Usage, wire.Reported) { return r.usage, r.reported }

// Complaint implements [wire.Reader].
func (r *rankReader) Complaint(status int, text []byte) wire.Complaint {
	return readComplaint(status, text)
}
