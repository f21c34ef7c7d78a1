package api

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/store"
)

// OpenAPI renders the OpenAPI 3.1 document of the surface. It is made from the route table and from the
// types that handlers decode and encode, so it cannot promise anything else than they do. The same
// source always gives the same bytes.
func OpenAPI() ([]byte, error) {
	doc, err := newDocument(routes)
	if err != nil {
		return nil, fmt.Errorf("describing the API: %w", err)
	}
	var out bytes.Buffer
	if err := json.MarshalWrite(&out, doc, json.Deterministic(true), jsontext.WithIndent("  ")); err != nil {
		return nil, fmt.Errorf("encoding the description of the API: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// document is an OpenAPI document. Its parts carry the names that the standard gives them, and hold
// only the members that are used here.
type document struct {
	OpenAPI    string                         `json:"openapi"`
	Info       docInfo                        `json:"info"`
	Servers    []docServer                    `json:"servers"`
	Security   []docSecurity                  `json:"security"`
	Tags       []docTag                       `json:"tags"`
	Paths      ordered[ordered[docOperation]] `json:"paths"` // by path, then by method
	Components docComponents                  `json:"components"`
}

type docInfo struct {
	Title       string `json:"title"`
	Version     string `json:"version"`
	Description string `json:"description"`
}

type docServer struct {
	URL         string `json:"url"`
	Description string `json:"description"`
}

// docSecurity is one way to be let in: the scheme and the scopes that a key needs.
type docSecurity map[string][]penstock.Scope

type docTag struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

type docOperation struct {
	ID          string               `json:"operationId"`
	Summary     string               `json:"summary"`
	Description string               `json:"description,omitzero"`
	Tags        []string             `json:"tags"`
	Security    []docSecurity        `json:"security,omitzero"` // nil: any key; empty: no key
	Parameters  []docParameter       `json:"parameters,omitzero"`
	RequestBody *docBody             `json:"requestBody,omitzero"`
	Responses   ordered[docResponse] `json:"responses"` // by status
}

type docParameter struct {
	Name        string `json:"name"`
	In          string `json:"in"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
	Schema      schema `json:"schema"`
}

type docBody struct {
	Required bool              `json:"required"`
	Content  ordered[docMedia] `json:"content"` // by media type
}

type docResponse struct {
	Ref         string             `json:"$ref,omitzero"`
	Description string             `json:"description,omitzero"`
	Headers     ordered[docHeader] `json:"headers,omitzero"`
	Content     ordered[docMedia]  `json:"content,omitzero"` // by media type
}

type docHeader struct {
	Description string `json:"description"`
	Schema      schema `json:"schema"`
}

type docMedia struct {
	Schema *schema `json:"schema,omitzero"`
}

type docComponents struct {
	Schemas         map[string]schema    `json:"schemas"`
	Responses       ordered[docResponse] `json:"responses"`
	SecuritySchemes ordered[docScheme]   `json:"securitySchemes"`
}

type docScheme struct {
	Type        string `json:"type"`
	Scheme      string `json:"scheme,omitzero"`
	In          string `json:"in,omitzero"`
	Name        string `json:"name,omitzero"`
	Description string `json:"description"`
}

const aboutAPI = "One door to every model: inferences at once, or as durable jobs. " +
	"Times are RFC 3339, money is a decimal string in US dollars, and lists are read page by page: " +
	"pass the last id as `after` while `has_more` is true. Bodies of ours reject unknown fields by name; " +
	"the body of an inference is passed on as it is."

// aboutTags says what each group of routes is for; tagOf sorts routes into them.
var aboutTags = []docTag{
	{"jobs", "Work for later: accepted once it is on stable storage, then read by poll, results or events."},
	{"items", "The inferences of a job, and what was tried for each."},
	{"requests", "Synchronous calls, explained afterwards."},
	{"usage", "What was spent, by whom and on what."},
	{"storage", "The bytes that a tenant has stored, and its quota."},
	{"dead_letters", "Failed items that nobody has dealt with yet."},
	{"files", "Requests to be run as a batch, one a line."},
	{"batches", "Batches in OpenAI's dialect, as views of jobs."},
	{"download", "Content for whoever has a signed link to it."},
	{"webhooks", "Endpoints that are told of events by signed messages."},
	{"deliveries", "Messages on their way to webhooks."},
	{"chat", "Inference at once, in OpenAI's dialect."},
	{"completions", "Completions of a prompt at once, in OpenAI's dialect."},
	{"embeddings", "Embeddings at once, in OpenAI's dialect."},
	{"responses", "Responses at once, in OpenAI's dialect."},
	{"messages", "Inference at once, in Anthropic's dialect."},
	{"models", "The names that callers can ask for."},
	{"process", "The process itself. No key is needed."},
}

// The schemes by which a key can be presented, in the order that PresentedKey looks.
const schemeBearer, schemeHeader = "bearer", "apiKey"

const refError = "#/components/responses/Error"

func newDocument(table []route) (document, error) {
	set := newSchemaSet()
	doc := document{
		OpenAPI:  "3.1.0",
		Info:     docInfo{Title: "Penstock", Version: penstock.Version, Description: aboutAPI},
		Servers:  []docServer{{URL: "/", Description: "The server that this document came from."}},
		Security: needs(),
		Tags:     aboutTags,
	}
	for _, rt := range table {
		path := strings.ReplaceAll(rt.Path, "...}", "}")
		*doc.Paths.at(path).at(strings.ToLower(rt.Method)) = newOperation(rt, set)
	}
	doc.Components = docComponents{
		Responses: ordered[docResponse]{{"Error", errorResponse(set)}},
		SecuritySchemes: ordered[docScheme]{
			{schemeBearer, docScheme{Type: "http", Scheme: "bearer", Description: "Authorization: Bearer psk_…"}},
			{schemeHeader, docScheme{Type: "apiKey", In: "header", Name: "x-api-key", Description: "x-api-key: psk_…"}},
		},
		Schemas: set.named,
	}
	return doc, set.err
}

// needs says that a key with these scopes is wanted, presented in one way or the other.
func needs(scopes ...penstock.Scope) []docSecurity {
	return []docSecurity{{schemeBearer: scopes}, {schemeHeader: scopes}}
}

func newOperation(rt route, set *schemaSet) docOperation {
	op := docOperation{ID: operationID(rt.Method, rt.Path), Summary: rt.Summary, Tags: []string{tagOf(rt.Path)}}
	switch {
	case rt.open:
		op.Security = []docSecurity{}
		op.Description = "Needs no key."
	case rt.Scope != "": // otherwise any key will do, as the whole document says
		op.Security = needs(rt.Scope)
		op.Description = fmt.Sprintf("Needs a key with the scope `%s`.", rt.Scope)
	}
	for _, p := range rt.Params {
		op.Parameters = append(op.Parameters, docParameter{
			Name: p.Name, In: p.In, Description: p.About, Required: p.Required, Schema: paramSchema(p, set),
		})
	}
	if rt.Body != nil {
		content := set.of(reflect.TypeOf(rt.Body), sent)
		op.RequestBody = &docBody{Required: !rt.NoBody, Content: ordered[docMedia]{{bodyType(rt), docMedia{&content}}}}
	}
	for _, a := range rt.Answers {
		addAnswer(&op, a, set)
		if rt.Waits {
			*op.Responses.at(strconv.Itoa(a.Status)).Headers.at(strings.ToLower(headerLimitWait)) = limitWaitHeader
		}
	}
	op.Responses.at("default").Ref = refError
	return op
}

func bodyType(rt route) string {
	if rt.Form {
		return typeForm
	}
	return typeJSON
}

// addAnswer adds a successful answer. Answers with one status are one response of several media types.
func addAnswer(op *docOperation, a answer, set *schemaSet) {
	r := op.Responses.at(strconv.Itoa(a.Status))
	r.Description = strings.TrimSpace(r.Description + " " + a.About)
	*r.Headers.at("x-request-id") = requestIDHeader
	mediaType := a.Type
	if mediaType == "" {
		mediaType = typeJSON
	}
	var m docMedia
	if a.Body != nil {
		content := set.of(reflect.TypeOf(a.Body), answered)
		if mediaType != typeJSON {
			content.Description = "One entry; the answer is a sequence of them."
		}
		m.Schema = &content
	}
	if before := r.Content.at(mediaType).Schema; before != nil && m.Schema != nil {
		m.Schema = &schema{AnyOf: []schema{*before, *m.Schema}} // one or the other dialect
	}
	*r.Content.at(mediaType) = m
}

var requestIDHeader = docHeader{Description: "The id of this call, req_….", Schema: schema{Type: "string"}}

var limitWaitHeader = docHeader{Description: "For how many milliseconds the call waited for its turn under its caller's limits. Not there if it did not wait.", Schema: schema{Type: "integer"}}

// errorResponse is the answer of every route that something went wrong with.
func errorResponse(set *schemaSet) docResponse {
	content := set.of(reflect.TypeFor[errorView](), answered)
	return docResponse{
		Description: "What went wrong, in one envelope. The codes by status:\n\n" + aboutCodes() +
			"\n\nCodes with an asterisk may succeed when the very same call is sent again; 429 is about the caller's own limits, 503 about ours. " +
			"In Anthropic's dialect the envelope also has `type: error` and the `request_id`, and `error.type` is one of Anthropic's.",
		Headers: ordered[docHeader]{
			{"x-request-id", requestIDHeader},
			{"x-should-retry", docHeader{"Whether the very same call may succeed later.", schema{Type: "boolean"}}},
			{"Retry-After", docHeader{"Seconds to wait before the same call is made again; always there with 429 and 503, unless x-should-retry is false. After 429 for a limit per minute, a place is kept for the key at that time if the message says so.", schema{Type: "integer"}}},
			{"retry-after-ms", docHeader{"The same in milliseconds.", schema{Type: "integer"}}},
		},
		Content: ordered[docMedia]{{typeJSON, docMedia{&content}}},
	}
}

// aboutCodes lists the codes of errors under their statuses.
func aboutCodes() string {
	byStatus := map[int][]string{}
	for _, code := range penstock.Codes {
		text := "`" + string(code) + "`"
		if code.Retryable() {
			text += "\\*"
		}
		byStatus[statuses[code]] = append(byStatus[statuses[code]], text)
	}
	lines := make([]string, 0, len(byStatus))
	for status, codes := range byStatus {
		lines = append(lines, fmt.Sprintf("- %d: %s", status, strings.Join(codes, ", ")))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// paramTypes are the Go types behind parameters that are more than text, by name: a name means the same
// on every route that takes it. Only after is an id here and a number there, and so stays text.
var paramTypes = map[string]reflect.Type{
	"limit":          reflect.TypeFor[int](),
	"status":         reflect.TypeFor[penstock.Status](),
	"lane":           reflect.TypeFor[penstock.Lane](),
	"order":          reflect.TypeFor[store.Order](),
	"code":           reflect.TypeFor[penstock.Code](),
	"created_after":  reflect.TypeFor[time.Time](),
	"created_before": reflect.TypeFor[time.Time](),
}

func paramSchema(p param, set *schemaSet) schema {
	t, ok := paramTypes[p.Name]
	if p.Type != nil {
		t, ok = p.Type, true
	}
	if !ok {
		t = reflect.TypeFor[string]()
	}
	return set.of(t, sent)
}

// tagOf names the group of a route: what stands behind /v1/, and everything else is about the process.
func tagOf(path string) string {
	rest, ok := strings.CutPrefix(path, "/v1/")
	if !ok {
		return "process"
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// operationID names an operation for generated clients: GET /v1/jobs/{id}/results is getJobResults. It
// depends on nothing but the method and the path, so that it changes only when the surface does.
func operationID(method, path string) string {
	var words []string
	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "/v1"), "/") {
		if strings.HasPrefix(segment, "{") { // one of many: the noun before it loses its plural
			last := &words[len(words)-1]
			*last = strings.TrimSuffix(*last, "s")
			if stem, ok := strings.CutSuffix(*last, "che"); ok { // batches
				*last = stem + "ch"
			}
			continue
		}
		words = append(words, strings.FieldsFunc(segment, func(r rune) bool { return !unicode.IsLetter(r) })...)
	}
	id := strings.ToLower(method)
	for _, w := range words {
		id += upperFirst(w)
	}
	return id
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
