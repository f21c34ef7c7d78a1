package penstock

import "slices"

// Lane is the urgency of work.
type Lane string

// The lanes, most urgent first.
const (
	LaneRealtime Lane = "realtime"
	LaneStandard Lane = "standard"
	LaneBulk     Lane = "bulk"
)

// Lanes lists every lane, most urgent first.
var Lanes = []Lane{LaneRealtime, LaneStandard, LaneBulk}

// Valid reports whether l is one of the lanes.
func (l Lane) Valid() bool { return l == LaneRealtime || l == LaneStandard || l == LaneBulk }

// Endpoint is the path of a compatible API; it names the dialect of an inference's body.
type Endpoint string

// The endpoints that inferences can be addressed to.
const (
	EndpointChat        Endpoint = "/v1/chat/completions"
	EndpointCompletions Endpoint = "/v1/completions"
	EndpointEmbeddings  Endpoint = "/v1/embeddings"
	EndpointResponses   Endpoint = "/v1/responses"
	EndpointMessages    Endpoint = "/v1/messages"
	EndpointRerank      Endpoint = "/v1/rerank"
)

// EndpointCountTokens counts the tokens of a message. It is not an inference, so a job cannot name it, and Endpoints
// does not list it.
const EndpointCountTokens = "/v1/messages/count_tokens"

// The endpoints that only upstreams have. No caller can use them: calls are translated to them. Like EndpointCountTokens they
// are no endpoints of jobs.
const (
	EndpointGenerate      = "gemini:generateContent"
	EndpointEmbedContents = "gemini:batchEmbedContents"
	EndpointCountContents = "gemini:countTokens"
	EndpointConverse      = "bedrock:converse"
	// EndpointRank is reranking as servers have it under a path of that name: documents are strings, and no document comes back.
	EndpointRank = "/rerank"
)

// TargetEndpoints lists every endpoint that a call can be sent to, those that only upstreams have last.
var TargetEndpoints = append(slices.Clone(Endpoints), EndpointGenerate, EndpointEmbedContents, EndpointCountContents, EndpointConverse, EndpointRank)

// Endpoints lists every endpoint that a job may name.
var Endpoints = []Endpoint{EndpointChat, EndpointCompletions, EndpointEmbeddings, EndpointResponses, EndpointMessages, EndpointRerank}

// Valid reports whether e can be served.
func (e Endpoint) Valid() bool { return slices.Contains(Endpoints, e) }
