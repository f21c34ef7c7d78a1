package app

import (
	"context"
	"time"

	"penstock/internal/directory"
	"penstock/internal/identity"
	"penstock/internal/identity/identitysql"
)

// connectPeople creates the keys of operators and the people who sign in.
func connectPeople(a *app) error {
	p := a.Config.Process
	key, err := directory.LoadAdminKey(p.Admin.Key.Reveal(), p.Data)
	if err != nil {
		return err
	}
	if key.Drawn && a.NewAdminKey != nil {
		a.NewAdminKey(key.Secret)
	}
	a.operators = &directory.Operators{Admin: key, Directory: a.directory, Throttle: directory.NewThrottle(time.Now)}
	a.people = identity.New(identity.Deps{
		Settings: p.SignIn, PublicURL: p.PublicURL, BasePath: p.ConsolePath(), OffersLink: a.SignInLink != nil,
		Sessions: a.store.people, People: a.store.people, Members: identitysql.Members{Store: a.store.people}, Audit: a.store.people, Tenants: a.directory,
		// Its throttle is its own: wrong keys at the sign-in page must not lock operators out of the admin listener.
		Keys:     &directory.Operators{Admin: key, Directory: a.directory, Throttle: directory.NewThrottle(time.Now)},
		Throttle: directory.NewThrottle(time.Now), Changes: a.topics.people, Log: a.log, Clock: time.Now,
	})
	return nil
}

// offerLink makes the one-time link, if somebody waits for it.
func offerLink(ctx context.Context, a *app) error {
	if a.SignInLink == nil {
		return nil
	}
	token, err := a.people.NewLink(ctx)
	if err == nil {
		a.SignInLink(token)
	}
	return err
}
