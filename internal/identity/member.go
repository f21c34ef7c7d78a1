package identity

import (
	"context"
	"net/mail"
	"slices"
	"strings"

	"penstock"
	"penstock/internal/store"
)

// Grant gives a role to a person or an e-mail address. Codes: invalid_request, not_found, conflict.
func (s *Service) Grant(ctx context.Context, m Member, c store.Condition) (Member, error) {
	if (m.Person == "") == (m.Email == "") {
		return m, penstock.InvalidParam("email", "Name either the e-mail address or the person that gets the role.")
	}
	if m.Email != "" {
		m.Email = NormalizeEmail(m.Email)
		if err := CheckEmail(m.Email); err != nil {
			return m, err
		}
	}
	if err := checkRole(m.Role); err != nil {
		return m, err
	}
	if m.Tenant != "" {
		if _, ok := s.Tenants.Tenant(m.Tenant); !ok {
			return m, &penstock.Error{Code: penstock.CodeNotFound, Param: "tenant", Message: "There is no tenant of this name; leave tenant out for all tenants."}
		}
	}
	m.ID, m.Actor = s.ids.New(s.Clock()), c.Actor
	granted, err := s.Members.Grant(ctx, m, c)
	return granted, s.memberChanged(ctx, c, err)
}

// ChangeMember gives a member another role. Codes: invalid_request, not_found, conflict.
func (s *Service) ChangeMember(ctx context.Context, id penstock.ID, role penstock.Role, c store.Condition) (Member, error) {
	if err := checkRole(role); err != nil {
		return Member{}, err
	}
	m, err := s.Members.Change(ctx, id, role, c)
	return m, s.memberChanged(ctx, c, err)
}

// RemoveMember removes a member. Codes: not_found, conflict.
func (s *Service) RemoveMember(ctx context.Context, id penstock.ID, c store.Condition) (Member, error) {
	m, err := s.Members.Remove(ctx, id, c)
	return m, s.memberChanged(ctx, c, err)
}

func (s *Service) memberChanged(ctx context.Context, c store.Condition, err error) error {
	if err == nil && !c.DryRun {
		s.changed(ctx)
	}
	return err
}

// Configured returns the members of the configuration. Only the file changes them.
func (s *Service) Configured() []Member { return configured(&s.Settings) }

func checkRole(r penstock.Role) error {
	if slices.Contains(penstock.Roles, r) {
		return nil
	}
	return penstock.InvalidParam("role", "There is no role %.40q; the roles are %v.", r, penstock.Roles)
}

// NormalizeEmail is an e-mail address in the form in which addresses are compared.
func NormalizeEmail(address string) string { return strings.ToLower(strings.TrimSpace(address)) }

// CheckEmail refuses a text that is no plain e-mail address. Codes: invalid_request.
func CheckEmail(address string) error {
	parsed, err := mail.ParseAddress(address)
	if err != nil || parsed.Address != address || len(address) > maxEmail {
		return penstock.InvalidParam("email", "email must be an address such as ada@example.com.")
	}
	return nil
}
