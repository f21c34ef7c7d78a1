package rest

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
)

// Surface is a part of the API that a document describes.
type Surface struct {
	Routes []Route
	Tags   []Tag // the groups of routes with their descriptions; tagOf assigns routes to them
	Enums  Enums
	// ParamTypes are the Go types of parameters that are not plain text, by name. A parameter has the same type on
	// every route, unless its row has another type.
	ParamTypes map[string]reflect.Type
	Shapes     *Shapes
	// Both are the types that callers send and receive in the same form. Their schemas for requests have another name,
	// since these reject unknown fields.
	Both []reflect.Type
}

// Enums are the types with a closed list of values.
type Enums map[reflect.Type][]string

// Enumerate adds the values of a type.
func Enumerate[T ~string](all Enums, values []T) {
	for _, v := range values {
		all[reflect.TypeFor[T]()] = append(all[reflect.TypeFor[T]()], string(v))
	}
}

// Tag is a group of routes.
type Tag struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Documents are the OpenAPI documents of all versions.
type Documents [maxVersions][]byte

// NewDocuments describes surfaces to callers of every version.
func NewDocuments(surfaces ...Surface) (all Documents, err error) {
	for version := range Versions {
		if all[version], err = OpenAPI(version, surfaces...); err != nil {
			return all, err
		}
	}
	return all, nil
}

// Serve answers with the document of the version that the caller asked for.
func (d *Documents) Serve(c *Call) error {
	c.W.Header().Set("Content-Type", TypeJSON)
	_, err := c.W.Write(d[c.version])
	return err
}

