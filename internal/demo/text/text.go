// Package text has the prompts that the companies of the demo send, and the answers of the simulated models.
package text

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

// Feature is a use of models in a company: the texts that it sends, and the answers of the simulated models.
type Feature struct {
	Name string
	ask  string   // the instruction, which begins every prompt
	On   []string // what the instruction is about; %[1]s is an order or document number, %[2]s a name
	say  []string // answers
}

// Prompt is a text that the feature sends.
func (f *Feature) Prompt(draw *rand.Rand) string {
	about := f.On[draw.IntN(len(f.On))]
	if strings.Contains(about, "%[") {
		about = fmt.Sprintf(about, reference(draw), customers[draw.IntN(len(customers))])
	}
	return f.ask + "\n\n" + about
}

// reference is the number of an order, a contract or a claim.
func reference(draw *rand.Rand) string {
	const alphabet = "ABCDEFGHKLMNPRSTUVWX"
	return fmt.Sprintf("%c%c-%05d", alphabet[draw.IntN(len(alphabet))], alphabet[draw.IntN(len(alphabet))], 10_000+draw.IntN(90_000))
}

// Reply is the answer of the simulated models to a message. It depends on the message alone.
func Reply(message string) string {
	h := fnv.New32a()
	h.Write([]byte(message))
	for i := range features {
		if f := &features[i]; strings.HasPrefix(message, f.ask) {
			return f.say[int(h.Sum32()%uint32(len(f.say)))]
		}
	}
	return "This is a simulated model of the demo. It has prepared answers for the texts that the demo sends, and this sentence for all others."
}

var customers = []string{
	"Anna Berglund", "Marcus Hill", "Sofia Ferreira", "Daniel Novak", "Grace Mensah", "Oliver Brandt", "Leila Haddad", "Peter Sandoval", "Yuki Tanaka", "Claire Dubois",
}

