package api

import (
	"github.com/go-json-experiment/json/jsontext"

	"penstock/internal/conversation"
)

// conversationSamples are answers about stored responses and conversations.
func conversationSamples() []any {
	c := conversation.Conversation{ID: "01JQ0000000000000000000000", Metadata: map[string]string{"topic": "milk"}, CreatedAt: sampleTime, UpdatedAt: sampleTime}
	items := listed([]conversation.Item{{ID: "msg_1", Body: []byte(`{"role":"user","content":"Hi"}`)}})
	return []any{
		newConversationView(c), newConversationView(conversation.Conversation{}),
		newItemList(items, 1), newItemList([]jsontext.Value{}, 1),
		inputTokensView{Object: "response.input_tokens", InputTokens: 7},
	}
}
