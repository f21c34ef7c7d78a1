package conversationsql_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"penstock"
	"penstock/internal/conversation"
)

func (r *rig) open(id penstock.ID) []conversation.JobTurn {
	r.Helper()
	open, err := r.store.OpenJobTurns(r.Context(), acme, id)
	r.must("list open turns", err)
	return open
}

// However often a turn is settled, and by how many at once, its items are added once.
func TestJobTurnsAreSettledOnce(t *testing.T) {
	t.Parallel()
	onEngines(t, func(r *rig) {
		made, err := r.Create(r.Context(), caller, conversation.Conversation{}, nil)
		r.must("create", err)
		first := conversation.JobTurn{Conversation: made.ID, Job: r.NewID(), Own: 1}
		second := conversation.JobTurn{Conversation: made.ID, Job: r.NewID(), Own: 2}
		r.must("add", r.store.AddJobTurn(r.Context(), acme, first))
		r.must("add", r.store.AddJobTurn(r.Context(), acme, second))
		if open := r.open(made.ID); len(open) != 2 || open[0] != first || open[1] != second {
			t.Errorf("open are %+v", open)
		}
		var wait sync.WaitGroup
		for range 5 {
			wait.Go(func() {
				if err := r.store.SettleJobTurn(context.Background(), acme, first, []conversation.Item{item("q", "?"), item("a", "!")}); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		r.must("settle without items", r.store.SettleJobTurn(r.Context(), acme, second, nil))
		page := conversation.ItemPage{Conversation: made.ID, Limit: 10}
		if got := r.list(page); got != "q a" || len(r.open(made.ID)) != 0 {
			t.Errorf("the items are %s; open are %v", got, r.open(made.ID))
		}
		if want := int64(len(item("q", "?").Body) + len(item("a", "!").Body)); r.stored() != want {
			t.Errorf("%d bytes are stored, want %d", r.stored(), want)
		}
		refused := conversation.JobTurn{Conversation: made.ID, Job: r.NewID()}
		r.must("add", r.store.AddJobTurn(r.Context(), acme, refused))
		r.must("remove", r.store.RemoveJobTurn(r.Context(), acme, refused.Job))
		r.must("remove a settled one", r.store.RemoveJobTurn(r.Context(), acme, first.Job))
		r.must("settle again", r.store.SettleJobTurn(r.Context(), acme, first, []conversation.Item{item("b", "!")}))
		if got := r.list(page); got != "q a" || r.count("conversation_jobs") != 2 {
			t.Errorf("the items are %s; %d turns", got, r.count("conversation_jobs"))
		}
		r.must("purge nothing", r.purge(time.Hour))
		if n := r.count("conversation_jobs"); n != 2 {
			t.Errorf("%d turns are left", n)
		}
		r.must("purge", r.purge(-time.Minute))
		if n := r.count("conversation_jobs"); n != 0 {
			t.Errorf("%d turns are left", n)
		}
	})
}

func (r *rig) purge(kept time.Duration) error {
	_, err := r.store.PurgeConversations(r.Context(), acme, conversation.Purge{Kept: kept, Limit: 100})
	return err
}

// A conversation that is deleted takes its turns with it, and does not grow. Its open turns are bounded.
func TestJobTurnsOfAConversation(t *testing.T) {
	t.Parallel()
	onEngines(t, func(r *rig) {
		made, err := r.Create(r.Context(), caller, conversation.Conversation{}, nil)
		r.must("create", err)
		var last conversation.JobTurn
		for range conversation.MaxOpenJobs {
			last = conversation.JobTurn{Conversation: made.ID, Job: r.NewID()}
			r.must("add", r.store.AddJobTurn(r.Context(), acme, last))
		}
		if err := r.store.AddJobTurn(r.Context(), acme, conversation.JobTurn{Conversation: made.ID, Job: r.NewID()}); penstock.ErrorCode(err) != penstock.CodeConflict {
			t.Errorf("one too many: %v", err)
		}
		r.must("delete", r.store.Delete(r.Context(), acme, conversation.Removal{ID: made.ID, Actor: "app"}))
		r.must("settle", r.store.SettleJobTurn(r.Context(), acme, last, []conversation.Item{item("a", "!")}))
		if r.count("conversation_jobs") != 0 || r.count("conversation_items") != 0 || r.stored() != 0 {
			t.Errorf("%d turns, %d items, %d bytes are left", r.count("conversation_jobs"), r.count("conversation_items"), r.stored())
		}
		if err := r.store.AddJobTurn(r.Context(), acme, last); penstock.ErrorCode(err) != penstock.CodeNotFound {
			t.Errorf("a turn of a conversation that is gone: %v", err)
		}
	})
}

// Turns belong to the tenant of their conversation.
func TestJobTurnsAreIsolated(t *testing.T) {
	t.Parallel()
	onEngines(t, func(r *rig) {
		made, err := r.Create(r.Context(), caller, conversation.Conversation{}, nil)
		r.must("create", err)
		turn := conversation.JobTurn{Conversation: made.ID, Job: r.NewID()}
		if err := r.store.AddJobTurn(r.Context(), umbra, turn); penstock.ErrorCode(err) != penstock.CodeNotFound {
			t.Errorf("another tenant adds a turn: %v", err)
		}
		r.must("add", r.store.AddJobTurn(r.Context(), acme, turn))
		r.must("remove as another", r.store.RemoveJobTurn(r.Context(), umbra, turn.Job))
		r.must("settle as another", r.store.SettleJobTurn(r.Context(), umbra, turn, []conversation.Item{item("a", "!")}))
		r.must("purge as another", func() error {
			_, err := r.store.PurgeConversations(r.Context(), umbra, conversation.Purge{Kept: -time.Minute, Limit: 100})
			return err
		}())
		if open, err := r.store.OpenJobTurns(r.Context(), umbra, made.ID); err != nil || len(open) != 0 {
			t.Errorf("another tenant sees %v, %v", open, err)
		}
		if open := r.open(made.ID); len(open) != 1 || r.count("conversation_items") != 0 {
			t.Errorf("open are %v, with %d items", open, r.count("conversation_items"))
		}
	})
}

