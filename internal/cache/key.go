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

// Key says which answers are interchangeable.
type Key struct {
	Tenant penstock.TenantID
	digest digest
}

// Question is everything that an answer depends on.
type Question struct {
	Tenant     penstock.TenantID
	Definition string   // what the model means today, to this tenant
	Targets    []string // that may answer the tenant
	Endpoint   penstock.Endpoint
	Headers    []string // of the caller's that go on to the upstream, names and values
	Body       body.Object
	Filters    string // the version of the filters that judge the answer
}

// KeyOf makes the key of a question. It reports false for one whose answer is no one else's: one that depends on
// more than its body, or leaves something behind upstream.
//
// Bodies that differ in white space or in the order of members are the same. Numbers are compared as they are
// written: 1 and 1.0 only miss each other, but two seeds that a float cannot tell apart must not meet.
func KeyOf(q Question) (Key, bool) {
	if !selfContained(q.Body) {
		return Key{}, false
	}
	canonical := jsontext.Value(append([]byte(nil), q.Body.Text...))
	err := canonical.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	if err != nil { // a name is there twice: which one counts is the upstream's secret
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

// part adds a text with its length, so that no two lists of parts read alike.
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

// stateful are the members that tie an answer to something outside of the body, or leave something behind.
var stateful = []string{
	"background", "container", "conversation", "mcp_servers", "previous_response_id", "store", "web_search_options",
}

// selfContained says that an answer depends on nothing but the body.
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

// hostedTools says that the upstream uses tools of its own, such as a search of the web: its answer is of the
// moment. Functions that the caller runs itself are a part of the question.
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
