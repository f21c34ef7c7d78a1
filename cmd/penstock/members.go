package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

func (sh *shell) membersCommand() *cobra.Command {
	return noun("members", "Grant roles to people", sh.membersListCommand(), sh.membersGrantCommand(), sh.membersRemoveCommand())
}

// member is a granted role as the admin API tells it.
type member struct {
	ID, Source, Email, Person, Group, Issuer, Tenant, Role, Actor, ETag string
	CreatedAt                                                           time.Time `json:"created_at"`
	DryRun                                                              bool      `json:"dry_run"`
}

// who names the holder of the role.
func (m member) who() string {
	if m.Group != "" {
		return "group " + m.Group + " of " + m.Issuer
	}
	return cmp.Or(m.Email, m.Person)
}

// allTenants is what a table shows for a role in all tenants.
const allTenants = "(all)"

func (sh *shell) membersListCommand() *cobra.Command {
	var at, tenant string
	c := &cobra.Command{
		Use: "list", Short: "List the roles of people", Args: takes(),
		Long: `Lists the roles of people. Those of the configuration file come first; they have no
id, and only the file changes them.`,
		Example: "  penstock members list\n  penstock members list --tenant search",
		RunE: func(c *cobra.Command, _ []string) error {
			query := url.Values{}
			if tenant != "" {
				query.Set("tenant", tenant)
			}
			all, err := sh.adminList(c.Context(), at, adminCall{path: []string{"admin/v1/members"}, query: query})
			if err != nil {
				return err
			}
			if sh.output == outputJSON {
				return sh.json(rawList{Object: "list", Data: append([]json.RawMessage{}, all...)})
			}
			table := sh.table("ID", "WHO", "TENANT", "ROLE", "GRANTED BY", "CREATED")
			for _, raw := range all {
				var m member
				if err := json.Unmarshal(raw, &m); err != nil {
					return fmt.Errorf("reading a member: %w", err)
				}
				if err := table.row(m.ID, m.who(), cmp.Or(m.Tenant, allTenants), m.Role, cmp.Or(m.Actor, m.Source), sh.when(m.CreatedAt)); err != nil {
					return err
				}
			}
			return table.end("Nobody has a role.")
		},
	}
	adminFlag(c, &at)
	c.Flags().StringVar(&tenant, "tenant", "", "only roles in this tenant; - for roles in all tenants")
	return c
}

func (sh *shell) membersGrantCommand() *cobra.Command {
	var o changing
	var tenant, role string
	c := &cobra.Command{
		Use: "grant EMAIL", Short: "Grant a role to an e-mail address", Args: takes("EMAIL"),
		Long: `Grants a role to a person by the e-mail address that the identity provider verified.
Without --tenant the role counts in all tenants.`,
		Example: "  penstock members grant ada@example.com --role developer --tenant search\n  penstock members grant grace@example.com --role admin",
		RunE: func(c *cobra.Command, args []string) error {
			if role == "" {
				return usageError{"--role is missing: viewer, developer, reviewer, operator, auditor or admin"}
			}
			body := map[string]any{"email": args[0], "role": role}
			if tenant != "" {
				body["tenant"] = tenant
			}
			raw, err := sh.change(c.Context(), o, adminCall{method: http.MethodPost, path: []string{"admin/v1/members"}, body: body})
			if err != nil {
				return err
			}
			return sh.printMember(raw, "Granted")
		},
	}
	o.flags(c)
	c.Flags().StringVar(&tenant, "tenant", "", "tenant in which the role counts (all)")
	c.Flags().StringVar(&role, "role", "", "viewer, developer, reviewer, operator, auditor or admin")
	return c
}

func (sh *shell) membersRemoveCommand() *cobra.Command {
	var o changing
	c := &cobra.Command{
		Use: "remove MEMBER", Short: "Remove a role; open sessions lose it within a second", Args: takes("MEMBER"),
		Example: "  penstock members remove mem_01…",
		RunE: func(c *cobra.Command, args []string) error {
			raw, err := sh.change(c.Context(), o, adminCall{method: http.MethodDelete, path: []string{"admin/v1/members", args[0]}})
			if err != nil {
				return err
			}
			return sh.printMember(raw, "Removed")
		},
	}
	o.flags(c)
	o.matchFlag(c)
	return c
}

func (sh *shell) printMember(raw json.RawMessage, done string) error {
	if sh.output == outputJSON {
		return sh.json(raw)
	}
	var m member
	if err := json.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf("reading a member: %w", err)
	}
	if m.DryRun {
		done = "Dry run"
	}
	_, err := fmt.Fprintf(sh.stdout, "%s: %s, %s in %s (%s)\n", done, m.who(), m.Role, cmp.Or(m.Tenant, allTenants), m.ID)
	return err
}

func (sh *shell) sessionsCommand() *cobra.Command {
	return noun("sessions", "List and revoke the sessions of people", sh.sessionsListCommand(), sh.sessionsRevokeCommand())
}

// session is a session as the admin API tells it.
type session struct {
	ID, Name, Email, Issuer, Address string
	UserAgent                        string    `json:"user_agent"`
	CreatedAt                        time.Time `json:"created_at"`
	SeenAt                           time.Time `json:"seen_at"`
	ExpiresAt                        time.Time `json:"expires_at"`
	DryRun                           bool      `json:"dry_run"`
}

func (sh *shell) sessionsListCommand() *cobra.Command {
	var at string
	c := &cobra.Command{
		Use: "list", Short: "List the sessions that have not ended, newest first", Args: takes(),
		Example: "  penstock sessions list",
		RunE: func(c *cobra.Command, _ []string) error {
			all, err := sh.adminList(c.Context(), at, adminCall{path: []string{"admin/v1/sessions"}, query: url.Values{}})
			if err != nil {
				return err
			}
			if sh.output == outputJSON {
				return sh.json(rawList{Object: "list", Data: append([]json.RawMessage{}, all...)})
			}
			table := sh.table("ID", "NAME", "EMAIL", "ISSUER", "ADDRESS", "LAST SEEN", "EXPIRES")
			for _, raw := range all {
				var s session
				if err := json.Unmarshal(raw, &s); err != nil {
					return fmt.Errorf("reading a session: %w", err)
				}
				if err := table.row(s.ID, s.Name, s.Email, s.Issuer, s.Address, sh.when(s.SeenAt), sh.when(s.ExpiresAt)); err != nil {
					return err
				}
			}
			return table.end("Nobody is signed in.")
		},
	}
	adminFlag(c, &at)
	return c
}

func (sh *shell) sessionsRevokeCommand() *cobra.Command {
	var o changing
	c := &cobra.Command{
		Use: "revoke SESSION", Short: "Revoke a session, in every process within a second", Args: takes("SESSION"),
		Example: "  penstock sessions revoke ses_01…",
		RunE: func(c *cobra.Command, args []string) error {
			raw, err := sh.change(c.Context(), o, adminCall{method: http.MethodDelete, path: []string{"admin/v1/sessions", args[0]}})
			if err != nil {
				return err
			}
			if sh.output == outputJSON {
				return sh.json(raw)
			}
			var s session
			if err := json.Unmarshal(raw, &s); err != nil {
				return fmt.Errorf("reading a session: %w", err)
			}
			done := "Revoked"
			if s.DryRun {
				done = "Dry run"
			}
			_, err = fmt.Fprintf(sh.stdout, "%s: %s of %s\n", done, s.ID, cmp.Or(s.Email, s.Name))
			return err
		},
	}
	o.flags(c)
	return c
}