// OpenAPI renders the OpenAPI 3.1 document of a version. It is made from the route table and from the types that
// handlers decode and encode, so it always describes their behaviour. The same source always gives the same bytes.
func OpenAPI(version int, surfaces ...Surface) ([]byte, error) {
	doc, err := NewDocument(version, surfaces...)
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

// Document is an OpenAPI document. Its parts carry the names that the standard gives them, and hold
// only the members that are used here.
type Document struct {
	OpenAPI    string                      `json:"openapi"`
	Info       docInfo                     `json:"info"`
	Servers    []docServer                 `json:"servers"`
	Security   []docSecurity               `json:"security"`
	Tags       []Tag                       `json:"tags"`
	Paths      ordered[ordered[Operation]] `json:"paths"` // by path, then by method
	Components docComponents               `json:"components"`
}

type docInfo struct {
	Title       string   `json:"title"`
	Version     string   `json:"version"`
	Description string   `json:"description"`
	APIVersion  string   `json:"x-api-version"`  // that the document describes
	APIVersions []string `json:"x-api-versions"` // that are served, oldest first
}

func newDocInfo(version int) docInfo {
	info := docInfo{Title: "Penstock", Version: penstock.Version, Description: aboutAPI, APIVersion: Versions[version].Name}
	for _, v := range Versions {
		info.APIVersions = append(info.APIVersions, v.Name)
	}
	return info
}

type docServer struct {
	URL         string `json:"url"`
	Description string `json:"description"`
}

// docSecurity is one way to authenticate: the scheme, and the scopes or roles that a caller needs.
type docSecurity map[string][]string

// Operation is a method of a path.
type Operation struct {
	ID          string               `json:"operationId"`
	Summary     string               `json:"summary"`
	Description string               `json:"description,omitzero"`
	Tags        []string             `json:"tags"`
	Deprecated  bool                 `json:"deprecated,omitzero"`
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
	Schema      Schema `json:"schema"`
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
	Schema      Schema `json:"schema"`
}

type docMedia struct {
	Schema  *Schema `json:"schema,omitzero"`
	Example any     `json:"example,omitzero"`
}

type docComponents struct {
	Schemas         map[string]Schema    `json:"schemas"`
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

const aboutAPI = "One API for every model: inferences at once, or as durable jobs. " +
	"Times are RFC 3339, money is a decimal string in US dollars, and lists are read page by page: " +
	"pass the last id as `after` while `has_more` is true. A body with an unknown field is refused, and the error names the field; " +
	"only the body of an inference is forwarded unchanged."

// The schemes by which a caller can send a key, in the order in which PresentedKey reads them.
const schemeBearer, schemeHeader = "bearer", "apiKey"

const refError = "#/components/responses/Error"

// NewDocument describes surfaces to callers of a version.
func NewDocument(version int, surfaces ...Surface) (Document, error) {
	set := newSchemaSet(version, surfaces)
	doc := Document{
		OpenAPI:  "3.1.0",
		Info:     newDocInfo(version),
		Servers:  []docServer{{URL: "/", Description: "The server that this document came from."}},
		Security: needs[string](),
	}
	for _, surface := range surfaces {
		doc.Tags = append(doc.Tags, surface.Tags...)
		for i := range surface.Routes {
			rt := &surface.Routes[i]
			if rt.Hidden {
				continue
			}
			path := strings.ReplaceAll(rt.Path, "...}", "}")
			*doc.Paths.at(path).at(strings.ToLower(rt.Method)) = newOperation(rt, set)
		}
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

// Operations calls do for every operation, in the order of the document.
func (d *Document) Operations(do func(path, method string, op Operation)) {
	for _, path := range d.Paths {
		for _, op := range path.Value {
			do(path.Name, op.Name, op.Value)
		}
	}
}

// needs requires a key with these scopes or roles, in either of the schemes.
func needs[T ~string](all ...T) []docSecurity {
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = string(one)
	}
	return []docSecurity{{schemeBearer: names}, {schemeHeader: names}}
}

// aboutListener says where a route of operators is served. Routes outside /admin/, such as the metrics, are on the admin listener only.
func aboutListener(path string) string {
	if strings.HasPrefix(path, "/admin/") {
		return "On the admin listener; for people on the public listener."
	}
	return "On the admin listener only."
}

func newOperation(rt *Route, set *schemaSet) Operation {
	op := Operation{ID: operationID(rt.Method, rt.Path), Summary: rt.Summary, Tags: []string{tagOf(rt.Path)}}
	switch {
	case rt.Open:
		op.Security = []docSecurity{}
		op.Description = "Needs no key."
	case rt.Scope != "": // otherwise any key is accepted, as the whole document says
		op.Security = needs(rt.Scope)
		op.Description = fmt.Sprintf("Needs a key with the scope `%s`, or a person with a role in the tenant: %s.", rt.Scope, aboutRoles(rt.ForPeople()))
	case len(rt.Roles) > 0:
		op.Security = needs(rt.Roles...)
		op.Description = aboutListener(rt.Path) + " Needs a role: " + aboutRoles(rt.Roles) + "."
	}
	if rt.Audit.Action != "" {
		op.Description = strings.TrimSpace(op.Description + " The audit records it as `" + rt.Audit.Action + "`.")
	}
	if rt.Deprecated != nil {
		op.Deprecated = true
		op.Description = strings.TrimSpace(op.Description + " Deprecated: " + rt.Deprecated.About)
	}
	for _, p := range rt.Params {
		op.Parameters = append(op.Parameters, docParameter{
			Name: p.Name, In: p.In, Description: p.About, Required: p.Required, Schema: paramSchema(p, set),
		})
	}
	if rt.Body != nil {
		content := set.of(reflect.TypeOf(rt.Body), sent)
		op.RequestBody = &docBody{Required: !rt.NoBody, Content: ordered[docMedia]{{bodyType(rt), docMedia{Schema: &content, Example: rt.Example}}}}
	}
	for _, a := range rt.Answers {
		addAnswer(&op, a, set)
		if rt.Waits {
			*op.Responses.at(strconv.Itoa(a.Status)).Headers.at(strings.ToLower(HeaderLimitWait)) = limitWaitHeader
		}
	}
	op.Responses.at("default").Ref = refError
	return op
}

// aboutRoles lists roles, and admin, which includes all of them.
func aboutRoles(roles []penstock.Role) string {
	var words []string
	for _, r := range slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(roles), penstock.RoleAdmin)))) {
		words = append(words, "`"+string(r)+"`")
	}
	return strings.Join(words, ", ")
}

func bodyType(rt *Route) string {
	if rt.Form {
		return TypeForm
	}
	return TypeJSON
}

