package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/prompt/content"
)

// author is a person of a company who works on prompts.
type author struct {
	tenant penstock.TenantID
	name   string // of the person
	role   penstock.Role
}

// The people who write and release prompts.
var (
	ben   = author{"northwind-support", "Ben Castro", penstock.RoleDeveloper}
	sara  = author{"northwind-support", "Sara Holm", penstock.RoleAdmin}
	felix = author{"halden-legal", "Felix Brandt", penstock.RoleDeveloper}
	kofi  = author{"lumen-shop", "Kofi Mensah", penstock.RoleDeveloper}
	elena = author{"lumen-shop", "Elena Rossi", penstock.RoleAdmin}
	omar  = author{"brightway-insurance", "Omar Haddad", penstock.RoleDeveloper}
)

// writers are the people who work on prompts.
type writers struct {
	Deps
	ids    penstock.IDs
	people map[author]penstock.ID
}

// step is a part of the story.
type step = func(ctx context.Context) error

// as is the principal of an author.
func (w *writers) as(a author) penstock.Principal {
	id, known := w.people[a]
	if !known {
		id = w.ids.New(w.Clock.Now())
		w.people[a] = id
	}
	email := strings.ToLower(strings.ReplaceAll(a.name, " ", ".")) + "@" + string(a.tenant) + ".example"
	p := penstock.Person{ID: id, Name: a.name, Email: email, In: map[penstock.TenantID][]penstock.Role{a.tenant: {a.role}}}
	return penstock.Principal{Kind: penstock.PrincipalPerson, Tenant: penstock.Tenant{ID: a.tenant}, Key: p.Label(), Roles: []penstock.Role{a.role}, Person: &p}
}

// save saves a version.
func (w *writers) save(a author, name, message string, c content.Content) step {
	return func(ctx context.Context) error {
		_, _, err := w.Prompts.Save(ctx, w.as(a), prompt.Order{Name: name, Content: c, Message: message})
		return within("saving", name, err)
	}
}

// move moves a label.
func (w *writers) move(a author, m prompt.LabelMove) step {
	return func(ctx context.Context) error {
		_, err := w.Prompts.MoveLabel(ctx, w.as(a), m)
		return within("moving a label of", m.Name, err)
	}
}

// to is the move of a label.
func to(name, label string, version int64, reason string) prompt.LabelMove {
	return prompt.LabelMove{Name: name, Label: label, Version: version, Reason: reason}
}

// request asks for the move of a protected label. An approver decides at once; without an approver, the request stays open.
func (w *writers) request(a author, approver *author, m prompt.LabelMove) step {
	return func(ctx context.Context) error {
		r, err := w.Prompts.RequestMove(ctx, w.as(a), m)
		if err == nil && approver != nil {
			w.Clock.Walk(25 * time.Minute)
			_, err = w.Prompts.Approve(ctx, w.as(*approver), prompt.Decision{ID: r.ID, Name: m.Name, Note: "read and compared"})
		}
		return within("asking for a label of", m.Name, err)
	}
}

// draft stores a draft.
func (w *writers) draft(a author, name string, base int64, c content.Content) step {
	return func(ctx context.Context) error {
		_, err := w.Prompts.PutDraft(ctx, w.as(a), prompt.DraftOrder{Name: name, Content: c, Base: base})
		return within("writing the draft of", name, err)
	}
}

func (w *writers) protect(a author, p prompt.Protection) step {
	return func(ctx context.Context) error {
		_, err := w.Prompts.SetProtection(ctx, w.as(a), p, prompt.Condition{})
		return within("protecting", p.Label, err)
	}
}

func (w *writers) archive(a author, name string) step {
	return func(ctx context.Context) error {
		_, err := w.Prompts.Archive(ctx, w.as(a), name)
		return within("archiving", name, err)
	}
}

func within(doing, name string, err error) error {
	if err != nil {
		return fmt.Errorf("%s %s: %w", doing, name, err)
	}
	return nil
}

// chat is a prompt with a system message and a question.
func chat(model, system, user string, more ...content.Message) content.Content {
	messages := append([]content.Message{{Role: "system", Content: content.Body{Text: system}}}, more...)
	messages = append(messages, content.Message{Role: "user", Content: content.Body{Text: user}})
	return content.Content{Kind: content.KindChat, Messages: messages, Config: content.Config{"model": quoted(model), "temperature": json.RawMessage("0.2")}}
}

func words(text string) content.Content { return content.Content{Kind: content.KindText, Text: text} }

func quoted(text string) json.RawMessage {
	out, _ := json.Marshal(text) // a string always has a JSON form
	return out
}

// with returns a content with other settings.
func with(c content.Content, settings map[string]string) content.Content {
	config := maps.Clone(c.Config)
	for name, value := range settings {
		config[name] = json.RawMessage(value)
	}
	c.Config = config
	return c
}
