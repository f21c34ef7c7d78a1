package api

import (
	"time"

	"penstock"
)

// eventView is an entry of a job's log.
type eventView struct {
	ID        string             `json:"id"`
	Seq       int64              `json:"seq"`
	Type      penstock.EventType `json:"type"`
	CreatedAt time.Time          `json:"created_at"`
	JobID     string             `json:"job_id"`
	ItemID    *string            `json:"item_id"`
	Attempt   *int               `json:"attempt,omitzero" about:"Of item.delta and item.reset: which run of the item says so."`
	Data      any                `json:"data" about:"job.*: how the job stood (status, outcome, model, tags, counts, usage), as in a webhook. item.delta: text, what the answer goes on with. item.reset: null; what the item said before does not count. Others: how the item ended, without its response."`
}

// jobEventView is how a job stood when something happened to it. Webhooks carry the same.
type jobEventView struct {
	Status  penstock.Status   `json:"status"`
	Outcome *penstock.Outcome `json:"outcome"`
	Model   string            `json:"model"`
	Tags    map[string]string `json:"tags"`
	Counts  penstock.Counts   `json:"counts"`
	Usage   usageView         `json:"usage"`
}

// deltaView is what an answer goes on with.
type deltaView struct {
	Text string `json:"text"`
}

func newEventView(e penstock.Event) eventView {
	v := eventView{
		// The number makes the id: it is the same for every reader and needs no storage.
		ID: penstock.ViewEvent.Format(penstock.ItemID(e.Job, int(e.Seq))), Seq: e.Seq, Type: e.Type, CreatedAt: stamp(e.CreatedAt),
		JobID: penstock.ViewJob.Format(e.Job),
	}
	switch {
	case e.Item != nil:
		data := newResultView(*e.Item)
		data.Response = nil
		v.ItemID, v.Data = &data.ItemID, data
	case e.Delta != nil:
		v.ItemID, v.Attempt = text(penstock.ViewItem.Format(e.Delta.Item)), &e.Delta.Attempt
		if e.Type == penstock.EventItemDelta {
			v.Data = deltaView{Text: string(e.Delta.Data)}
		}
	case e.State != nil:
		v.Data = newJobEventView(*e.State)
	}
	return v
}

func newJobEventView(j penstock.Job) jobEventView {
	v := jobEventView{Status: j.Status(), Model: j.Model, Tags: j.Tags, Counts: j.Counts, Usage: usageView{Usage: j.Usage, Cost: j.Cost}}
	if o := j.Counts.Outcome(); o != "" {
		v.Outcome = &o
	}
	return v
}