// The features. Each answer fits each text of its feature.
var features = []Feature{
	{
		Name: "reply-draft",
		ask:  "Draft a friendly reply to this customer message. Two or three sentences, no promises about dates.",
		On: []string{
			"Hello, my order %[1]s was supposed to arrive on Tuesday and the tracking page has not changed since. Can you check where it is? Kind regards, %[2]s",
			"Hi, I would like to return the jacket from order %[1]s. It is a size too small, and the label is still on it. How do I send it back? %[2]s",
			"The zip of the tent that I bought in spring (order %[1]s) broke on the second weekend. Is that covered by the warranty? Best, %[2]s",
			"I was charged twice for order %[1]s. Please have a look and refund one of the two payments. %[2]s",
			"Could you change the delivery address of order %[1]s to my office? I will not be at home this week. Thanks, %[2]s",
		},
		say: []string{
			"Thank you for writing to us, and I am sorry for the trouble. I have looked up your order and passed it to the colleague who can put this right; you will get a message from us as soon as there is an update.",
			"Thanks for getting in touch. I completely understand that this is annoying, and we will sort it out for you at no extra cost. Please keep the packaging for now; the next steps are in the mail that I have just sent.",
			"Hello, and thank you for the details. I have added them to your order and asked the warehouse to confirm. You do not need to do anything else at the moment.",
		},
	},
	{
		Name: "mail-triage",
		ask:  "Classify this support mail as delivery, returns, warranty, payment or other. Answer with the category and one short reason.",
		On: []string{
			"Subject: Where is my parcel? The courier says that %[1]s was delivered, but nobody in the house has it.",
			"Subject: Refund for %[1]s. I sent the boots back two weeks ago and have not seen the money yet.",
			"Subject: Broken stove. The igniter of the camping stove from order %[1]s stopped working after a month.",
			"Subject: Invoice. I need an invoice for %[1]s with our VAT number on it.",
			"Subject: Cooperation. We run a climbing gym and would like to talk about a partnership.",
		},
		say: []string{
			"delivery: the customer asks where the parcel is, although the courier reports it as delivered.",
			"returns: the goods were sent back, and the customer is waiting for the refund.",
			"warranty: a product failed within the warranty period.",
			"payment: the customer needs a corrected invoice.",
		},
	},
	{
		Name: "clause-review",
		ask:  "Review this contract clause for a supplier agreement. Name the main risk for the buyer in one sentence and propose a fairer wording.",
		On: []string{
			"Clause 7.2 of agreement %[1]s: The supplier may change prices at any time by notice of ten days. The buyer's sole remedy is to cancel orders that were not yet confirmed.",
			"Clause 11.1 of agreement %[1]s: The supplier's total liability is limited to the fees paid in the month before the event, for whatever legal reason.",
			"Clause 4.5 of agreement %[1]s: Delivery dates are estimates. Late delivery does not entitle the buyer to terminate or to claim damages.",
			"Clause 14.3 of agreement %[1]s: This agreement renews for further periods of three years unless either side gives notice twelve months before its end.",
		},
		say: []string{
			"Risk: the buyer carries an open-ended cost or delay and has no effective remedy. Proposal: changes take effect after sixty days; if the buyer objects within thirty days, it may terminate the affected orders without charge.",
			"Risk: the cap is far below the loss that a serious breach would cause. Proposal: liability is limited to the fees of the last twelve months, and is unlimited for intent, gross negligence and breach of confidentiality.",
			"Risk: the buyer is bound for long without a practical way out. Proposal: the agreement renews for one year at a time, and either side may give notice three months before the end of a period.",
		},
	},
	{
		Name: "contract-summary",
		ask:  "Summarise this agreement for a busy manager in three bullet points: term, money, exit.",
		On: []string{
			"Framework agreement %[1]s: two years from signature, renewed yearly. Prices as in annex B, adjusted each January by the consumer price index, at most 3 %%. Either side may terminate with notice of ninety days.",
			"Maintenance agreement %[1]s: twelve months, a flat fee of EUR 4,200 a month, response within four hours on working days. Termination at the end of a quarter with notice of six weeks.",
			"Licence agreement %[1]s: perpetual licence for up to 250 users, one payment of USD 96,000, support at 18 %% a year from the second year. Support can be cancelled yearly, the licence stays.",
		},
		say: []string{
			"- Term: a fixed first period, then yearly renewal.\n- Money: prices are agreed, and yearly increases are capped.\n- Exit: either side can leave with the notice that the text names; plan the date early.",
			"- Term: one year, with service times on working days.\n- Money: a fixed monthly fee, no variable part.\n- Exit: possible every quarter with six weeks' notice.",
			"- Term: unlimited for the licence, yearly for support.\n- Money: one payment now, then a percentage for support.\n- Exit: support can be ended each year, and the licence remains.",
		},
	},
	{
		Name: "product-copy",
		ask:  "Write a product description of about 40 words for an online shop. Plain language, no superlatives.",
		On: []string{
			"Article %[1]s: desk lamp, oak and powder-coated steel, dimmable, USB-C, 2700 to 4000 K, cable 1.8 m.",
			"Article %[1]s: wool blanket, 130 x 180 cm, 100 %% lambswool, woven in Portugal, machine wash cold.",
			"Article %[1]s: pour-over coffee set, borosilicate glass, 600 ml, reusable steel filter, cork sleeve.",
			"Article %[1]s: storage box, recycled felt, 32 x 22 x 18 cm, two handles, folds flat.",
			"Article %[1]s: table linen, set of four napkins, 45 x 45 cm, stonewashed linen, eight colours.",
		},
		say: []string{
			"Made for daily use, from materials that age well. It fits small flats as easily as large tables, needs little care, and does one thing properly. Delivered in a carton without plastic; spare parts are available from our workshop for years.",
			"A quiet companion for the home: natural materials, a clear shape and a size that works almost anywhere. Easy to clean, pleasant to touch, and built so that worn parts can be replaced. Available in several colours.",
			"Simple, sturdy and useful every day. The materials come from certified mills, the finish is smooth and free of solvents, and the measurements suit standard furniture. Fold it away when you need the space.",
		},
	},
	{
		Name: "translation",
		ask:  "Translate into German. Keep product names and numbers.",
		On: []string{
			"Thank you for your order %[1]s. We will send you a message as soon as it leaves our warehouse.",
			"This blanket is woven from lambswool in Portugal and can be washed at 30 degrees.",
			"Your return has arrived. The refund will be on your account within five working days.",
			"The lamp comes with a two-year warranty. Please keep the receipt.",
		},
		say: []string{
			"Vielen Dank für Ihre Bestellung. Wir benachrichtigen Sie, sobald sie unser Lager verlässt.",
			"Diese Decke wird in Portugal aus Lammwolle gewebt und ist bei 30 Grad waschbar.",
			"Ihre Rücksendung ist eingetroffen. Der Betrag ist innerhalb von fünf Werktagen auf Ihrem Konto.",
			"Auf die Lampe geben wir zwei Jahre Garantie. Bitte bewahren Sie den Beleg auf.",
		},
	},
	{
		Name: "product-search",
		ask:  "search_document:",
		On: []string{
			"Desk lamp in oak and steel, dimmable, with USB-C. Article %[1]s.", "Lambswool blanket, 130 x 180 cm, woven in Portugal. Article %[1]s.",
			"Pour-over coffee set with a reusable filter, 600 ml. Article %[1]s.", "Storage box of recycled felt that folds flat. Article %[1]s.",
		},
		say: []string{"An embedding has no text."},
	},
	{
		Name: "claim-triage",
		ask:  "Read this insurance claim and answer in two lines: severity (low, medium, high) and the next step for the clerk.",
		On: []string{
			"Claim %[1]s by %[2]s: water from a burst hose of the dishwasher damaged the kitchen floor on about four square metres. Photos are attached, a plumber has stopped the leak.",
			"Claim %[1]s by %[2]s: a branch fell on the parked car during the storm on Sunday. The windscreen is cracked and the roof dented. The car can be driven.",
			"Claim %[1]s by %[2]s: the bicycle was stolen from the locked cellar. The police report and the purchase receipt are attached.",
			"Claim %[1]s by %[2]s: hail damaged the greenhouse and two skylights. The skylights are covered with foil for now.",
		},
		say: []string{
			"Severity: medium.\nNext step: confirm the cover, ask for a repair estimate, and approve an advance of up to EUR 1,500.",
			"Severity: low.\nNext step: documents are complete; settle by the table of values and inform the customer.",
			"Severity: high.\nNext step: send an expert within two working days and note the provisional repair.",
		},
	},
	{
		Name: "policy-answer",
		ask:  "Answer the customer's question from the policy text in at most two sentences. Say so if the text does not cover it.",
		On: []string{
			"Policy %[1]s: theft from locked cellars is covered up to EUR 3,000. Question: Is my bicycle insured in the shared cellar?",
			"Policy %[1]s: damage by water from pipes is covered, ground water is not. Question: Does the policy pay when the river floods our cellar?",
			"Policy %[1]s: glass of windows and of the terrace is covered. Question: What about the glass of my ceramic hob?",
		},
		say: []string{
			"Yes, within the limits that the policy names, if the cellar was locked. Please keep the receipt and report the loss to the police first.",
			"The text does not cover this case. A colleague can tell you which extension would.",
		},
	},
	{
		Name: "abstract-screening",
		ask:  "Decide whether this abstract belongs to a review on battery recycling. Answer include or exclude, with one sentence of reason.",
		On: []string{
			"Abstract %[1]s: We compare three hydrometallurgical routes for recovering lithium and cobalt from used cells, and report yields between 84 and 97 %%.",
			"Abstract %[1]s: A survey among 1,200 drivers shows which factors decide the purchase of an electric car.",
			"Abstract %[1]s: Direct recycling of cathode material is tested on pilot scale; the capacity after 500 cycles is 91 %% of new material.",
		},
		say: []string{
			"include: the study measures the recovery of battery materials and reports yields.",
			"exclude: the topic is the market, not the recycling of cells.",
		},
	},
}

// Named returns a feature. It panics for a name that no feature has.
func Named(name string) *Feature {
	for i := range features {
		if features[i].Name == name {
			return &features[i]
		}
	}
	panic("text: no feature is called " + name)
}