// addAnswer adds a successful answer. Answers with one status are one response of several media types.
func addAnswer(op *Operation, a Answer, set *schemaSet) {
	r := op.Responses.at(strconv.Itoa(a.Status))
	r.Description = strings.TrimSpace(r.Description + " " + a.About)
	*r.Headers.at("x-request-id") = requestIDHeader
	mediaType := a.Type
	if mediaType == "" {
		mediaType = TypeJSON
	}
	var m docMedia
	if a.Body != nil {
		content := set.of(reflect.TypeOf(a.Body), answered)
		if mediaType != TypeJSON {
			content.Description = "One entry; the answer is a sequence of them."
		}
		m.Schema = &content
	}
	if before := r.Content.at(mediaType).Schema; before != nil && m.Schema != nil {
		m.Schema = &Schema{AnyOf: []Schema{*before, *m.Schema}} // one or the other dialect
	}
	m.Example = a.Example
	*r.Content.at(mediaType) = m
}

var requestIDHeader = docHeader{Description: "The id of this call, req_….", Schema: Schema{Type: "string"}}

var limitWaitHeader = docHeader{Description: "The milliseconds that the call waited because of its caller's limits. Absent if the call did not wait.", Schema: Schema{Type: "integer"}}

// errorResponse is the error answer of every route.
func errorResponse(set *schemaSet) docResponse {
	content := set.of(reflect.TypeFor[ErrorView](), answered)
	return docResponse{
		Description: "An error. All errors have this envelope. The codes by status:\n\n" + aboutCodes() +
			"\n\nAfter a code with an asterisk, the same call may succeed if it is sent again. 429 means that the caller has reached a limit of its own, 503 that Penstock or its upstreams cannot serve the call now. " +
			"In Anthropic's dialect the envelope also has `type: error` and the `request_id`, and `error.type` is one of Anthropic's.",
		Headers: ordered[docHeader]{
			{"x-request-id", requestIDHeader},
			{"x-should-retry", docHeader{"Whether the same call may succeed if it is sent again.", Schema{Type: "boolean"}}},
			{"Retry-After", docHeader{"Seconds to wait before the same call is sent again. Always present with 429 and 503, unless x-should-retry is false. After a 429 for a limit per minute, Penstock keeps a place for the key until that time if the message says so.", Schema{Type: "integer"}}},
			{"retry-after-ms", docHeader{"The same in milliseconds.", Schema{Type: "integer"}}},
		},
		Content: ordered[docMedia]{{TypeJSON, docMedia{Schema: &content}}},
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

func paramSchema(p Param, set *schemaSet) Schema {
	t, ok := set.params[p.Name]
	if p.Type != nil {
		t, ok = p.Type, true
	}
	if !ok {
		t = reflect.TypeFor[string]()
	}
	return set.of(t, sent)
}

// tagOf returns the group of a route: the first segment after /v1/, admin for the admin API, auth, or process.
func tagOf(path string) string {
	if strings.HasPrefix(path, "/admin/") {
		return "admin"
	}
	if strings.HasPrefix(path, "/auth/") {
		return "auth"
	}
	rest, ok := strings.CutPrefix(path, "/v1/")
	if !ok {
		return "process"
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// operationID names an operation for generated clients: GET /v1/jobs/{id}/results is getJobResults. It depends only on
// the method and the path, so it changes only if the route changes.
func operationID(method, path string) string {
	var words []string
	for segment := range strings.SplitSeq(strings.Replace(path, "/v1", "", 1), "/") {
		if strings.HasPrefix(segment, "{") { // a path parameter: the noun before it loses its plural
			last := &words[len(words)-1]
			*last = strings.TrimSuffix(*last, "s")
			if stem, ok := strings.CutSuffix(*last, "che"); ok { // batches
				*last = stem + "ch"
			}
			continue
		}
		words = append(words, strings.FieldsFunc(segment, func(r rune) bool { return r < 'a' || r > 'z' })...)
	}
	id := strings.ToLower(method)
	for _, w := range words {
		id += upperFirst(w)
	}
	return id
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
