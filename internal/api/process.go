package api

import (
	"net/http"

	"penstock"
)

func (c *call) healthz() error { return c.json(http.StatusOK, healthView{Status: "ok"}) }

func (c *call) readyz() error {
	if err := c.Ready(c.r.Context()); err != nil {
		return &penstock.Error{Code: penstock.CodeOverloaded, Message: "Not ready: " + penstock.AsError(err).Message, Err: err}
	}
	// Still ready: who reads, cancels and deletes must get through, all the more when room is short.
	if err := c.Refusing(); err != nil {
		return c.json(http.StatusOK, healthView{Status: "degraded", Reason: text(penstock.AsError(err).Message)})
	}
	return c.json(http.StatusOK, healthView{Status: "ready"})
}

func (c *call) document() error {
	c.w.Header().Set("Content-Type", typeJSON)
	_, err := c.w.Write(c.openAPI)
	return err
}
