package cache

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
)

type digest [sha256.Size]byte

// Key identifies identical questions.
type Key struct {
	Tenant penstock.TenantID
	digest digest
}

// Question is everything that an answer depends on.
type Question struct {
	Tenant     penstock.TenantID
	Definition string   // the current definition of the model
	Targets    []string // that may answer the tenant
	Endpoint   penstock.Endpoint
	Headers    []string // headers of the caller that are forwarded, names and values
	Body       body.Object
	Filters    string // the version of the filters that judge the answer
}

// KeyOf makes the key of a question. It reports false for a question whose answer must not be shared, because it
// depends on more than the body or has an effect upstream.
//
// Bodies that differ in white space or in the order of members are the same. Numbers are compared as text: that 1 and
// 1.0 differ is harmless, but two seeds that are equal as floats must differ.
func KeyOf(q Question) (Key, bool) {
	if !selfContained(q.Body) {
		return Key{}, false
	}
	canonical := jsontext.Value(append([]byte(nil), q.Body.Text...))
	err := canonical.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	if err != nil { // a name is repeated, and which one counts depends on the upstream
		return Key{}, false
	}
	h := sha256.New()
	part(h, string(q.Tenant))
	part(h, q.Definition)
	parts(h, q.Targets)
	part(h, string(q.Endpoint))
	parts(h, q.Headers)
	part(h, q.Filters)
	part(h, string(canonical))
	return Key{Tenant: q.Tenant, digest: digest(h.Sum(nil))}, true
}

// part adds a text with its length, so that different lists of parts have different digests.
func part(h hash.Hash, text string) {
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(text)))
	h.Write(size[:])
	_, _ = io.WriteString(h, text) // a hash never fails
}

func parts(h hash.Hash, texts []string) {
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(texts)))
	h.Write(size[:])
	for _, t := range texts {
		part(h, t)
	}
}

// stateful are the members that make an answer depend on state outside of the body, or have an effect upstream.
var stateful = []string{
	"background", "container", "conversation", "mcp_servers", "previous_response_id", "store", "web_search_options",
}

// selfContained reports whether an answer depends only on the body.
func selfContained(o body.Object) bool {
	for _, name := range stateful {
		switch string(o.Raw(name)) {
		case "", "null", "false":
		default:
			return false
		}
	}
	return !hostedTools(o.Raw("tools"))
}

// hostedTools reports whether the upstream runs tools itself, such as a web search, so that its answer depends on the
// time. Functions that the caller runs are part of the question.
func hostedTools(tools []byte) bool {
	dec := jsontext.NewDecoder(strings.NewReader(string(tools)), jsontext.AllowDuplicateNames(true))
	if len(tools) == 0 || dec.PeekKind() != '[' {
		return false
	}
	if _, err := dec.ReadToken(); err != nil {
		return true
	}
	for dec.PeekKind() != ']' {
		one, err := dec.ReadValue()
		if err != nil {
			return true
		}
		tool, err := body.Scan(one)
		if err != nil {
			return true
		}
		switch kind, err := tool.String("type"); {
		case err != nil:
			return true
		case kind != "" && kind != "function" && kind != "custom":
			return true
		}
	}
	return false
}
