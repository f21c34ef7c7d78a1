package conversationsql_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"penstock"
	"penstock/internal/conversation"
	"penstock/internal/conversation/conversationsql"
	"penstock/internal/store"
	"penstock/internal/store/postgres/pgtest"
	"penstock/internal/store/schema/schematest"
	"penstock/internal/store/sqldb"
	"penstock/internal/store/storedrow"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

const acme, umbra penstock.TenantID = "acme", "umbra"

var caller = penstock.Principal{Tenant: penstock.Tenant{ID: acme}, Key: "app"}

// rig is a service on one engine, whose turns are written until the test ends.
type rig struct {
	*testing.T
	*conversation.Service
	store *conversationsql.Store
	db    *sqldb.DB
}

func onEngines(t *testing.T, test func(r *rig)) {
	t.Helper()
	schematest.OnEngines(t, func(t *testing.T, db *sqldb.DB) {
		stored := conversationsql.New(db, schematest.Codec(t))
		service := conversation.New(conversation.Deps{Responses: stored, Conversations: stored, Items: stored, Jobs: stored, Log: slog.New(slog.DiscardHandler), Clock: time.Now})
		ctx, stop := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { _ = service.Run(ctx) })
		t.Cleanup(func() {
			stop()
			running.Wait()
		})
		test(&rig{t, service, stored, db})
	})
}

func (r *rig) must(what string, err error) {
	r.Helper()
	if err != nil {
		r.Fatalf("%s: %v", what, err)
	}
}

func (r *rig) turn(text string) conversation.Turn {
	return conversation.Turn{Tenant: acme, ID: r.NewID(), Kept: true, Input: []byte(`["` + text + `"]`), Object: []byte(`{"output":[{"id":"msg_` + text + `"}]}`),
		Output: []string{"", "msg_" + text, "msg_" + text}}
}

// stored is the bytes that the tenant's quota counts.
func (r *rig) stored() int64 {
	r.Helper()
	var sum store.Stored
	_, err := r.db.Ask(r.Context(), storedrow.Ask(acme, &sum))
	r.must("read what is stored", err)
	return sum.Bytes()
}

func (r *rig) count(table string) (n int64) {
	r.Helper()
	err := r.db.Read(r.Context(), func(tx sqldb.Tx) (err error) {
		n, _, err = sqldb.QueryOne(r.Context(), tx, sqldb.SQL(`SELECT COUNT(*) FROM `+table), sqldb.ScanOne[int64])
		return err
	})
	r.must("count "+table, err)
	return n
}

func TestKeptResponses(t *testing.T) {
	t.Parallel()
	onEngines(t, func(r *rig) {
		first, second := r.turn("one"), r.turn("two")
		r.must("keep", r.Keep(r.Context(), first))
		r.must("keep", r.Keep(r.Context(), second))
		got, err := r.store.Response(r.Context(), acme, first.ID)
		if err != nil || string(got.Input) != string(first.Input) || string(got.Object) != string(first.Object) || got.CreatedAt.IsZero() {
			t.Errorf("read %+v, %v", got, err)
		}
		found, err := r.store.Outputs(r.Context(), acme, []string{"msg_one", "msg_two", "msg_three"})
		if err != nil || len(found.Positions) != 2 || found.Positions["msg_two"] != (conversation.Position{Response: second.ID, Index: 1}) || string(found.Objects[first.ID]) != string(first.Object) {
			t.Errorf("found %+v, %v", found, err)
		}
		again := r.turn("one") // an upstream that repeats ids
		r.must("keep", r.Keep(r.Context(), again))
		if found, err = r.store.Outputs(r.Context(), acme, []string{"msg_one"}); err != nil || found.Positions["msg_one"].Response != again.ID {
			t.Errorf("found %+v, %v; want the latest", found, err)
		}
		want := int64(len(first.Input)+len(first.Object))*2 + int64(len(second.Input)+len(second.Object))
		if got := r.stored(); got != want {
			t.Errorf("%d bytes are stored, want %d", got, want)
		}
		for _, turn := range []conversation.Turn{first, second, again} {
			r.must("delete", r.store.DeleteResponse(r.Context(), acme, conversation.Removal{ID: turn.ID, Actor: "app"}))
		}
		if err := r.store.DeleteResponse(r.Context(), acme, conversation.Removal{ID: first.ID}); penstock.ErrorCode(err) != penstock.CodeNotFound {
			t.Errorf("deleted twice: %v", err)
		}
		if r.stored() != 0 || r.count("response_items") != 0 || r.count("audit WHERE action = 'response.delete'") != 3 {
			t.Errorf("%d bytes and %d items are left", r.stored(), r.count("response_items"))
		}
	})
}

