package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"penstock/internal/store"
)

// adminPage is how many entries are asked for at a time.
const adminPage = 1000

func (sh *shell) tenantsCommand() *cobra.Command {
	verbs := []*cobra.Command{sh.tenantsListCommand(), sh.tenantsGetCommand(), sh.tenantsCreateCommand(), sh.tenantsUpdateCommand(), sh.tenantsDeleteCommand()}
	return noun("tenants", "Create, change, pause and resume tenants", append(verbs, sh.pauseCommands(store.ControlTenant, "search")...)...)
}

// tenant is a tenant as the admin API tells it.
type tenant struct {
	ID, Source, Tier       string
	Enabled                bool
	Weight                 int
	Lanes, Regions, Models []string
	MediaHosts             []string `json:"media_hosts"`
	Retention              struct{ Results, Events, Idempotency string }
	allowed
	ETag      string
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	DryRun    bool      `json:"dry_run"`
}

// changing is the flags of every command that changes tenants or keys, or holds something back.
type changing struct {
	at, match string
	dryRun    bool
}

func (o *changing) flags(c *cobra.Command) {
	adminFlag(c, &o.at)
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "show the result and change nothing")
}

// matchFlag is for changes of what is there.
func (o *changing) matchFlag(c *cobra.Command) { matchFlag(c, &o.match) }

func matchFlag(c *cobra.Command, match *string) {
	c.Flags().StringVar(match, "if-match", "", "change it only if its current ETag is `ETAG`")
}

// change makes a change at the admin API and returns what it answers.
func (sh *shell) change(ctx context.Context, o changing, call adminCall) (answer json.RawMessage, err error) {
	a, err := sh.connectAdmin(o.at)
	if err != nil {
		return nil, err
	}
	call.query, call.match = url.Values{}, o.match
	if who := sh.operator(); who != "" {
		call.query.Set("actor", who)
	}
	if o.dryRun {
		call.query.Set("dry_run", "true")
	}
	return answer, a.do(ctx, call, &answer)
}

// adminList reads a whole list of the admin API, page by page.
func (sh *shell) adminList(ctx context.Context, at string, call adminCall) (all []json.RawMessage, err error) {
	a, err := sh.connectAdmin(at)
	if err != nil {
		return nil, err
	}
	call.method = http.MethodGet
	if !call.whole {
		call.query.Set("limit", strconv.Itoa(adminPage))
	}
	for {
		var page struct {
			Data    []json.RawMessage `json:"data"`
			HasMore bool              `json:"has_more"`
		}
		if err := a.do(ctx, call, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Data...)
		if !page.HasMore || len(page.Data) == 0 {
			return all, nil
		}
		var last struct{ ID string }
		if err := json.Unmarshal(page.Data[len(page.Data)-1], &last); err != nil {
			return nil, fmt.Errorf("reading a list: %w", err)
		}
		call.query.Set("after", last.ID)
	}
}

func (sh *shell) tenantsListCommand() *cobra.Command {
	var at, tier string
	c := &cobra.Command{
		Use: "list", Short: "List tenants, including those of the configuration file", Args: takes(),
		Example: "  penstock tenants list\n  penstock tenants list --tier gold -o json",
		RunE: func(c *cobra.Command, _ []string) error {
			query := url.Values{}
			if tier != "" {
				query.Set("tier", tier)
			}
			all, err := sh.adminList(c.Context(), at, adminCall{path: []string{"admin/v1/tenants"}, query: query})
			if err != nil {
				return err
			}
			if sh.output == outputJSON {
				return sh.json(rawList{Object: "list", Data: append([]json.RawMessage{}, all...)})
			}
			table := sh.table("ID", "STATE", "SOURCE", "TIER", "WEIGHT", "LANES", "MODELS", "REGIONS")
			for _, raw := range all {
				var t tenant
				if err := json.Unmarshal(raw, &t); err != nil {
					return fmt.Errorf("reading a tenant: %w", err)
				}
				err := table.row(t.ID, t.state(), t.Source, t.Tier, strconv.Itoa(t.Weight), strings.Join(t.Lanes, ","),
					sh.brief(strings.Join(t.Models, ",")), strings.Join(t.Regions, ","))
				if err != nil {
					return err
				}
			}
			return table.end("There are no tenants.")
		},
	}
	adminFlag(c, &at)
	c.Flags().StringVar(&tier, "tier", "", "only those of this tier")
	return c
}

