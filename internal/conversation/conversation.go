// Package conversation keeps what callers of OpenAI's Responses said and were answered: the responses of synchronous calls, so
// that a later call can continue one, and conversations, which grow by a turn with every response.
//
// It owns the bounds of both, the order of writes behind answers ([Service.Keep]), and who sees what: every method takes the
// tenant, and answers not_found for an object of another tenant. It does not read bodies: package dialect/openai does. Responses
// that run in the background are jobs, and not here, except for their turns of conversations ([JobTurn]).
//
// Invariants:
//   - A response that Keep accepted is on stable storage, together with its turn of a conversation, or neither is.
//   - The items of a turn follow each other in their conversation. Turns that ran at the same time follow in the order of their ends.
//   - What waits to be written is bounded. Beyond the bound nothing waits: the caller is told that the response is not kept.
//
// A Service is safe for concurrent use.
package conversation

import (
	"context"
	"log/slog"
	"time"

	"penstock"
)

const (
	// MaxItems bounds a conversation. A turn that began below the bound is added whole.
	MaxItems = 10_000
	// MaxNewItems bounds the items that one call adds, and those that a conversation begins with.
	MaxNewItems = 20
	// MaxMetadata, MaxMetadataKey and MaxMetadataValue bound the metadata of a conversation.
	MaxMetadata, MaxMetadataKey, MaxMetadataValue = 16, 64, 512

	// ViewConversation is the prefix of the ids of conversations.
	ViewConversation penstock.View = "conv"
)

// The audited actions.
const (
	ActionDeleteResponse     = "response.delete"
	ActionDeleteConversation = "conversation.delete"
)

// Response is a response that is kept.
type Response struct {
	ID        penstock.ID
	Input     []byte // the items that the model was given: a JSON list, or a string
	Object    []byte // the response as its caller got it
	CreatedAt time.Time
}

// Turn is a response that was answered and is to be kept.
type Turn struct {
	Tenant penstock.TenantID
	ID     penstock.ID // of the response
	Kept   bool        // the response can be read and continued; otherwise only its conversation grows
	Input  []byte
	Object []byte
	Output []string // the ids of the items of the output, "" for an item without one

	Conversation penstock.ID // that the turn belongs to, "" for none
	Items        []Item      // that the turn adds to it
	StoredLimit  int64       // the tenant's quota, 0 for none
}

// bytes is what the turn takes in memory, and about what it will take in the store.
func (t *Turn) bytes() int64 {
	n := int64(len(t.Input) + len(t.Object))
	for i := range t.Items {
		n += int64(len(t.Items[i].Body))
	}
	return n
}

// Item is a message, a call of a tool or its result.
type Item struct {
	ID   string
	Body []byte // JSON; its own id does not count
}

// Conversation is a list of items that responses add to.
type Conversation struct {
	ID        penstock.ID
	Tenant    penstock.TenantID
	Metadata  map[string]string
	Items     int64 // how many it has
	CreatedAt time.Time
	UpdatedAt time.Time
}

// ItemPage selects items of a conversation.
type ItemPage struct {
	Conversation penstock.ID
	After        string // the id of the last item of the page before, "" for the first page
	Newest       bool   // newest first
	Limit        int
}

// Removal is an object that a key deletes.
type Removal struct {
	ID    penstock.ID
	Actor string
}

// Purge bounds a step of retention.
type Purge struct {
	Kept  time.Duration // how long objects are kept
	Limit int           // the most that one step removes
}

// Purged is the result of a step.
type Purged struct {
	Removed int
	More    bool          // there may be more to remove now
	Overdue time.Duration // how long ago the oldest should have been removed
}

