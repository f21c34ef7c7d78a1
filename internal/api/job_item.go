package api

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"penstock"
	"penstock/internal/rest"
	"penstock/internal/sign"
	"penstock/internal/store"
)

// etagOf changes with every change of a job: items that started or ended, a cancel, another reason to wait. Estimates
// change all the time, so they do not count.
func (c jobs) etagOf(j penstock.Job) string {
	started, cancelled := 0, 0
	if !j.StartedAt.IsZero() {
		started = 1
	}
	if !j.CancelRequestedAt.IsZero() {
		cancelled = 1
	}
	return fmt.Sprintf(`"%d-%d-%d%d%s"`, j.Seq, j.Counts.Running, started, cancelled, c.waitingOn(j))
}

// tag sets the ETag of the job in the answer.
func (c jobs) tag(j penstock.Job) {
	c.W.Header().Set("ETag", c.etagOf(j))
	c.W.Header().Set("Cache-Control", "private, no-cache")
}

// unlessKnown answers with a job, or with 304 if the caller has its current state.
func (c jobs) unlessKnown(j penstock.Job) error {
	c.tag(j)
	if c.known(j) {
		c.W.WriteHeader(http.StatusNotModified)
		return nil
	}
	return c.job(http.StatusOK, j)
}

// known says whether If-None-Match names the current state of the job.
func (c jobs) known(j penstock.Job) bool {
	current := c.etagOf(j)
	for _, known := range c.R.Header.Values("If-None-Match") {
		for tag := range strings.SplitSeq(known, ",") {
			if tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/"); tag == current || tag == "*" {
				return true
			}
		}
	}
	return false
}

// listItems lists items of a job, in every status.
func (c jobs) listItems() error {
	id, err := c.PathID(penstock.ViewJob)
	if err != nil {
		return err
	}
	p := store.ItemPage{After: -1, Status: penstock.Status(c.R.URL.Query().Get("status"))}
	if p.Limit, err = c.PageLimit(pageSize); err != nil {
		return err
	}
	if err := checkStatus(p.Status, penstock.Statuses); err != nil {
		return err
	}
	if after := c.R.URL.Query().Get("after"); after != "" {
		job, err := c.Jobs.Job(c.R.Context(), c.Principal.Tenant.ID, id)
		if err != nil {
			return err
		}
		item, err := penstock.ViewItem.Parse(after)
		n, ok := job.IndexOf(item)
		if err != nil || !ok {
			return penstock.InvalidParam("after", "after must be the id of an item of this job.")
		}
		p.After = n
	}
	if custom := c.R.URL.Query().Get("custom_id"); custom != "" {
		return c.searchItems(id, p, custom)
	}
	wanted := p.Limit
	p.Limit++ // one more shows whether another page follows
	items, err := c.Jobs.Items(c.R.Context(), c.Principal.Tenant.ID, id, p)
	if err != nil {
		return err
	}
	next := ""
	if len(items) > wanted {
		items = items[:wanted]
		next = penstock.ViewItem.Format(items[wanted-1].ID)
	}
	return c.items(items, next)
}

// items answers with a page of items.
func (c jobs) items(items []penstock.Item, next string) error {
	data := make([]listedItemView, len(items))
	for i, item := range items {
		line := newResultView(item)
		line.Response = nil
		data[i] = listedItemView{resultView: line, ID: line.ItemID, Object: "item", JobID: penstock.ViewJob.Format(item.Job)}
	}
	return c.JSON(http.StatusOK, rest.NewCursorPage(data, next))
}

// searchItems lists the items of a job that have a custom id.
func (c jobs) searchItems(job penstock.ID, p store.ItemPage, custom string) error {
	if p.Status != "" {
		return penstock.InvalidParam("status", "status cannot be combined with custom_id; leave one of them out.")
	}
	found, err := c.ItemSearches.SearchItems(c.R.Context(), c.Principal.Tenant.ID, job, store.ItemSearch{CustomID: custom, After: p.After, Limit: p.Limit})
	if err != nil {
		return err
	}
	next := ""
	if found.Next >= 0 {
		next = penstock.ViewItem.Format(penstock.ItemID(job, found.Next))
	}
	return c.items(found.Items, next)
}

// listedItemView is an item in a list, without its response.
type listedItemView struct {
	ID string `json:"id"`
	resultView
	Object string `json:"object"`
	JobID  string `json:"job_id"`
}

// createResultsLink makes a link to the file with all results of a job. The file of a job over a file is written when
// the job ends; that of another job after the first call of this route.
func (c jobs) createResultsLink() error {
	id, err := c.PathID(penstock.ViewJob)
	if err != nil {
		return err
	}
	life, err := files(c).linkLife()
	if err != nil {
		return err
	}
	job, err := c.Jobs.Job(c.R.Context(), c.Principal.Tenant.ID, id)
	if err != nil {
		return err
	}
	b, err := c.Batches.Batch(c.R.Context(), c.Principal.Tenant.ID, id)
	if penstock.ErrorCode(err) == penstock.CodeNotFound {
		b, err = c.Batches.WantResults(c.R.Context(), c.Principal.Tenant.ID, id)
	}
	switch {
	case err != nil:
		return err
	case b.Kind == store.BatchAnthropic, !b.DoneAt.IsZero() && b.Output == "":
		return penstock.Errorf(penstock.CodeConflict, "%s has no result file of its own; read the batch that it belongs to.", penstock.ViewJob.Format(id))
	case b.DoneAt.IsZero():
		next, wait := "the file is being written; send this call again in a moment", minPoll
		if job.FinishedAt.IsZero() {
			next, wait = fmt.Sprintf("the job is %s; send this call again when the job has ended", job.Status()), c.pollIn(job)
		}
		return &penstock.Error{Code: penstock.CodeConflict, RetryAfter: wait,
			Message: fmt.Sprintf("The results of %s are not in a file yet: %s, or read the results so far at /v1/jobs/%[1]s/results.", penstock.ViewJob.Format(id), next)}
	}
	f, err := c.Files.File(c.R.Context(), c.Principal.Tenant.ID, b.Output)
	if err != nil {
		return err
	}
	return files(c).link(f, life)
}

// link answers with a link to a file's content.
func (c files) link(f store.File, life time.Duration) error {
	end := c.Clock().Add(life)
	if f.ExpiresAt.Before(end) {
		end = f.ExpiresAt
	}
	link := c.Links.Link(sign.Grant{Tenant: f.Tenant, Object: penstock.ViewFile.Format(f.ID), Expires: end})
	return c.JSON(http.StatusOK, linkView{Object: "file.url", URL: c.base() + link, ExpiresAt: end.Unix()})
}

// linkLife reads how long a link is valid. Codes: invalid_request.
func (c files) linkLife() (time.Duration, error) {
	var ask linkCreate
	if c.R.ContentLength != 0 {
		body, err := c.readBody()
		if err != nil {
			return 0, err
		}
		if err := rest.Decode(body, &ask); err != nil {
			return 0, err
		}
	}
	life := time.Duration(ask.ExpiresIn)
	if life == 0 {
		life = usualLink
	}
	if life < minLink || life > maxLink {
		return 0, penstock.InvalidParam("expires_in", "expires_in must be from %s to %s.", minLink, maxLink)
	}
	return life, nil
}