func (t tenant) state() string {
	if t.Enabled {
		return "enabled"
	}
	return "disabled"
}

func (sh *shell) tenantsGetCommand() *cobra.Command {
	var at string
	c := &cobra.Command{
		Use: "get ID", Short: "Show a tenant", Args: takes("ID"), Example: "  penstock tenants get search",
		RunE: func(c *cobra.Command, args []string) error {
			a, err := sh.connectAdmin(at)
			if err != nil {
				return err
			}
			var raw json.RawMessage
			if err := a.do(c.Context(), adminCall{method: http.MethodGet, path: []string{"admin/v1/tenants", args[0]}}, &raw); err != nil {
				return err
			}
			return sh.printTenant(raw)
		},
	}
	adminFlag(c, &at)
	return c
}

func (sh *shell) printTenant(raw json.RawMessage) error {
	if sh.output == outputJSON {
		return sh.raw(raw)
	}
	var t tenant
	if err := json.Unmarshal(raw, &t); err != nil {
		return fmt.Errorf("reading a tenant: %w", err)
	}
	note := ""
	if t.DryRun {
		note = "nothing was changed"
	}
	about := []field{{"Dry run", note}, {"Tenant", t.ID}, {"State", t.state()}, {"Source", t.Source}, {"Tier", t.Tier},
		{"Weight", strconv.Itoa(t.Weight)}, {"Lanes", strings.Join(t.Lanes, ", ")}, {"Models", cmp.Or(strings.Join(t.Models, ", "), "any")},
		{"Regions", cmp.Or(strings.Join(t.Regions, ", "), "anywhere")},
		{"Media hosts", cmp.Or(strings.Join(t.MediaHosts, ", "), "by default")}, {"Results kept", t.Retention.Results},
		{"Events kept", t.Retention.Events}, {"Idempotency kept", t.Retention.Idempotency}}
	about = append(about, t.allowed.fields()...)
	return sh.describe(append(about, field{"ETag", t.ETag}, field{"Created", sh.when(t.CreatedAt)}, field{"Updated", sh.when(t.UpdatedAt)})...)
}

// tenantFlags are what can be said about a tenant. Only flags that were given are sent.
type tenantFlags struct {
	changing
	tier                               string
	weight                             int
	lanes, regions, models, media      []string
	results, events, idempotent, files time.Duration
	enabled                            bool
	may                                allowance
}

func (o *tenantFlags) add(c *cobra.Command) {
	o.flags(c)
	f := c.Flags()
	f.StringVar(&o.tier, "tier", "", "your own word for a kind of tenant")
	f.IntVar(&o.weight, "weight", 1, "its share of the queue, relative to others: 1 to 1000")
	f.StringSliceVar(&o.lanes, "lanes", nil, "lanes it may use: realtime,standard,bulk")
	f.StringSliceVar(&o.regions, "regions", nil, "regions its work may run in; empty for anywhere")
	f.StringSliceVar(&o.models, "models", nil, "models it may use; empty for any")
	f.StringSliceVar(&o.media, "media-hosts", nil, "hosts that URLs in its bodies may name, such as *.example.com; none, public or any; empty for the default")
	f.DurationVar(&o.results, "keep-results", 0, "how long finished work is kept, such as 168h")
	f.DurationVar(&o.events, "keep-events", 0, "how long a job's log is kept after its end")
	f.DurationVar(&o.files, "keep-files", 0, "how long files are kept after their upload")
	f.DurationVar(&o.idempotent, "keep-idempotency", 0, "how long an idempotency key is kept, at least 24h")
	f.BoolVar(&o.enabled, "enabled", true, "whether its keys work")
	o.may.add(c)
	o.may.addParts(c)
}

