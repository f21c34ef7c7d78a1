package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"penstock/client"
)

func (sh *shell) promptsProtectCommand() *cobra.Command {
	var o client.PromptProtectionOrder
	var match string
	c := &cobra.Command{
		Use: "protect LABEL", Short: "Protect a label: moves need a role, and an approval if asked for", Args: takes("the label"),
		Example: "  penstock prompts protect production --prompts support/ --roles operator --approval",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, args []string) error {
			done, err := p.Protect(c.Context(), args[0], o, onMatch(match)...)
			if err != nil {
				return err
			}
			if sh.output == outputJSON {
				return sh.raw(done.Raw)
			}
			_, err = fmt.Fprintf(sh.stdout, "%s is protected for %s.\n", clean(done.Label), protectedPrompts(done))
			return err
		}),
	}
	c.Flags().StringSliceVar(&o.Prompts, "prompts", nil, "`NAMES` of prompts, and folders that end with a slash (default all)")
	c.Flags().StringSliceVar(&o.Roles, "roles", nil, "`ROLES` of which a person needs one to move the label (default operator)")
	c.Flags().BoolVar(&o.Approval, "approval", false, "moves need the approval of somebody else")
	matchFlag(c, &match)
	return c
}

// protectedPrompts are the prompts of a protection, for people.
func protectedPrompts(p *client.PromptProtection) string {
	if len(p.Prompts) == 0 {
		return "all prompts"
	}
	return clean(strings.Join(p.Prompts, ", "))
}

func (sh *shell) promptsUnprotectCommand() *cobra.Command {
	var match string
	c := &cobra.Command{
		Use: "unprotect LABEL", Short: "Remove the protection of a label", Args: takes("the label"), Example: "  penstock prompts unprotect production",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, args []string) error {
			return p.Unprotect(c.Context(), args[0], onMatch(match)...)
		}),
	}
	matchFlag(c, &match)
	return c
}

func (sh *shell) promptsProtectionsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "protections", Short: "List the protected labels", Args: takes(), Example: "  penstock prompts protections",
		RunE: sh.asking(func(c *cobra.Command, p client.Prompts, _ []string) error {
			found, err := p.Protections(c.Context())
			if err != nil {
				return err
			}
			return look[*client.PromptProtection]{
				header: []string{"LABEL", "PROMPTS", "ROLES", "APPROVAL", "BY", "UPDATED"},
				cells: func(p *client.PromptProtection) []string {
					approval := "no"
					if p.Approval {
						approval = "yes"
					}
					return []string{p.Label, protectedPrompts(p), strings.Join(p.Roles, ","), approval, p.UpdatedBy, sh.when(p.UpdatedAt)}
				},
				raw:   func(p *client.PromptProtection) json.RawMessage { return p.Raw },
				empty: "No label is protected.",
			}.show(sh, page[*client.PromptProtection]{entries: found})
		}),
	}
}
