package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A cell is one feature of one client on one kind of target. TestSDKMatrix plays all cells but the excluded ones: all of them take
// seconds. If cells have to be left out one day, the rule is that pairs stay: TestSDKMatrixIsPairwise names a pair that no cell plays.
type cell struct {
	client, feature, target string // target is empty for a feature that calls no target
}

func (c cell) String() string { return c.client + "|" + c.feature + "|" + c.target }

// matrixClient is a client, used in one way.
type matrixClient struct {
	name   string
	script string   // in sdk/matrix, or goClients
	uses   []string // packages of Node or modules of Go
	way    string   // how it is used, if there are several ways
	set    string   // how it finds the server
}

const (
	openaiSettings    = "`OPENAI_BASE_URL` ends with `/v1`; `OPENAI_API_KEY`"
	anthropicSettings = "`ANTHROPIC_BASE_URL` has no `/v1`; `ANTHROPIC_API_KEY`"
	agentsSettings    = openaiSettings + ". Call `setTracingDisabled(true)`: the SDK sends traces, with this key, to OpenAI"
)

var matrixClients = []matrixClient{
	{name: "openai", script: "openai", uses: []string{"openai"}, set: openaiSettings},
	{name: "@anthropic-ai/sdk", script: "anthropic", uses: []string{"@anthropic-ai/sdk"}, set: anthropicSettings},
	{name: "@ai-sdk/openai", script: "vercel", uses: []string{"ai", "@ai-sdk/openai"}, way: "over responses", set: openaiSettings},
	{name: "@ai-sdk/openai, chat", script: "vercel", uses: []string{"ai", "@ai-sdk/openai"}, way: "over chat completions", set: openaiSettings},
	{name: "@ai-sdk/anthropic", script: "vercel", uses: []string{"ai", "@ai-sdk/anthropic"}, set: "`createAnthropic({ baseURL })` with `/v1` at the end; `ANTHROPIC_API_KEY`"},
	{name: "@langchain/openai", script: "langchain", uses: []string{"@langchain/core", "@langchain/openai"}, way: "over chat completions; multi-turn responses over responses", set: openaiSettings},
	{name: "@openai/agents", script: "agents", uses: []string{"@openai/agents"}, way: "over responses", set: agentsSettings},
	{name: "@openai/agents, chat", script: "agents", uses: []string{"@openai/agents"}, way: "over chat completions", set: agentsSettings},
	{name: "openai-go", script: goClients, uses: []string{"github.com/openai/openai-go/v3"}, set: openaiSettings},
	{name: "anthropic-sdk-go", script: goClients, uses: []string{"github.com/anthropics/anthropic-sdk-go"}, set: anthropicSettings},
}

// matrixTarget is a kind of target, by the name of its model on the server of stageDialects.
type matrixTarget struct{ model, initial, name string }

var matrixTargets = []matrixTarget{
	{"chats", "O", "OpenAI: chat completions, responses, embeddings"},
	{"claude", "A", "Anthropic: messages"},
	{"gemini", "G", "Google Gemini's API"},
	{"bedrock", "B", "AWS Bedrock's Converse API"},
	{"chat-only", "C", "a server that is compatible with OpenAI and has no responses (the preset `together`)"},
}

// matrixFeature is a feature, with the statement that its cells prove.
type matrixFeature struct {
	name, title, proves string
	local               bool // served by Penstock itself: there is one cell for each client
}

var matrixFeatures = []matrixFeature{
	{name: "chat", title: "chat", proves: "A question with a system prompt gets a text, a finish reason and usage."},
	{name: "stream", title: "stream", proves: "The stream has several chunks. Their text and usage equal those of the plain answer."},
	{name: "tools", title: "parallel tools", proves: "The model calls two tools in one turn, with arguments that fit their schemas, plain and streamed. After the results of the tools, the model answers."},
	{name: "structured", title: "structured output", proves: "The client's helper for schemas sends a schema and parses an answer that fits the schema. Agents also hand over to another agent."},
	{name: "images", title: "images", proves: "The target gets all bytes of an image in the request."},
	{name: "image_addresses", title: "images by URL", proves: "The target gets the URL of an image."},
	{name: "responses", title: "multi-turn responses", proves: "Turns continue with `previous_response_id`, with tool calls and their results. The target gets the earlier turns with each turn."},
	{name: "embeddings", title: "embeddings", proves: "Two texts get two vectors of the requested size."},
	{name: "files", title: "files", proves: "A file is uploaded, listed, read, downloaded and deleted.", local: true},
	{name: "batches", title: "batches", proves: "A batch of two requests ends: one request succeeds, and the other has the expected error."},
}

// exclusion is cells that are not played because they cannot be. An empty field stands for all.
type exclusion struct {
	client, feature, target string
	reason                  string
}

const (
	noResponses  = "The client has no responses API."
	noEmbeddings = "The client has no embeddings API."
	noFiles      = "The client has no API for files."
	noBatches    = "The client has no API for batches."
	claudeFiles  = "Anthropic's Files API is in beta. Another test runs it with this vendor's SDK for Node (`client.beta.files`)."
)

