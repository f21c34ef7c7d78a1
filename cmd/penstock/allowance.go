package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"penstock"
)

// allowance is the flags that say what a tenant or a key may use and spend.
type allowance struct {
	limits, budget            string
	modelLimits, modelBudgets []string
	tagBudgets                []string
}

func (o *allowance) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.limits, "limits", "", "its limits, such as `requests_per_minute=600,concurrency=40,wait=2s`; all others are removed")
	f.StringVar(&o.budget, "budget", "", "budget, such as `monthly=500,hard`; periods are daily, monthly and total; empty removes it")
}

// addParts declares the flags that tenants have and keys do not.
func (o *allowance) addParts(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVar(&o.modelLimits, "model-limits", nil, "limits of its calls for one model, `MODEL:requests_per_minute=60`, sent with --limits; may be repeated")
	f.StringArrayVar(&o.modelBudgets, "model-budget", nil, "budget for one model, `MODEL:monthly=50,hard`; all others are removed; may be repeated")
	f.StringArrayVar(&o.tagBudgets, "tag-budget", nil, "budget for work with one tag, `KEY:VALUE:monthly=50,hard`; all others are removed; may be repeated")
}

// say puts into a body what the flags say. Only flags that were given are sent.
func (o *allowance) say(c *cobra.Command, body map[string]any) error {
	if c.Flags().Changed("limits") || c.Flags().Changed("model-limits") {
		limits, err := readLimits("--limits", o.limits)
		if err != nil {
			return err
		}
		models := map[string]any{}
		err = eachModel("--model-limits", o.modelLimits, func(model, text string) (err error) {
			models[model], err = readLimits("--model-limits", text)
			return err
		})
		if err != nil {
			return err
		}
		if len(models) > 0 {
			limits["models"] = models
		}
		body["limits"] = limits
	}
	if c.Flags().Changed("budget") {
		budget, err := readBudget("--budget", o.budget)
		if err != nil {
			return err
		}
		body["budget"] = budget
	}
	if c.Flags().Changed("model-budget") {
		budgets := map[string]any{}
		body["model_budgets"] = budgets
		err := eachModel("--model-budget", o.modelBudgets, func(model, text string) (err error) {
			budgets[model], err = readBudget("--model-budget", text)
			return err
		})
		if err != nil {
			return err
		}
	}
	if c.Flags().Changed("tag-budget") {
		budgets, err := readTagBudgets("--tag-budget", o.tagBudgets)
		if err != nil {
			return err
		}
		body["tag_budgets"] = budgets
	}
	return nil
}

// readTagBudgets reads flags of the form KEY:VALUE:monthly=50.
func readTagBudgets(flag string, values []string) (map[string]any, error) {
	budgets := map[string]any{}
	for _, one := range values {
		if one == "" {
			continue
		}
		at := strings.LastIndex(one, ":")
		key, value, ok := cutTag(one[:max(at, 0)])
		if !ok {
			return nil, usageError{flag + " must look like KEY:VALUE:budget, such as team:search:monthly=50,hard"}
		}
		budget, err := readBudget(flag, one[at+1:])
		if err != nil {
			return nil, err
		}
		budgets[penstock.TagText(key, value)] = budget
	}
	return budgets, nil
}

// eachModel divides flags of the form MODEL:what. An empty one stands for none.
func eachModel(flag string, values []string, read func(model, text string) error) error {
	for _, value := range values {
		if value == "" {
			continue
		}
		model, text, ok := strings.Cut(value, ":")
		if !ok || model == "" {
			return usageError{flag + " must look like MODEL:" + strings.TrimPrefix(flag, "--model-") + ", such as smart:monthly=50"}
		}
		if err := read(model, text); err != nil {
			return err
		}
	}
	return nil
}

// readLimits reads name=number pairs, and the time of a wait; the server knows the names.
func readLimits(flag, text string) (map[string]any, error) {
	limits := map[string]any{}
	for pair := range strings.SplitSeq(text, ",") {
		if pair == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		if name == "wait" && ok {
			limits[name] = value // a time, such as 2s
			continue
		}
		if _, err := strconv.ParseFloat(value, 64); !ok || err != nil {
			return nil, usageError{flag + " must look like requests_per_minute=600,concurrency=40"}
		}
		limits[name] = json.RawMessage(value)
	}
	return limits, nil
}

// readBudget reads period=dollars pairs and the word hard.
func readBudget(flag, text string) (map[string]any, error) {
	budget := map[string]any{}
	for part := range strings.SplitSeq(text, ",") {
		period, dollars, ok := strings.Cut(part, "=")
		period = strings.TrimSuffix(period, "_usd") // the names of the file and the API work too
		switch {
		case part == "":
		case part == "hard" || part == "hard=true":
			budget["hard"] = true
		case ok && (period == "daily" || period == "monthly" || period == "total"):
			budget[period+"_usd"] = dollars
		default:
			return nil, usageError{flag + " must look like monthly=500,hard; the periods are daily, monthly and total"}
		}
	}
	return budget, nil
}

