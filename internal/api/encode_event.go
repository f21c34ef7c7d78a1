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
	Attempt   *int               `json:"attempt,omitzero" about:"Of item.delta and item.reset: the number of the item's run."`
	Data      any                `json:"data" about:"job.*: the state of the job (status, outcome, model, tags, counts, usage), as in a webhook. item.delta: text, the next part of the answer. item.reset: null; the earlier deltas of the item are void. Others: the result of the item, without its response."`
}

// jobEventView is the state of a job at an event. Webhooks carry the same.
type jobEventView struct {
	Status  penstock.Status   `json:"status"`
	Outcome *penstock.Outcome `json:"outcome"`
	Model   string            `json:"model"`
	Tags    map[string]string `json:"tags"`
	Counts  penstock.Counts   `json:"counts"`
	Usage   usageView         `json:"usage"`
}

// deltaView is the next part of an answer.
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
