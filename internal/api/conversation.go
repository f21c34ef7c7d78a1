package api

import (
	"fmt"
	"net/http"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"penstock"
	"penstock/internal/conversation"
	"penstock/internal/dialect/openai"
	"penstock/internal/rest"
	"penstock/internal/store"
)

var (
	conversationParam = rest.Param{Name: "id", In: "path", About: "The conversation's id, conv_….", Required: true}
	itemIDParam       = rest.Param{Name: "item", In: "path", About: "The item's id.", Required: true}
	itemPageParams    = []rest.Param{{Name: "limit", In: "query", About: "The most items in a page: 1 to 100, 20 when not given."},
		{Name: "after", In: "query", About: "The last id of the previous page."},
		{Name: "order", In: "query", About: "desc for the newest first, which is the default, or asc.", Type: reflect.TypeFor[store.Direction]()}}
	auditConversation = rest.Audit{None: "The conversation and its items are the record."}
)

// conversationRoutes are the routes of conversations, in OpenAI's dialect.
var conversationRoutes = []rest.Route{
	{Method: "POST", Path: "/v1/conversations", Audit: auditConversation, Scope: penstock.ScopeInference, Summary: "Begin a conversation, to which responses add their items",
		Body: conversationCreate{}, NoBody: true, Answers: []rest.Answer{{Status: 200, About: "The conversation.", Body: conversationView{}}}, Serve: on(conversations.create)},
	{Method: "GET", Path: "/v1/conversations/{id}", Scope: penstock.ScopeInference, Summary: "Read a conversation", Params: []rest.Param{conversationParam},
		Answers: []rest.Answer{{Status: 200, About: "The conversation.", Body: conversationView{}}}, Serve: on(conversations.read)},
	{Method: "POST", Path: "/v1/conversations/{id}", Audit: auditConversation, Scope: penstock.ScopeInference, Summary: "Replace the metadata of a conversation",
		Params: []rest.Param{conversationParam}, Body: conversationUpdate{}, Answers: []rest.Answer{{Status: 200, About: "The conversation.", Body: conversationView{}}}, Serve: on(conversations.update)},
	{Method: "DELETE", Path: "/v1/conversations/{id}", Audit: rest.Audit{Action: conversation.ActionDeleteConversation}, Scope: penstock.ScopeInference, Summary: "Delete a conversation with its items",
		Params: []rest.Param{conversationParam}, Answers: []rest.Answer{{Status: 200, About: "The conversation is deleted. Its responses are not.", Body: deletedView{}}}, Serve: on(conversations.remove)},
	{Method: "GET", Path: "/v1/conversations/{id}/items", Payload: rest.PayloadAlways, Scope: penstock.ScopeInference, Summary: "List the items of a conversation",
		Params:  append([]rest.Param{conversationParam}, itemPageParams...),
		Answers: []rest.Answer{{Status: 200, About: "A page of items.", Body: itemListView{}}}, Serve: on(conversations.listItems)},
	{Method: "POST", Path: "/v1/conversations/{id}/items", Audit: auditConversation, Scope: penstock.ScopeInference, Summary: "Add items to a conversation, at most 20 at a time",
		Params: []rest.Param{conversationParam}, Body: itemsCreate{}, Answers: []rest.Answer{{Status: 200, About: "The items, with their ids.", Body: itemListView{}}}, Serve: on(conversations.addItems)},
	{Method: "GET", Path: "/v1/conversations/{id}/items/{item}", Payload: rest.PayloadAlways, Scope: penstock.ScopeInference, Summary: "Read an item of a conversation",
		Params: []rest.Param{conversationParam, itemIDParam}, Answers: []rest.Answer{{Status: 200, About: "The item.", Body: rest.AnyObject{}}}, Serve: on(conversations.readItem)},
	{Method: "DELETE", Path: "/v1/conversations/{id}/items/{item}", Audit: auditConversation, Scope: penstock.ScopeInference, Summary: "Delete an item of a conversation",
		Params: []rest.Param{conversationParam, itemIDParam}, Answers: []rest.Answer{{Status: 200, About: "The conversation without the item.", Body: conversationView{}}}, Serve: on(conversations.removeItem)},
}

// conversationView is a conversation in OpenAI's format.
type conversationView struct {
	ID        string            `json:"id"`
	Object    string            `json:"object"`
	CreatedAt int64             `json:"created_at"`
	Metadata  map[string]string `json:"metadata"`
}

func newConversationView(c conversation.Conversation) conversationView {
	v := conversationView{ID: conversation.ViewConversation.Format(c.ID), Object: "conversation", CreatedAt: c.CreatedAt.Unix(), Metadata: c.Metadata}
	if v.Metadata == nil {
		v.Metadata = map[string]string{}
	}
	return v
}

type conversationCreate struct {
	Items    []jsontext.Value  `json:"items" about:"The first items, at most 20."`
	Metadata map[string]string `json:"metadata" about:"At most 16 entries."`
}