// allowed is what a tenant or a key may use and spend, as the admin API tells it.
type allowed struct {
	Limits       map[string]any
	Budget       map[string]any
	ModelBudgets map[string]map[string]any `json:"model_budgets"`
	TagBudgets   map[string]map[string]any `json:"tag_budgets"`
}

// fields shows it.
func (a allowed) fields() []field {
	compact := func(v any) string {
		text, _ := json.Marshal(v) // it was read from JSON
		if string(text) == "null" {
			return ""
		}
		return strings.ReplaceAll(string(text[1:len(text)-1]), `"`, "") // without the outermost braces
	}
	return []field{{"Limits", compact(a.Limits)}, {"Budget", compact(a.Budget)}, {"Model budgets", compact(a.ModelBudgets)}, {"Tag budgets", compact(a.TagBudgets)}}
}

func (sh *shell) keysUpdateCommand() *cobra.Command {
	var o changing
	var may allowance
	c := &cobra.Command{
		Use: "update KEY", Short: "Change the limits and the budget of a key", Args: takes("KEY"),
		Long: `Changes the limits and the budget of a key. They belong to its name: an old key that
still works after a rotation shares them with the new one.`,
		Example: "  penstock keys update key_01… --limits requests_per_minute=300\n  penstock keys update key_01… --budget daily=5,hard\n  penstock keys update key_01… --limits ''",
		RunE: func(c *cobra.Command, args []string) error {
			body := map[string]any{}
			if err := may.say(c, body); err != nil {
				return err
			}
			if len(body) == 0 {
				return usageError{"say what to change, such as --limits requests_per_minute=300"}
			}
			raw, err := sh.change(c.Context(), o, adminCall{method: http.MethodPatch, path: []string{"admin/v1/keys", args[0]}, body: body})
			if err != nil {
				return err
			}
			return sh.printKey(raw)
		},
	}
	o.flags(c)
	o.matchFlag(c)
	may.add(c)
	return c
}

func (sh *shell) budgetsCommand() *cobra.Command {
	var at, tenant string
	list := &cobra.Command{
		Use: "list", Short: "Show the budgets of a tenant: limit, spent, reserved and left", Args: takes(),
		Long: `Shows the budgets of a tenant in their current periods: of the tenant, its keys, its
models and its tags, from the configuration file and from "tenants update" and "keys update".`,
		Example: "  penstock budgets list --tenant search",
		RunE: func(c *cobra.Command, _ []string) error {
			if tenant == "" {
				return usageError{"--tenant is missing: name the tenant whose budgets to show"}
			}
			all, err := sh.adminList(c.Context(), at, adminCall{path: []string{"admin/v1/budgets"}, query: url.Values{"tenant": {tenant}}, whole: true})
			if err != nil {
				return err
			}
			if sh.output == outputJSON {
				return sh.json(rawList{Object: "list", Data: append([]json.RawMessage{}, all...)})
			}
			return sh.printBudgets(all)
		},
	}
	adminFlag(list, &at)
	list.Flags().StringVar(&tenant, "tenant", "", "tenant whose budgets to show")
	return noun("budgets", "Show budgets", list)
}

func (sh *shell) printBudgets(all []json.RawMessage) error {
	table := sh.table("KEY", "MODEL", "TAG", "PERIOD", "KIND", "LIMIT", "SPENT", "SET ASIDE", "LEFT", "SOURCE", "USED UP")
	for _, raw := range all {
		var b struct {
			Key, Model, Tag, Period, Source string
			Hard                            bool
			Limit                           penstock.NanoUSD `json:"limit_usd"`
			Spent                           penstock.NanoUSD `json:"spent_usd"`
			Held                            penstock.NanoUSD `json:"held_usd"`
			Left                            penstock.NanoUSD `json:"left_usd"`
			ExceededAt                      time.Time        `json:"exceeded_at"`
		}
		if err := json.Unmarshal(raw, &b); err != nil {
			return fmt.Errorf("reading a budget: %w", err)
		}
		kind := "soft"
		if b.Hard {
			kind = "hard"
		}
		err := table.row(b.Key, b.Model, b.Tag, b.Period, kind, dollars(b.Limit), dollars(b.Spent), dollars(b.Held), dollars(b.Left), b.Source, sh.when(b.ExceededAt))
		if err != nil {
			return err
		}
	}
	return table.end("It has no budgets.")
}
