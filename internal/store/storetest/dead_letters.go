package storetest

import (
	"time"

	"penstock"
	"penstock/internal/store"
)

func deadLetterCases() []testCase {
	return []testCase{
		{"a failed item is a dead letter", deadLetterFields},
		{"failures of one cause share a fingerprint", deadLetterFingerprint},
		{"oldest first, page by page", deadLetterPages},
	}
}

func deadLetterFields(r *rig) {
	sub := r.submitN(5)
	claims := r.claimN(r.lease("worker"), 5)
	r.clock.Advance(time.Second)
	r.finishInOrder(claims, mixedEndings(), 0, 1, 2, 3, 4)
	letters := r.deadLetters(acme)
	if len(letters) != 1 || letters[0].Fingerprint == "" {
		r.t.Fatalf("dead letters: %+v, want the one failed item with a fingerprint", letters)
	}
	r.wantSame("dead letter", letters[0], store.DeadLetter{
		Item:        claims[1].Item,
		Job:         sub.Job.ID,
		Model:       sub.Job.Model,
		Code:        penstock.CodeUpstreamRejected,
		Kind:        "rejected",
		Message:     "no such parameter",
		Fingerprint: letters[0].Fingerprint,
		CreatedAt:   r.clock.Now(),
	})
}

func deadLetterFingerprint(r *rig) {
	r.submitN(3)
	group := r.endings(r.claimN(r.lease("worker"), 3), penstock.TransitionFail)
	group[2].Error = &penstock.ItemError{Code: penstock.CodeContextTooLong, Message: "prompt does not fit"}
	group[2].ErrorKind = "context_too_long"
	r.win(group...)
	letters := r.deadLetters(acme)
	if len(letters) != 3 {
		r.t.Fatalf("%d dead letters, want 3", len(letters))
	}
	if letters[0].Fingerprint != letters[1].Fingerprint {
		r.t.Errorf("equal failures have fingerprints %q and %q", letters[0].Fingerprint, letters[1].Fingerprint)
	}
	if letters[0].Fingerprint == letters[2].Fingerprint {
		r.t.Errorf("failures of different causes share fingerprint %q", letters[0].Fingerprint)
	}
}

func deadLetterPages(r *rig) {
	first, second := r.submitN(4), r.submitN(3)
	claims := r.claimN(r.lease("worker"), 7)
	r.win(r.endings(claims, penstock.TransitionFail)...)
	var want []penstock.ID
	for _, sub := range []store.Submission{first, second} {
		for n := range sub.Items {
			want = append(want, penstock.ItemID(sub.Job.ID, n))
		}
	}
	var got []penstock.ID
	page := store.DeadLetterPage{Limit: 3}
	for _, size := range []int{3, 3, 1, 0} {
		letters, err := r.s.DeadLetters(r.t.Context(), acme, page)
		r.must("read dead letters", err)
		if len(letters) != size {
			r.t.Fatalf("a page has %d dead letters, want %d", len(letters), size)
		}
		for _, d := range letters {
			got = append(got, d.Item)
			page.After = d.Item
		}
	}
	r.wantSame("dead letters", got, want)
}
