package line

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/body"
)

// maxMessageBatch bounds the requests of a message batch, as Anthropic does.
const maxMessageBatch = 100_000

var messageCustomID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// MessageBatchRequest is one request of a message batch.
type MessageBatchRequest struct {
	CustomID string         `json:"custom_id" required:"true" about:"1 to 64 characters out of A-Z, a-z, 0-9, _ and -; unique in the batch."`
	Params   jsontext.Value `json:"params" required:"true" about:"A body of POST /v1/messages."`
}

// maxBatchModels is how many models the requests of one batch may name: it has a job for each.
const maxBatchModels = 16

// ModelOf is the model that a body names, "" for none. Admission refuses such a body.
func ModelOf(text []byte) string {
	o, err := body.Scan(text)
	if err != nil {
		return ""
	}
	model, err := o.String("model")
	if err != nil {
		return ""
	}
	return model
}

// CopyRequests writes the requests of a body as lines, one at a time. It returns the models that they name, in the order of their
// first request. Codes: invalid_request, too_large.
func CopyRequests(sent io.Reader, out io.Writer) (models []string, err error) {
	dec := jsontext.NewDecoder(sent)
	if err := seekRequests(dec); err != nil {
		return nil, err
	}
	n := 0
	for ; dec.PeekKind() != ']'; n++ {
		if n == maxMessageBatch {
			return nil, penstock.Errorf(penstock.CodeTooLarge, "A batch has at most %d requests; split it.", maxMessageBatch)
		}
		var r MessageBatchRequest
		if err := json.UnmarshalDecode(dec, &r, json.RejectUnknownMembers(true)); err != nil {
			return nil, unreadableRequest(err, n)
		}
		if err := r.check(n); err != nil {
			return nil, err
		}
		model := ModelOf(r.Params)
		if model == "" {
			return nil, penstock.InvalidParam(fmt.Sprintf("requests.%d.params.model", n), "requests.%d.params.model is missing, or is no string.", n)
		}
		if !slices.Contains(models, model) {
			if models = append(models, model); len(models) > maxBatchModels {
				return nil, penstock.InvalidParam(fmt.Sprintf("requests.%d.params.model", n), "requests.%d.params.model is the %dth model of the batch; %d are the most: split it.",
					n, len(models), maxBatchModels)
			}
		}
		if _, err := fmt.Fprintf(out, `{"custom_id":%q,"body":%s}`+"\n", r.CustomID, r.Params); err != nil {
			return nil, err
		}
	}
	if n == 0 {
		return nil, penstock.InvalidParam("requests", "requests is empty; send at least one.")
	}
	for _, want := range []jsontext.Kind{']', '}'} { // so that a body that was cut off is no batch, nor one that says more
		token, err := dec.ReadToken()
		if err != nil {
			return nil, unreadableRequest(err, n)
		}
		if token.Kind() != want {
			return nil, errOnlyRequests()
		}
	}
	return models, nil
}

// check validates a request, and puts its params on one line.
func (r *MessageBatchRequest) check(n int) error {
	if !messageCustomID.MatchString(r.CustomID) {
		return penstock.InvalidParam(fmt.Sprintf("requests.%d.custom_id", n), "requests.%d.custom_id must be 1 to 64 characters out of A-Z, a-z, 0-9, _ and -.", n)
	}
	if r.Params.Kind() != '{' {
		return penstock.InvalidParam(fmt.Sprintf("requests.%d.params", n), "requests.%d.params must be an object.", n)
	}
	if err := r.Params.Compact(); err != nil {
		return unreadableRequest(err, n)
	}
	return nil
}

// seekRequests goes to the first request.
func seekRequests(dec *jsontext.Decoder) error {
	for _, want := range []jsontext.Kind{'{', '"', '['} {
		token, err := dec.ReadToken()
		if err != nil {
			return unreadableRequest(err, 0)
		}
		if token.Kind() != want || want == '"' && token.String() != "requests" {
			return errOnlyRequests()
		}
	}
	return nil
}

func errOnlyRequests() error {
	return penstock.InvalidParam("requests", "The body must be an object whose only member is requests, a list.")
}

func unreadableRequest(err error, n int) error {
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return err
	}
	if _, ours := errors.AsType[*penstock.Error](err); ours {
		return err
	}
	if e, ok := errors.AsType[*json.SemanticError](err); ok && errors.Is(err, json.ErrUnknownName) {
		name := fmt.Sprintf("requests.%d.%s", n, clip(e.JSONPointer.LastToken()))
		return penstock.InvalidParam(name, "%s is not known here; a request has custom_id and params.", name)
	}
	return &penstock.Error{Code: penstock.CodeInvalidRequest, Param: fmt.Sprintf("requests.%d", n), Err: err,
		Message: fmt.Sprintf("The body could not be read to its end: requests.%d is not as it should be.", n)}
}

// clip shortens a text of the caller before an error repeats it.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "")
}