// body is what the flags say.
func (o *tenantFlags) body(c *cobra.Command) (map[string]any, error) {
	said := map[string]any{}
	for name, value := range map[string]any{
		"tier": o.tier, "weight": o.weight, "lanes": o.lanes, "regions": o.regions, "models": o.models, "enabled": o.enabled,
	} {
		if c.Flags().Changed(name) {
			said[name] = value
		}
	}
	if c.Flags().Changed("media-hosts") {
		said["media_hosts"] = o.media
	}
	kept := map[string]string{}
	for name, d := range map[string]time.Duration{"results": o.results, "events": o.events, "idempotency": o.idempotent, "files": o.files} {
		if c.Flags().Changed("keep-" + name) {
			kept[name] = d.String()
		}
	}
	if len(kept) > 0 {
		said["retention"] = kept
	}
	return said, o.may.say(c, said)
}

func (sh *shell) tenantsCreateCommand() *cobra.Command {
	var o tenantFlags
	c := &cobra.Command{
		Use: "create ID", Short: "Create a tenant", Args: takes("ID"),
		Example: "  penstock tenants create search --tier gold --weight 3 --models fast,smart\n  penstock keys create app --tenant search",
		RunE: func(c *cobra.Command, args []string) error {
			body, err := o.body(c)
			if err != nil {
				return err
			}
			body["id"] = args[0]
			raw, err := sh.change(c.Context(), o.changing, adminCall{method: http.MethodPost, path: []string{"admin/v1/tenants"}, body: body})
			if err != nil {
				return err
			}
			return sh.printTenant(raw)
		},
	}
	o.add(c)
	return c
}

func (sh *shell) tenantsUpdateCommand() *cobra.Command {
	var o tenantFlags
	c := &cobra.Command{
		Use: "update ID", Short: "Change some fields of a tenant", Args: takes("ID"),
		Long: `Changes the given fields of a tenant, and no others. The --keep flags belong together:
those that are left out return to the global default. So do --limits and
--model-limits: what is left out is removed.`,
		Example: "  penstock tenants update search --weight 5\n  penstock tenants update search --limits requests_per_minute=600 --budget monthly=500,hard\n  penstock tenants update search --enabled=false --if-match '\"v12\"'",
		RunE: func(c *cobra.Command, args []string) error {
			body, err := o.body(c)
			if err != nil {
				return err
			}
			if len(body) == 0 {
				return usageError{"say what to change, such as --weight 5"}
			}
			raw, err := sh.change(c.Context(), o.changing, adminCall{method: http.MethodPatch, path: []string{"admin/v1/tenants", args[0]}, body: body})
			if err != nil {
				return err
			}
			return sh.printTenant(raw)
		},
	}
	o.add(c)
	o.matchFlag(c)
	return c
}

func (sh *shell) tenantsDeleteCommand() *cobra.Command {
	var o changing
	c := &cobra.Command{
		Use: "delete ID", Short: "Disable a tenant and revoke its keys", Args: takes("ID"),
		Long: `Disables a tenant and revokes all its keys for good. Its accepted work still runs,
and its results and ledger entries are kept as usual. To refuse its calls for a while, use
"update ID --enabled=false"; to hold its queued work, "pause".`,
		Example: "  penstock tenants delete search --dry-run\n  penstock tenants delete search",
		RunE: func(c *cobra.Command, args []string) error {
			raw, err := sh.change(c.Context(), o, adminCall{method: http.MethodDelete, path: []string{"admin/v1/tenants", args[0]}})
			if err != nil {
				return err
			}
			return sh.printTenant(raw)
		},
	}
	o.flags(c)
	o.matchFlag(c)
	return c
}
