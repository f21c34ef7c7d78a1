package changeset

// Update is a set with the editor that made it.
type Update struct {
	Client  string
	Changes Set
}

// Rebase maps the updates of one editor over updates that were accepted meanwhile, so that they apply behind these. Updates of the
// editor that are among the accepted ones already, because an earlier answer was lost, are left out; their number is skipped. It
// fails with ErrLength.
//
// It maps over one accepted update after the other, never over several composed: where one deletes text and the next inserts in its
// place, their composition maps an insertion between them to another side. Editors receive updates in groups of any size, so only
// single steps give everybody the same text.
func Rebase(updates, over []Update) (rebased []Update, skipped int, err error) {
	rebased = append(rebased, updates...)
	for _, accepted := range over {
		if len(rebased) > 0 && rebased[0].Client == accepted.Client {
			rebased = rebased[1:]
			skipped++
			continue
		}
		other := accepted.Changes
		for i, u := range rebased {
			if rebased[i].Changes, err = u.Changes.Map(other, After); err != nil {
				return nil, skipped, err
			}
			if other, err = other.Map(u.Changes, Before); err != nil {
				return nil, skipped, err
			}
		}
	}
	return rebased, skipped, nil
}