func TestAQuotaBoundsResponses(t *testing.T) {
	t.Parallel()
	onEngines(t, func(r *rig) {
		turn := r.turn("small")
		turn.StoredLimit = int64(len(turn.Input) + len(turn.Object))
		r.must("keep", r.Keep(r.Context(), turn))
		next := r.turn("next")
		next.StoredLimit = turn.StoredLimit
		if err := r.Keep(r.Context(), next); penstock.ErrorCode(err) != penstock.CodeQuotaExceeded {
			t.Errorf("beyond the quota: %v", err)
		}
		// One that does not fit does not take others of its group with it.
		group := []conversation.Turn{r.turn("a"), next, r.turn("b")}
		var wait sync.WaitGroup
		errs := make([]error, len(group))
		for i := range group {
			wait.Go(func() { errs[i] = r.Keep(r.Context(), group[i]) })
		}
		wait.Wait()
		if errs[0] != nil || errs[2] != nil || penstock.ErrorCode(errs[1]) != penstock.CodeQuotaExceeded {
			t.Errorf("the group: %v", errs)
		}
	})
}

func item(id, text string) conversation.Item {
	return conversation.Item{ID: id, Body: []byte(`{"content":"` + text + `"}`)}
}

func (r *rig) list(p conversation.ItemPage) string {
	r.Helper()
	items, err := r.store.ListItems(r.Context(), acme, p)
	r.must("list", err)
	var ids []string
	for _, i := range items {
		ids = append(ids, i.ID)
	}
	return strings.Join(ids, " ")
}

func TestConversations(t *testing.T) {
	t.Parallel()
	onEngines(t, func(r *rig) {
		made, err := r.Create(r.Context(), caller, conversation.Conversation{Metadata: map[string]string{"topic": "milk"}}, []conversation.Item{item("a", "1"), item("b", "2")})
		r.must("create", err)
		turn := r.turn("three")
		turn.Conversation, turn.Items = made.ID, []conversation.Item{item("c", "3"), item("a", "again")}
		r.must("keep", r.Keep(r.Context(), turn))
		page := conversation.ItemPage{Conversation: made.ID, Limit: 10}
		if got := r.list(page); got != "a b c a_3" {
			t.Errorf("the items are %s", got)
		}
		if got := r.list(conversation.ItemPage{Conversation: made.ID, Limit: 2, Newest: true}); got != "a_3 c" {
			t.Errorf("the newest are %s", got)
		}
		if got := r.list(conversation.ItemPage{Conversation: made.ID, Limit: 2, Newest: true, After: "c"}); got != "b a" {
			t.Errorf("the next are %s", got)
		}
		if got := r.list(conversation.ItemPage{Conversation: made.ID, Limit: 2, After: "b"}); got != "c a_3" {
			t.Errorf("the second page is %s", got)
		}
		if found, err := r.store.Outputs(r.Context(), acme, []string{"b"}); err != nil || string(found.Items["b"]) != `{"content":"2"}` {
			t.Errorf("a reference finds %+v, %v", found, err)
		}
		if _, err := r.store.DeleteItem(r.Context(), acme, conversation.ItemKey{Conversation: made.ID, Item: "b"}); err != nil || r.list(page) != "a c a_3" {
			t.Errorf("after a delete: %s, %v", r.list(page), err)
		}
		updated, err := r.Update(r.Context(), caller, conversation.Conversation{ID: made.ID, Metadata: map[string]string{"topic": "tea"}})
		if err != nil || updated.Metadata["topic"] != "tea" || updated.Items != 3 {
			t.Errorf("updated %+v, %v", updated, err)
		}
		r.must("delete", r.store.Delete(r.Context(), acme, conversation.Removal{ID: made.ID, Actor: "app"}))
		late := r.turn("late")
		late.Conversation, late.Items = made.ID, []conversation.Item{item("d", "4")}
		r.must("keep a turn of a conversation that is gone", r.Keep(r.Context(), late))
		if n := r.count("conversation_items"); n != 0 {
			t.Errorf("%d items are left", n)
		}
		if want := int64(len(turn.Input) + len(turn.Object) + len(late.Input) + len(late.Object)); r.stored() != want {
			t.Errorf("%d bytes are stored, want %d", r.stored(), want)
		}
	})
}