type conversationUpdate struct {
	Metadata map[string]string `json:"metadata" about:"At most 16 entries. It replaces the metadata."`
}

type itemsCreate struct {
	Items []jsontext.Value `json:"items" about:"1 to 20 items, as in the input of a response."`
}

// decodeBody reads the body of a call about conversations.
func (c conversations) decodeBody(into any) error {
	text, err := c.readBody()
	if err != nil {
		return err
	}
	return rest.Decode(text, into)
}

func (c conversations) create() error {
	var body conversationCreate
	if c.R.ContentLength != 0 {
		if err := c.decodeBody(&body); err != nil {
			return err
		}
	}
	items, err := c.newItems(body.Items)
	if err != nil {
		return err
	}
	made, err := c.Conversations.Create(c.R.Context(), c.Principal, conversation.Conversation{Metadata: body.Metadata}, items)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newConversationView(made))
}

// newItems reads items that a caller adds. References are resolved, so that the conversation has all it needs. Codes:
// invalid_request, not_found.
func (c conversations) newItems(sent []jsontext.Value) ([]conversation.Item, error) {
	sent, err := responses(c).resolve("items", sent)
	if err != nil {
		return nil, err
	}
	items := make([]conversation.Item, len(sent))
	for i, item := range sent {
		if problem := openai.CheckItem(item); problem != "" {
			param := fmt.Sprintf("items[%d]", i)
			return nil, penstock.InvalidParam(param, "%s %s", param, problem)
		}
		items[i] = conversation.Item{ID: openai.ItemID(item), Body: item}
	}
	return items, nil
}

// found returns the conversation that the path names. Codes: not_found.
func (c conversations) found() (conversation.Conversation, error) {
	id, err := c.PathID(conversation.ViewConversation)
	if err != nil {
		return conversation.Conversation{}, err
	}
	return c.Conversations.Conversations.Conversation(c.R.Context(), c.Principal.Tenant.ID, id)
}

func (c conversations) read() error {
	found, err := c.found()
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newConversationView(found))
}

func (c conversations) update() error {
	found, err := c.found() // before its body: to a stranger it does not exist
	if err != nil {
		return err
	}
	var body conversationUpdate
	if err := c.decodeBody(&body); err != nil {
		return err
	}
	updated, err := c.Conversations.Update(c.R.Context(), c.Principal, conversation.Conversation{ID: found.ID, Metadata: body.Metadata})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newConversationView(updated))
}

func (c conversations) remove() error {
	id, err := c.PathID(conversation.ViewConversation)
	if err != nil {
		return err
	}
	if err := c.Conversations.Conversations.Delete(c.R.Context(), c.Principal.Tenant.ID, conversation.Removal{ID: id, Actor: c.Principal.Actor()}); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, deletedView{ID: conversation.ViewConversation.Format(id), Object: "conversation.deleted", Deleted: true})
}

func (c conversations) listItems() error {
	id, err := c.PathID(conversation.ViewConversation)
	if err != nil {
		return err
	}
	page, err := c.itemPage()
	if err != nil {
		return err
	}
	if err := c.settle(id); err != nil {
		return err
	}
	items, err := c.Conversations.Items.ListItems(c.R.Context(), c.Principal.Tenant.ID,
		conversation.ItemPage{Conversation: id, After: page.after, Newest: page.newest, Limit: page.limit + 1})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newItemList(listed(items), page.limit))
}

func listed(items []conversation.Item) []jsontext.Value {
	all := make([]jsontext.Value, len(items))
	for i, item := range items {
		all[i] = openai.ListedItem(item.Body, item.ID)
	}
	return all
}

func (c conversations) addItems() error {
	found, err := c.found()
	if err != nil {
		return err
	}
	var body itemsCreate
	if err := c.decodeBody(&body); err != nil {
		return err
	}
	items, err := c.newItems(body.Items)
	if err != nil {
		return err
	}
	if err := c.settle(found.ID); err != nil {
		return err
	}
	added, err := c.Conversations.AddItems(c.R.Context(), c.Principal, conversation.Addition{Conversation: found.ID, Items: items})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newItemList(listed(added), len(added)))
}

func (c conversations) itemKey() (k conversation.ItemKey, err error) {
	k.Item = c.R.PathValue("item")
	if k.Conversation, err = c.PathID(conversation.ViewConversation); err == nil {
		err = c.settle(k.Conversation)
	}
	return k, err
}

func (c conversations) readItem() error {
	k, err := c.itemKey()
	if err != nil {
		return err
	}
	item, err := c.Conversations.Items.Item(c.R.Context(), c.Principal.Tenant.ID, k)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, openai.ListedItem(item.Body, item.ID))
}

func (c conversations) removeItem() error {
	k, err := c.itemKey()
	if err != nil {
		return err
	}
	changed, err := c.Conversations.Items.DeleteItem(c.R.Context(), c.Principal.Tenant.ID, k)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, newConversationView(changed))
}