// Responses is the storage of responses.
type Responses interface {
	// SaveTurns keeps turns, all or none. A conversation that was deleted meanwhile does not grow. Codes: quota_exceeded.
	SaveTurns(ctx context.Context, turns []Turn) error
	// Response finds a response. Codes: not_found.
	Response(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (Response, error)
	// DeleteResponse removes a response, with an audit entry. Codes: not_found.
	DeleteResponse(ctx context.Context, tenant penstock.TenantID, r Removal) error
	// Outputs finds responses with one of these items in their output, and items of conversations. Ids that nothing has are left
	// out.
	Outputs(ctx context.Context, tenant penstock.TenantID, ids []string) (Outputs, error)
	// PurgeResponses removes responses that are older than p.Kept.
	PurgeResponses(ctx context.Context, tenant penstock.TenantID, p Purge) (Purged, error)
}

// Outputs are items that were found by their ids.
type Outputs struct {
	Items     map[string][]byte   // bodies of items of conversations
	Positions map[string]Position // of items in the output of responses
	Objects   map[penstock.ID][]byte
}

// Position is the place of an item in the output of a response.
type Position struct {
	Response penstock.ID
	Index    int
}

// Conversations is the storage of conversations.
type Conversations interface {
	// Create adds a conversation with its first items. Codes: quota_exceeded.
	Create(ctx context.Context, c Conversation, add Addition) (Conversation, error)
	// Conversation finds a conversation. Codes: not_found.
	Conversation(ctx context.Context, tenant penstock.TenantID, id penstock.ID) (Conversation, error)
	// Update replaces the metadata. Codes: not_found.
	Update(ctx context.Context, c Conversation) (Conversation, error)
	// Delete removes a conversation with its items, with an audit entry. Codes: not_found.
	Delete(ctx context.Context, tenant penstock.TenantID, r Removal) error
	// PurgeConversations removes conversations that did not change for p.Kept.
	PurgeConversations(ctx context.Context, tenant penstock.TenantID, p Purge) (Purged, error)
}

// Addition are items that a caller adds to a conversation.
type Addition struct {
	Conversation penstock.ID
	Items        []Item
	StoredLimit  int64 // the tenant's quota, 0 for none
}

// Items is the storage of the items of conversations.
type Items interface {
	// AddItems adds items at the end of a conversation and returns them with their ids. Codes: not_found, invalid_request (it is
	// full), quota_exceeded.
	AddItems(ctx context.Context, tenant penstock.TenantID, a Addition) ([]Item, error)
	// ListItems returns a page of items. Codes: not_found (the conversation, or the item that the page follows).
	ListItems(ctx context.Context, tenant penstock.TenantID, p ItemPage) ([]Item, error)
	// Item finds an item. Codes: not_found.
	Item(ctx context.Context, tenant penstock.TenantID, k ItemKey) (Item, error)
	// DeleteItem removes an item and returns its conversation. Codes: not_found.
	DeleteItem(ctx context.Context, tenant penstock.TenantID, k ItemKey) (Conversation, error)
}

// ItemKey names an item of a conversation.
type ItemKey struct {
	Conversation penstock.ID
	Item         string
}

// Deps are what a Service works with.
type Deps struct {
	Responses     Responses
	Conversations Conversations
	Items         Items
	Jobs          Jobs
	Log           *slog.Logger
	Clock         func() time.Time
}

// Service keeps responses and conversations.
type Service struct {
	Deps
	ids    penstock.IDs
	keeper keeper
}

// New returns a service. [Service.Run] writes what Keep is given.
func New(d Deps) *Service { return &Service{Deps: d, keeper: newKeeper()} }

// NewID is the id of a response that begins now.
func (s *Service) NewID() penstock.ID { return s.ids.New(s.Clock()) }

// Create begins a conversation. Codes: invalid_request, quota_exceeded.
func (s *Service) Create(ctx context.Context, caller penstock.Principal, c Conversation, items []Item) (Conversation, error) {
	if err := checkMetadata(c.Metadata); err != nil {
		return c, err
	}
	if len(items) > MaxNewItems {
		return c, errTooManyItems()
	}
	c.ID, c.Tenant = s.NewID(), caller.Tenant.ID
	return s.Conversations.Create(ctx, c, Addition{Conversation: c.ID, Items: s.named(items), StoredLimit: caller.Tenant.StoredBytes})
}

// Update replaces the metadata of a conversation. Codes: invalid_request, not_found.
func (s *Service) Update(ctx context.Context, caller penstock.Principal, c Conversation) (Conversation, error) {
	if err := checkMetadata(c.Metadata); err != nil {
		return c, err
	}
	c.Tenant = caller.Tenant.ID
	return s.Conversations.Update(ctx, c)
}

// AddItems adds items to a conversation and returns them with their ids. Codes: invalid_request, not_found, quota_exceeded.
func (s *Service) AddItems(ctx context.Context, caller penstock.Principal, a Addition) ([]Item, error) {
	if len(a.Items) == 0 || len(a.Items) > MaxNewItems {
		return nil, errTooManyItems()
	}
	a.Items, a.StoredLimit = s.named(a.Items), caller.Tenant.StoredBytes
	return s.Items.AddItems(ctx, caller.Tenant.ID, a)
}

func errTooManyItems() error {
	return penstock.InvalidParam("items", "items must have 1 to %d items; add more with further calls.", MaxNewItems)
}

// named gives every item an id.
func (s *Service) named(items []Item) []Item {
	for i := range items {
		if items[i].ID == "" {
			items[i].ID = "msg_" + string(s.NewID())
		}
	}
	return items
}

// History returns all items of a conversation, oldest first, for a turn that begins. Codes: not_found, invalid_request (it is full).
func (s *Service) History(ctx context.Context, tenant penstock.TenantID, id penstock.ID) ([]Item, error) {
	c, err := s.Conversations.Conversation(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	if c.Items >= MaxItems {
		return nil, errFull(id)
	}
	return s.Items.ListItems(ctx, tenant, ItemPage{Conversation: id, Limit: MaxItems})
}

func errFull(id penstock.ID) error {
	return penstock.InvalidParam("conversation", "Conversation %s has %d items, the maximum; delete some, or begin another conversation.",
		ViewConversation.Format(id), MaxItems)
}

func checkMetadata(m map[string]string) error {
	if len(m) > MaxMetadata {
		return penstock.InvalidParam("metadata", "metadata must have at most %d entries.", MaxMetadata)
	}
	for k, v := range m {
		if len(k) > MaxMetadataKey || len(v) > MaxMetadataValue {
			return penstock.InvalidParam("metadata", "metadata: keys have at most %d bytes, values %d.", MaxMetadataKey, MaxMetadataValue)
		}
	}
	return nil
}
