package demo

import (
	"context"
	"encoding/json"
	"fmt"
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
	rossi = author{"lumen-shop", elena, penstock.RoleAdmin}
	omar  = author{"brightway-insurance", "Omar Haddad", penstock.RoleDeveloper}
)

// writers are the people who work on prompts, and their prompts.
type writers struct {
	*history
	people map[author]penstock.ID
}

// as is the principal of an author.
func (w writers) as(a author) penstock.Principal {
	id, known := w.people[a]
	if !known {
		id = w.ids.New(w.Clock.Now())
		w.people[a] = id
	}
	email := strings.ToLower(strings.ReplaceAll(a.name, " ", ".")) + "@" + string(a.tenant) + ".example"
	p := penstock.Person{ID: id, Name: a.name, Email: email, In: map[penstock.TenantID][]penstock.Role{a.tenant: {a.role}}}
	return penstock.Principal{Kind: penstock.PrincipalPerson, Tenant: penstock.Tenant{ID: a.tenant}, Key: p.Label(), Roles: []penstock.Role{a.role}, Person: &p}
}

// prompts are the changes of prompts in the month.
func (h *history) prompts() []event {
	w := writers{h, map[author]penstock.ID{}}
	return append(w.support(), w.elsewhere()...)
}

// save saves a version.
func (w writers) save(a author, name, message string, c content.Content) step {
	return func(ctx context.Context) error {
		_, _, err := w.Prompts.Save(ctx, w.as(a), prompt.Order{Name: name, Content: c, Message: message})
		return within("saving", name, err)
	}
}

// move moves a label.
func (w writers) move(a author, m prompt.LabelMove) step {
	return func(ctx context.Context) error {
		_, err := w.Prompts.MoveLabel(ctx, w.as(a), m)
		return within("moving a label of", m.Name, err)
	}
}

// to is the move of a label.
func to(name, label string, version int64, reason string) prompt.LabelMove {
	return prompt.LabelMove{Name: name, Label: label, Version: version, Reason: reason}
}

