package changeset

// Update is a set with the editor that made it.
type Update struct {
	Client  string
	Changes Set
}

// Rebase maps the updates of one editor over updates that were accepted meanwhile, so that they apply behind these. Updates of the
// editor that are among the accepted ones already, because an earlier answer was lost, are left out; their number is skipped. It
// fails with ErrLength or ErrSplit.
func Rebase(updates, over []Update) (rebased []Update, skipped int, err error) {
	var others Set
	any := false
	for _, accepted := range over {
		switch {
		case skipped < len(updates) && updates[skipped].Client == accepted.Client:
			if any {
				others, err = others.Map(updates[skipped].Changes, Before)
			}
			skipped++
		case any:
			others, err = others.Compose(accepted.Changes)
		default:
			others, any = accepted.Changes, true
		}
		if err != nil {
			return nil, skipped, err
		}
	}
	updates = updates[skipped:]
	if !any {
		return updates, skipped, nil
	}
	for _, u := range updates {
		mapped, err := u.Changes.Map(others, After)
		if err != nil {
			return nil, skipped, err
		}
		rebased = append(rebased, Update{u.Client, mapped})
		if others, err = others.Map(u.Changes, Before); err != nil {
			return nil, skipped, err
		}
	}
	return rebased, skipped, nil
}
