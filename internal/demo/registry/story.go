package registry

import (
	"strings"
	"time"

	"penstock"
	"penstock/internal/prompt"
	"penstock/internal/prompt/content"
)

const day = 24 * time.Hour

// support is the story of the helpdesk: a prompt that changes often, a protected label, and a request that waits.
func (w *writers) support() []Event {
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
			return chat(w.Models.Mini, system[n], "{{question}}")
		}
		return with(chat(w.Models.Mini, system[n], "{{question}}", history), map[string]string{"temperature": "0.1"})
	}
	categories := `{"type":"json_schema","json_schema":{"name":"triage","schema":{"type":"object","properties":{"category":{"enum":["delivery","returns","warranty","payment","other"]},"reason":{"type":"string"}},"required":["category","reason"],"additionalProperties":false}}}`
	mail := chat(w.Models.Llama, "Classify the support mail. Answer with the category and one short reason.", "Subject: {{subject}}\n\n{{mail}}")
	return []Event{
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
		{3 * time.Hour, w.draft(ben, reply, 6, with(chat(w.Models.Mini, system[5]+"\n\nSign as {{agent}}.", "{{question}}", history), map[string]string{"temperature": "0.1"}))},
	}
}

// elsewhere are the prompts of the other companies.
func (w *writers) elsewhere() []Event {
	const copywriter, voice, rewrite, clause, claim = "catalogue/product-copy", "catalogue/voice", "search/rewrite", "contracts/clause-review", "claims/triage"
	text := func(lines ...string) string { return strings.Join(lines, "\n") }
	ask := "Product: {{product.name}}\n{{#each product.features}}\n- {{this}}\n{{/each}}"
	first := text("You write texts for the shop {{shop}}.", "{{> catalogue/voice}}", "Answer in {{language}}.")
	second := text("You write texts for the shop {{shop}}, {{length}} words at most.", "{{> catalogue/voice}}", "Answer in {{language}}.")
	third := text("You write texts for the shop {{shop}}, {{length}} words at most.", "{{> catalogue/voice}}", "Use only the features below. Answer in {{language}}.")
	search := chat(w.Models.Small, "Rewrite the search of a customer as 3 to 6 words.", "{{query}}")
	review := text("You review clauses for {{client}}.", "Name each risk in one sentence, and quote the words that cause it.")
	return []Event{
		{26 * day, w.save(kofi, voice, "from the style guide", words("Write plainly and warmly. No superlatives."))},
		{26*day - time.Minute, w.move(kofi, to(voice, "production", 1, "first version"))},
		{25 * day, w.save(kofi, copywriter, "first version", chat(w.Models.Mini, first, ask))},
		{25*day - time.Hour, w.move(kofi, to(copywriter, "production", 1, "first release"))},
		{19 * day, w.save(kofi, copywriter, "bound of words", chat(w.Models.Mini, second, ask))},
		{19*day - 3*time.Hour, w.move(kofi, to(copywriter, "production", 2, "spring catalogue"))},
		{19*day - 5*time.Hour, w.move(kofi, to(copywriter, "production", 1, "texts were dull: rolled back"))},
		{17 * day, w.save(kofi, copywriter, "bound of words, warmer", with(chat(w.Models.Mini, second, ask), map[string]string{"temperature": "0.6"}))},
		{17*day - time.Hour, w.move(kofi, to(copywriter, "production", 3, "spring catalogue, again"))},
		{14 * day, w.protect(elena, prompt.Protection{Label: "production", Roles: []penstock.Role{penstock.RoleAdmin}})},
		{9 * day, w.save(kofi, copywriter, "only features that the product has", with(chat(w.Models.Mini, third, ask), map[string]string{"temperature": "0.6"}))},
		{9*day - time.Hour, w.move(kofi, to(copywriter, "staging", 4, "for the editors"))},
		{4 * day, w.save(kofi, copywriter, "cheaper model", with(chat(w.Models.Small, third, ask), map[string]string{"temperature": "0.6"}))},
		{4*day - time.Hour, w.request(kofi, nil, to(copywriter, "production", 4, "the editors are content with staging"))},
		{5 * time.Hour, w.draft(kofi, copywriter, 5, with(chat(w.Models.Small, third+"\nNo exclamation marks.", ask), map[string]string{"temperature": "0.6"}))},
		{13 * day, w.save(kofi, rewrite, "first version", search)},
		{13*day - time.Minute, w.move(elena, to(rewrite, "production", 1, "first release"))},
		{11 * day, w.save(kofi, rewrite, "cooler", with(search, map[string]string{"temperature": "0"}))},
		{22 * day, w.save(felix, clause, "first version", chat(w.Models.Large, review, "{{clause}}"))},
		{22*day - time.Minute, w.move(felix, to(clause, "production", 1, "first release"))},
		{18 * day, w.save(omar, claim, "first version", chat(w.Models.Mini, "Sort the claim by urgency: high, normal or low.", "{{claim}}"))},
		{18*day - time.Minute, w.move(omar, to(claim, "production", 1, "first release"))},
	}
}