// request asks for the move of a protected label; an approver decides at once, unless there is none.
func (w writers) request(a author, approver *author, m prompt.LabelMove) step {
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
func (w writers) draft(a author, name string, base int64, c content.Content) step {
	return func(ctx context.Context) error {
		_, err := w.Prompts.PutDraft(ctx, w.as(a), prompt.DraftOrder{Name: name, Content: c, Base: base})
		return within("writing the draft of", name, err)
	}
}

func (w writers) protect(a author, p prompt.Protection) step {
	return func(ctx context.Context) error {
		_, err := w.Prompts.SetProtection(ctx, w.as(a), p, prompt.Condition{})
		return within("protecting", p.Label, err)
	}
}

func (w writers) archive(a author, name string) step {
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
	return content.Content{Kind: content.KindChat, Messages: messages, Config: content.Config{"model": quoted(model), "temperature": json.RawMessage("0.2"), "max_tokens": json.RawMessage("400")}}
}

func words(text string) content.Content { return content.Content{Kind: content.KindText, Text: text} }

func quoted(text string) json.RawMessage {
	out, _ := json.Marshal(text) // a string always has a JSON form
	return out
}

// with returns a content with other settings.
func with(c content.Content, settings map[string]string) content.Content {
	config := content.Config{}
	for name, value := range c.Config {
		config[name] = value
	}
	for name, value := range settings {
		config[name] = json.RawMessage(value)
	}
	c.Config = config
	return c
}

// support is the story of the helpdesk: a prompt that changes often, a protected label, and a request that waits.
func (w writers) support() []event {
	const reply, tone, triage, old = "support/reply", "lib/tone", "support/triage", "support/greeting"
	system := []string{
		"You draft replies for the helpdesk of {{brand}}.",
		"You draft replies for the helpdesk of {{brand}}.\n{{> lib/tone}}",
		"You draft replies for the helpdesk of {{brand}}.\n{{> lib/tone}}\n\nNever promise a date. Never mention prices.",
		"You draft replies for the helpdesk of {{brand}}.\n{{> lib/tone}}\n\nNever promise a date. Never mention prices.\n{{#if vip}}\nThe customer is a partner: offer a call.\n{{/if}}",
		"You draft replies for the helpdesk of {{brand}}.\n{{> lib/tone}}\n\nNever promise a date, and never mention prices.\n{{#if vip}}\nThe customer is a partner: offer a call.\n{{/if}}\n{{#each orders}}\nOrder {{this.number}}: {{this.state}}\n{{/each}}",
		"You draft replies for the helpdesk of {{brand}}. Two or three sentences.\n{{> lib/tone}}\n\nNever promise a date, and never mention prices.\n{{#if vip}}\nThe customer is a partner: offer a call.\n{{/if}}\n{{#each orders}}\nOrder {{this.number}}: {{this.state}}\n{{else}}\nThe customer has no open order.\n{{/each}}",
	}
	history := content.Message{Placeholder: "history"}
	version := func(n int) content.Content {
		if n < 3 {
			return chat(modelMini, system[n], "{{question}}")
		}
		return with(chat(modelMini, system[n], "{{question}}", history), map[string]string{"temperature": "0.1"})
	}
	categories := `{"type":"json_schema","json_schema":{"name":"triage","schema":{"type":"object","properties":{"category":{"enum":["delivery","returns","warranty","payment","other"]},"reason":{"type":"string"}},"required":["category","reason"],"additionalProperties":false}}}`
	mail := chat(modelLlama, "Classify the support mail. Answer with the category and one short reason.", "Subject: {{subject}}\n\n{{mail}}")
	return []event{
		{29 * day, w.save(ben, tone, "first words", words("Be {{tone}} and brief."))},
		{29*day - time.Minute, w.move(ben, to(tone, "production", 1, "first version"))},
		{29*day - time.Hour, w.save(ben, reply, "first version", version(0))},
		{28 * day, w.save(ben, reply, "tone from the library", version(1))},
		{28*day - time.Minute, w.move(ben, to(reply, "production", 2, "first release"))},
		{27 * day, w.save(ben, old, "first version", words("Dear {{name}}, thank you for your message."))},
		{24 * day, w.save(ben, reply, "no dates, no prices", version(2))},
		{24*day - 2*time.Hour, w.move(ben, to(reply, "production", 3, "asked for by the legal team"))},
		{20 * day, w.protect(sara, prompt.Protection{Label: "production", Prompts: []string{"support/"}, Roles: []penstock.Role{penstock.RoleOperator, penstock.RoleAdmin}, Approval: true})},
		{15 * day, w.save(ben, reply, "partners are offered a call; the conversation so far", version(3))},
		{15*day - time.Hour, w.request(ben, &sara, to(reply, "production", 4, "helpdesk pilot went well"))},
		{12 * day, w.save(ben, triage, "first version", mail)},
		{12*day - time.Hour, w.request(ben, &sara, to(triage, "production", 1, "first release"))},
		{10 * day, w.archive(sara, old)},
		{8 * day, w.save(ben, tone, "honest about limits", words("Be {{tone}} and brief. Say so if you do not know."))},
		{6 * day, w.save(ben, reply, "orders of the customer", version(4))},
		{6*day - time.Hour, w.move(ben, to(reply, "canary", 5, "5% of the web widget"))},
		{5 * day, w.save(ben, triage, "categories as a schema", with(mail, map[string]string{"response_format": categories}))},
		{3 * day, w.save(ben, reply, "shorter; says when there is no order", version(5))},
		{3*day - time.Hour, w.move(ben, to(reply, "canary", 6, "replaces v5"))},
		{2*day + time.Hour, w.request(ben, nil, to(reply, "production", 6, "canary has fewer corrections than v4"))},
		{3 * time.Hour, w.draft(ben, reply, 6, with(chat(modelMini, system[5]+"\n\nSign as {{agent}}.", "{{question}}", history), map[string]string{"temperature": "0.1"}))},
	}
}

// elsewhere are the prompts of the other companies.
func (w writers) elsewhere() []event {
	const copywriter, voice, rewrite, clause, claim = "catalogue/product-copy", "catalogue/voice", "search/rewrite", "contracts/clause-review", "claims/triage"
	text := func(lines ...string) string { return strings.Join(lines, "\n") }
	ask := "Product: {{product.name}}\n{{#each product.features}}\n- {{this}}\n{{/each}}"
	first := text("You write texts for the shop {{shop}}.", "{{> catalogue/voice}}", "Answer in {{language}}.")
	second := text("You write texts for the shop {{shop}}, {{length}} words at most.", "{{> catalogue/voice}}", "Answer in {{language}}.")
	third := text("You write texts for the shop {{shop}}, {{length}} words at most.", "{{> catalogue/voice}}", "Use only the features below. Answer in {{language}}.")
	search := chat(modelSmall, "Rewrite the search of a customer as 3 to 6 words.", "{{query}}")
	review := text("You review clauses for {{client}}.", "Name each risk in one sentence, and quote the words that cause it.")
	return []event{
		{26 * day, w.save(kofi, voice, "from the style guide", words("Write plainly and warmly. No superlatives."))},
		{26*day - time.Minute, w.move(kofi, to(voice, "production", 1, "first version"))},
		{25 * day, w.save(kofi, copywriter, "first version", chat(modelMini, first, ask))},
		{25*day - time.Hour, w.move(kofi, to(copywriter, "production", 1, "first release"))},
		{19 * day, w.save(kofi, copywriter, "bound of words", chat(modelMini, second, ask))},
		{19*day - 3*time.Hour, w.move(kofi, to(copywriter, "production", 2, "spring catalogue"))},
		{19*day - 5*time.Hour, w.move(kofi, to(copywriter, "production", 1, "texts were cut off: rolled back"))},
		{17 * day, w.save(kofi, copywriter, "bound of words, with room for the answer", with(chat(modelMini, second, ask), map[string]string{"max_tokens": "800"}))},
		{17*day - time.Hour, w.move(kofi, to(copywriter, "production", 3, "spring catalogue, again"))},
		{14 * day, w.protect(rossi, prompt.Protection{Label: "production", Roles: []penstock.Role{penstock.RoleAdmin}})},
		{9 * day, w.save(kofi, copywriter, "only features that the product has", with(chat(modelMini, third, ask), map[string]string{"max_tokens": "800"}))},
		{9*day - time.Hour, w.move(kofi, to(copywriter, "staging", 4, "for the editors"))},
		{4 * day, w.save(kofi, copywriter, "cheaper model", with(chat(modelSmall, third, ask), map[string]string{"max_tokens": "800"}))},
		{4*day - time.Hour, w.request(kofi, nil, to(copywriter, "production", 4, "the editors are content with staging"))},
		{5 * time.Hour, w.draft(kofi, copywriter, 5, with(chat(modelSmall, third+"\nNo exclamation marks.", ask), map[string]string{"max_tokens": "800"}))},
		{13 * day, w.save(kofi, rewrite, "first version", search)},
		{13*day - time.Minute, w.move(rossi, to(rewrite, "production", 1, "first release"))},
		{11 * day, w.save(kofi, rewrite, "cooler", with(search, map[string]string{"temperature": "0"}))},
		{22 * day, w.save(felix, clause, "first version", chat(modelSonnet, review, "{{clause}}"))},
		{22*day - time.Minute, w.move(felix, to(clause, "production", 1, "first release"))},
		{18 * day, w.save(omar, claim, "first version", chat(modelMini, "Sort the claim by urgency: high, normal or low.", "{{claim}}"))},
		{18*day - time.Minute, w.move(omar, to(claim, "production", 1, "first release"))},
	}
}
