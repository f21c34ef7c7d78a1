package sim

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

// bedrock is the dialect of AWS Bedrock's Converse API.
type bedrock struct{}

// bedrockErrors have the name of the exception in kind.
var bedrockErrors = [classCount]wireError{
	classBadRequest:       {status: 400, kind: "ValidationException"},
	classMissingParameter: {status: 400, kind: "ValidationException"},
	classContextLength:    {status: 400, kind: "ValidationException"},
	classContentFilter:    {status: 400, kind: "ValidationException"},
	classAuth:             {status: 403, kind: "UnrecognizedClientException"},
	classModelNotFound:    {status: 404, kind: "ResourceNotFoundException"},
	classNoRoute:          {status: 404, kind: "UnknownOperationException"},
	classTooLarge:         {status: 413, kind: "RequestEntityTooLargeException"},
	classRequestRate:      {status: 429, kind: "ThrottlingException"},
	classTokenRate:        {status: 429, kind: "ThrottlingException"},
	classOversized:        {status: 429, kind: "ThrottlingException"},
	classForbidden:        {status: 403},
	classQuota:            {status: 400, kind: "ServiceQuotaExceededException"},
	classServerError:      {status: 500, kind: "InternalServerException"},
	classOverloaded:       {status: 503, kind: "ServiceUnavailableException"},
}

type bedrockEnvelope struct {
	Type    string `json:"__type"`
	Message string `json:"message"`
}

// check accepts a Bedrock API key, and a signature by an access key. The key to ask for is the API key, or the id of the access key.
// Signatures are not verified: their secret is not known here.
func (bedrock) check(h http.Header, key string) error {
	scheme, credentials, _ := strings.Cut(h.Get("Authorization"), " ")
	presented := credentials
	if scheme == "AWS4-HMAC-SHA256" {
		_, rest, _ := strings.Cut(credentials, "Credential=")
		scope, _, _ := strings.Cut(rest, ",")
		parts := strings.Split(scope, "/")
		if len(parts) != 5 || parts[3] != "bedrock" || parts[4] != "aws4_request" || !strings.Contains(credentials, "Signature=") || h.Get("X-Amz-Date") == "" {
			return &failure{class: classAuth, message: "The request signature does not conform to AWS standards."}
		}
		presented = parts[0]
	}
	if presented == "" || (key != "" && presented != key) {
		return &failure{class: classAuth, message: "The security token included in the request is invalid."}
	}
	return nil
}

func (bedrock) requestIDHeader() string { return "x-amzn-RequestId" }

func (bedrock) describe(f *failure, _ string) (int, []byte) {
	wire := bedrockErrors[f.class]
	message := f.message
	switch f.class {
	case classContextLength:
		message = "Input is too long for requested model."
	case classContentFilter:
		message = "The prompt was blocked by the content filter."
	}
	return wire.status, encode(bedrockEnvelope{Type: wire.kind, Message: message})
}

// errorEvent is an exception. Its name is in lower camel case here.
func (bedrock) errorEvent(f *failure, _ string) []byte {
	name := bedrockErrors[f.class].kind
	return streamMessage("exception", strings.ToLower(name[:1])+name[1:], encode(struct {
		Message string `json:"message"`
	}{f.message}))
}

// setLimits sets no limits: the service reports none.
func (bedrock) setLimits(h http.Header, _ quota, retryAfter time.Duration) {
	if retryAfter > 0 {
		h.Set("retry-after", wholeSeconds(retryAfter))
	}
}

// streamType implements [framed].
func (bedrock) streamType() string { return "application/vnd.amazon.eventstream" }

// breakEvent implements [framed]: the JSON of a message is cut in half, and the message itself stays well formed.
func (bedrock) breakEvent(event []byte) []byte {
	m, err := eventstream.NewDecoder().Decode(bytes.NewReader(event), nil)
	if err != nil {
		panic("sim: decode an event of its own: " + err.Error())
	}
	return streamMessage("event", m.Headers.Get(":event-type").String(), m.Payload[:len(m.Payload)/2])
}

// streamMessage is a message of AWS's binary event stream.
func streamMessage(kind, name string, payload []byte) []byte {
	m := eventstream.Message{Payload: payload}
	m.Headers.Set(":"+kind+"-type", eventstream.StringValue(name))
	m.Headers.Set(":content-type", eventstream.StringValue("application/json"))
	m.Headers.Set(":message-type", eventstream.StringValue(kind))
	var b bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&b, m); err != nil {
		panic("sim: encode an event: " + err.Error())
	}
	return b.Bytes()
}
