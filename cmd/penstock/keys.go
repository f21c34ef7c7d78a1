package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

func (sh *shell) keysCommand() *cobra.Command {
	return noun("keys", "Create, limit, rotate and revoke API keys", sh.keysListCommand(), sh.keysCreateCommand(), sh.keysUpdateCommand(), sh.keysRotateCommand(), sh.keysRevokeCommand())
}

// apiKeyView is a key as the admin API tells it.
type apiKeyView struct {
	ID, Tenant, Name, Source, Prefix, Status string
	Scopes                                   []string
	Secret, ETag                             string
	CreatedAt                                time.Time `json:"created_at"`
	ExpiresAt                                time.Time `json:"expires_at"`
	LastUsedAt                               time.Time `json:"last_used_at"`
	DryRun                                   bool      `json:"dry_run"`
	allowed
}

func (sh *shell) keysListCommand() *cobra.Command {
	var at, tenant string
	c := &cobra.Command{
		Use: "list", Short: "List keys, oldest first", Args: takes(),
		Long: `Lists keys, oldest first, including those that ended recently. With --tenant, the keys
of the configuration file come first.`,
		Example: "  penstock keys list\n  penstock keys list --tenant search",
		RunE: func(c *cobra.Command, _ []string) error {
			query := url.Values{}
			if tenant != "" {
				query.Set("tenant", tenant)
			}
			all, err := sh.adminList(c.Context(), at, adminCall{path: []string{"admin/v1/keys"}, query: query})
			if err != nil {
				return err
			}
			if sh.output == outputJSON {
				return sh.json(rawList{Object: "list", Data: append([]json.RawMessage{}, all...)})
			}
			table := sh.table("ID", "TENANT", "NAME", "STATUS", "PREFIX", "SCOPES", "EXPIRES", "LAST USED")
			for _, raw := range all {
				var k apiKeyView
				if err := json.Unmarshal(raw, &k); err != nil {
					return fmt.Errorf("reading a key: %w", err)
				}
				err := table.row(k.ID, k.Tenant, k.Name, k.Status, k.Prefix, strings.Join(k.Scopes, ","), sh.when(k.ExpiresAt), sh.when(k.LastUsedAt))
				if err != nil {
					return err
				}
			}
			return table.end("There are no keys.")
		},
	}
	adminFlag(c, &at)
	c.Flags().StringVar(&tenant, "tenant", "", "only those of this tenant")
	return c
}

func (sh *shell) keysCreateCommand() *cobra.Command {
	var o changing
	var tenant string
	var scopes []string
	var expires time.Duration
	var may allowance
	c := &cobra.Command{
		Use: "create NAME", Short: "Create a key and print its secret, once", Args: takes("NAME"),
		Example: "  penstock keys create app --tenant search\n  penstock keys create nightly --tenant search --scopes jobs:write,jobs:read --expires-in 720h",
		RunE: func(c *cobra.Command, args []string) error {
			if tenant == "" {
				return usageError{"--tenant is missing: name the tenant that the key belongs to"}
			}
			body := map[string]any{"tenant": tenant, "name": args[0]}
			if len(scopes) > 0 {
				body["scopes"] = scopes
			}
			if expires != 0 {
				body["expires_in"] = expires.String()
			}
			if err := may.say(c, body); err != nil {
				return err
			}
			raw, err := sh.change(c.Context(), o, adminCall{method: http.MethodPost, path: []string{"admin/v1/keys"}, body: body})
			if err != nil {
				return err
			}
			return sh.printKey(raw)
		},
	}
	o.flags(c)
	c.Flags().StringVar(&tenant, "tenant", "", "tenant that the key belongs to")
	c.Flags().StringSliceVar(&scopes, "scopes", nil, "scopes: inference, jobs:write, jobs:read, webhooks, prompts:read, prompts:write, admin (all but admin)")
	c.Flags().DurationVar(&expires, "expires-in", 0, "how long it works, such as 720h (for ever)")
	may.add(c)
	return c
}

func (sh *shell) keysRotateCommand() *cobra.Command {
	var o changing
	var overlap, expires time.Duration
	c := &cobra.Command{
		Use: "rotate KEY", Short: "Replace a key; the old one works for the overlap", Args: takes("KEY"),
		Example: "  penstock keys rotate key_01… --overlap 1h",
		RunE: func(c *cobra.Command, args []string) error {
			body := map[string]any{}
			if c.Flags().Changed("overlap") {
				body["overlap"] = overlap.String()
			}
			if expires != 0 {
				body["expires_in"] = expires.String()
			}
			raw, err := sh.change(c.Context(), o, adminCall{method: http.MethodPost, path: []string{"admin/v1/keys", args[0], "rotate"}, body: body})
			if err != nil {
				return err
			}
			return sh.printKey(raw)
		},
	}
	o.flags(c)
	o.matchFlag(c)
	c.Flags().DurationVar(&overlap, "overlap", 24*time.Hour, "how long the old key still works")
	c.Flags().DurationVar(&expires, "expires-in", 0, "how long the new key works, such as 720h (for ever)")
	return c
}

func (sh *shell) keysRevokeCommand() *cobra.Command {
	var o changing
	c := &cobra.Command{
		Use: "revoke KEY", Short: "Revoke a key for good, in every process within a second", Args: takes("KEY"),
		Example: "  penstock keys revoke key_01…",
		RunE: func(c *cobra.Command, args []string) error {
			raw, err := sh.change(c.Context(), o, adminCall{method: http.MethodDelete, path: []string{"admin/v1/keys", args[0]}})
			if err != nil {
				return err
			}
			return sh.printKey(raw)
		},
	}
	o.flags(c)
	o.matchFlag(c)
	return c
}

func (sh *shell) printKey(raw json.RawMessage) error {
	if sh.output == outputJSON {
		return sh.raw(raw)
	}
	var k apiKeyView
	if err := json.Unmarshal(raw, &k); err != nil {
		return fmt.Errorf("reading a key: %w", err)
	}
	note := ""
	if k.DryRun {
		note = "nothing was changed"
	}
	about := []field{{"Dry run", note}, {"Key", k.ID}, {"Tenant", k.Tenant}, {"Name", k.Name}, {"Status", k.Status},
		{"Scopes", strings.Join(k.Scopes, ", ")}, {"Prefix", k.Prefix}, {"Expires", sh.when(k.ExpiresAt)}}
	about = append(about, k.allowed.fields()...)
	err := sh.describe(append(about, field{"ETag", k.ETag}, field{"Secret", k.Secret})...)
	if err == nil && k.Secret != "" {
		fmt.Fprintln(sh.stderr, "The secret is shown only now; store it where your application can read it.")
	}
	return err
}