var matrixExclusions = []exclusion{
	{feature: "image_addresses", target: "bedrock", reason: "Bedrock's Converse API takes images only as bytes. Penstock refuses the call, with this reason."},
	{feature: "embeddings", target: "claude", reason: "Anthropic has no embeddings API."},
	{feature: "embeddings", target: "bedrock", reason: "Bedrock's Converse API has no embeddings."},
	{client: "@anthropic-ai/sdk", feature: "responses", reason: noResponses},
	{client: "@anthropic-ai/sdk", feature: "embeddings", reason: noEmbeddings},
	{client: "@anthropic-ai/sdk", feature: "files", reason: claudeFiles},
	{client: "anthropic-sdk-go", feature: "responses", reason: noResponses},
	{client: "anthropic-sdk-go", feature: "embeddings", reason: noEmbeddings},
	{client: "anthropic-sdk-go", feature: "files", reason: claudeFiles},
	{client: "@ai-sdk/openai", feature: "files", reason: noFiles},
	{client: "@ai-sdk/openai", feature: "batches", reason: noBatches},
	{client: "@ai-sdk/openai, chat", feature: "responses", reason: "Chat completions keep no turns on the server."},
	{client: "@ai-sdk/openai, chat", feature: "embeddings", reason: "The row `@ai-sdk/openai` runs the same calls."},
	{client: "@ai-sdk/openai, chat", feature: "files", reason: noFiles},
	{client: "@ai-sdk/openai, chat", feature: "batches", reason: noBatches},
	{client: "@ai-sdk/anthropic", feature: "responses", reason: noResponses},
	{client: "@ai-sdk/anthropic", feature: "embeddings", reason: noEmbeddings},
	{client: "@ai-sdk/anthropic", feature: "files", reason: noFiles},
	{client: "@ai-sdk/anthropic", feature: "batches", reason: noBatches},
	{client: "@langchain/openai", feature: "files", reason: noFiles},
	{client: "@langchain/openai", feature: "batches", reason: "The client's `batch` sends single calls in parallel. The column chat covers them."},
	{client: "@openai/agents", feature: "embeddings", reason: noEmbeddings},
	{client: "@openai/agents", feature: "files", reason: noFiles},
	{client: "@openai/agents", feature: "batches", reason: noBatches},
	{client: "@openai/agents, chat", feature: "responses", reason: "Chat completions keep no turns on the server."},
	{client: "@openai/agents, chat", feature: "embeddings", reason: noEmbeddings},
	{client: "@openai/agents, chat", feature: "files", reason: noFiles},
	{client: "@openai/agents, chat", feature: "batches", reason: noBatches},
}

// excludes reports whether the exclusion says that none of the cells with these fields can be played. An empty field stands for all.
func (e exclusion) excludes(c cell) bool {
	covers := func(excluded, field string) bool { return excluded == "" || excluded == field }
	return covers(e.client, c.client) && covers(e.feature, c.feature) && covers(e.target, c.target)
}

func excluded(c cell) bool {
	return slices.ContainsFunc(matrixExclusions, func(e exclusion) bool { return e.excludes(c) })
}

// plannedCells are the cells that TestSDKMatrix plays.
func plannedCells() (planned []cell) {
	for _, c := range matrixClients {
		for _, f := range matrixFeatures {
			targets := matrixTargets
			if f.local {
				targets = []matrixTarget{{}}
			}
			for _, target := range targets {
				if one := (cell{c.name, f.name, target.model}); !excluded(one) {
					planned = append(planned, one)
				}
			}
		}
	}
	return planned
}

// missingPairs names the pairs that no cell of a plan has, unless an exclusion is about the pair itself.
// An exclusion of a single cell excuses no pair.
func missingPairs(plan []cell) (missing []string) {
	need := func(pair cell) {
		has := func(c cell) bool {
			return (pair.client == "" || pair.client == c.client) && (pair.feature == "" || pair.feature == c.feature) && (pair.target == "" || pair.target == c.target)
		}
		if !slices.ContainsFunc(plan, has) && !excluded(pair) {
			missing = append(missing, pair.String())
		}
	}
	for _, c := range matrixClients {
		for _, f := range matrixFeatures {
			need(cell{client: c.name, feature: f.name})
		}
		for _, target := range matrixTargets {
			need(cell{client: c.name, target: target.model})
		}
	}
	for _, f := range matrixFeatures {
		for _, target := range matrixTargets {
			if !f.local {
				need(cell{feature: f.name, target: target.model})
			}
		}
	}
	return missing
}

func TestSDKMatrixIsPairwise(t *testing.T) {
	t.Parallel()
	for _, pair := range missingPairs(plannedCells()) {
		t.Errorf("no cell plays the pair %s, and no exclusion gives a reason for it", pair)
	}
	for _, e := range matrixExclusions {
		if e.reason == "" || !strings.HasSuffix(e.reason, ".") {
			t.Errorf("the exclusion %+v has no sentence for its reason", e)
		}
		if !e.knownFields() {
			t.Errorf("the exclusion %+v names a client, feature or target that does not exist", e)
		}
	}
}

// knownFields reports whether an exclusion names clients, features and targets of the matrix.
func (e exclusion) knownFields() bool {
	return (e.client == "" || slices.ContainsFunc(matrixClients, func(c matrixClient) bool { return c.name == e.client })) &&
		(e.feature == "" || slices.ContainsFunc(matrixFeatures, func(f matrixFeature) bool { return f.name == e.feature })) &&
		(e.target == "" || slices.ContainsFunc(matrixTargets, func(m matrixTarget) bool { return m.model == e.target }))
}

// A check that cannot fail proves nothing: each pair whose cells are taken from the plan is named.
func TestSDKMatrixNamesMissingPairs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		left cell
		want string
	}{
		{cell{client: "openai-go", feature: "tools"}, "openai-go|tools|"},
		{cell{client: "@langchain/openai", target: "gemini"}, "@langchain/openai||gemini"},
		{cell{feature: "batches", target: "bedrock"}, "|batches|bedrock"},
	} {
		plan := slices.DeleteFunc(plannedCells(), func(c cell) bool { return exclusion{tt.left.client, tt.left.feature, tt.left.target, ""}.excludes(c) })
		if got := missingPairs(plan); fmt.Sprint(got) != fmt.Sprint([]string{tt.want}) {
			t.Errorf("without %s the missing pairs are %q", tt.want, got)
		}
	}
}