// Turns that end at the same time are both kept, each in one piece.
func TestConcurrentTurns(t *testing.T) {
	t.Parallel()
	onEngines(t, func(r *rig) {
		made, err := r.Create(r.Context(), caller, conversation.Conversation{}, nil)
		r.must("create", err)
		const turns = 20
		var wait sync.WaitGroup
		for n := range turns {
			wait.Go(func() {
				turn := r.turn(fmt.Sprint(n))
				turn.Conversation, turn.Items = made.ID, []conversation.Item{item(fmt.Sprintf("q%d", n), "?"), item(fmt.Sprintf("a%d", n), "!")}
				if err := r.Keep(context.Background(), turn); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		ids := strings.Fields(r.list(conversation.ItemPage{Conversation: made.ID, Limit: 100}))
		if len(ids) != 2*turns {
			t.Fatalf("%d items: %v", len(ids), ids)
		}
		for i := 0; i < len(ids); i += 2 {
			if ids[i][0] != 'q' || ids[i+1] != "a"+ids[i][1:] {
				t.Errorf("a turn was torn apart: %v", ids)
			}
		}
	})
}

func TestItemsAreBounded(t *testing.T) {
	t.Parallel()
	onEngines(t, func(r *rig) {
		made, err := r.Create(r.Context(), caller, conversation.Conversation{}, nil)
		r.must("create", err)
		err = r.db.Write(r.Context(), "fill", func(tx sqldb.Tx) error {
			return tx.Do(r.Context(), `UPDATE conversations SET items = $1`, conversation.MaxItems-1)
		})
		r.must("fill", err)
		add := conversation.Addition{Conversation: made.ID, Items: []conversation.Item{item("", "1"), item("", "2")}}
		if _, err := r.AddItems(r.Context(), caller, add); penstock.ErrorCode(err) != penstock.CodeInvalidRequest || r.count("conversation_items") != 0 {
			t.Errorf("two items for one place: %v", err)
		}
		add.Items = add.Items[:1]
		if _, err := r.AddItems(r.Context(), caller, add); err != nil {
			t.Errorf("the last item: %v", err)
		}
		if _, err := r.History(r.Context(), acme, made.ID); penstock.ErrorCode(err) != penstock.CodeInvalidRequest {
			t.Errorf("a turn of a full conversation: %v", err)
		}
		if _, err := r.Create(r.Context(), caller, conversation.Conversation{}, make([]conversation.Item, conversation.MaxNewItems+1)); penstock.AsError(err).Param != "items" {
			t.Errorf("too many items at once: %v", err)
		}
		if _, err := r.Create(r.Context(), caller, conversation.Conversation{Metadata: map[string]string{"k": strings.Repeat("x", conversation.MaxMetadataValue+1)}}, nil); penstock.AsError(err).Param != "metadata" {
			t.Errorf("large metadata: %v", err)
		}
	})
}

// Every method hides the objects of other tenants, and shows them to their owner.
func TestTenantsAreIsolated(t *testing.T) {
	t.Parallel()
	onEngines(t, func(r *rig) {
		turn := r.turn("mine")
		r.must("keep", r.Keep(r.Context(), turn))
		made, err := r.Create(r.Context(), caller, conversation.Conversation{}, []conversation.Item{item("i", "1")})
		r.must("create", err)
		key := conversation.ItemKey{Conversation: made.ID, Item: "i"}
		probes := []struct {
			name string
			do   func(tenant penstock.TenantID) error
		}{
			{"Response", func(id penstock.TenantID) error { _, err := r.store.Response(r.Context(), id, turn.ID); return err }},
			{"Outputs", func(id penstock.TenantID) error {
				found, err := r.store.Outputs(r.Context(), id, []string{"msg_mine", "i"})
				if err == nil && len(found.Positions)+len(found.Items)+len(found.Objects) == 0 {
					err = penstock.NotFound(penstock.ViewResponse, turn.ID)
				}
				return err
			}},
			{"Conversation", func(id penstock.TenantID) error { _, err := r.store.Conversation(r.Context(), id, made.ID); return err }},
			{"Update", func(id penstock.TenantID) error {
				_, err := r.store.Update(r.Context(), conversation.Conversation{ID: made.ID, Tenant: id})
				return err
			}},
			{"AddItems", func(id penstock.TenantID) error {
				_, err := r.store.AddItems(r.Context(), id, conversation.Addition{Conversation: made.ID, Items: []conversation.Item{item("j", "2")}})
				return err
			}},
			{"ListItems", func(id penstock.TenantID) error {
				_, err := r.store.ListItems(r.Context(), id, conversation.ItemPage{Conversation: made.ID, Limit: 1})
				return err
			}},
			{"Item", func(id penstock.TenantID) error { _, err := r.store.Item(r.Context(), id, key); return err }},
			{"DeleteItem", func(id penstock.TenantID) error { _, err := r.store.DeleteItem(r.Context(), id, key); return err }},
			{"Delete", func(id penstock.TenantID) error {
				return r.store.Delete(r.Context(), id, conversation.Removal{ID: made.ID})
			}},
			{"DeleteResponse", func(id penstock.TenantID) error {
				return r.store.DeleteResponse(r.Context(), id, conversation.Removal{ID: turn.ID})
			}},
		}
		for _, p := range probes {
			if err := p.do(umbra); penstock.ErrorCode(err) != penstock.CodeNotFound {
				t.Errorf("%s for another tenant: %v", p.name, err)
			}
		}
		for _, p := range probes {
			if err := p.do(acme); err != nil {
				t.Errorf("%s for the owner: %v", p.name, err)
			}
		}
	})
}

func TestRetention(t *testing.T) {
	t.Parallel()
	onEngines(t, func(r *rig) {
		var ids penstock.IDs
		old := r.turn("old")
		old.ID = ids.New(time.Now().Add(-2 * time.Hour))
		young := r.turn("young")
		r.must("keep", r.Keep(r.Context(), old))
		r.must("keep", r.Keep(r.Context(), young))
		for range 2 {
			_, err := r.Create(r.Context(), caller, conversation.Conversation{}, []conversation.Item{item("x", "1")})
			r.must("create", err)
		}
		err := r.db.Write(r.Context(), "age", func(tx sqldb.Tx) error {
			return tx.Do(r.Context(), `UPDATE conversations SET updated_at = $1 WHERE id = (SELECT MIN(id) FROM conversations)`, sqldb.Micros(time.Now().Add(-2*time.Hour)))
		})
		r.must("age", err)
		p := conversation.Purge{Kept: time.Hour, Limit: 100}
		if done, err := r.store.PurgeResponses(r.Context(), umbra, p); err != nil || done != (conversation.Purged{}) {
			t.Errorf("another tenant: %+v, %v", done, err)
		}
		if done, err := r.store.PurgeResponses(r.Context(), acme, p); err != nil || done.Removed != 1 || done.Overdue < time.Hour/2 {
			t.Errorf("responses: %+v, %v", done, err)
		}
		if done, err := r.store.PurgeConversations(r.Context(), acme, p); err != nil || done.Removed != 1 || r.count("conversation_items") != 1 {
			t.Errorf("conversations: %+v, %v", done, err)
		}
		if _, err := r.store.Response(r.Context(), acme, young.ID); err != nil || r.count("response_items") != 1 {
			t.Errorf("the young one: %v", err)
		}
	})
}
