package api

import (
	"net/http"

	"penstock"
)

func (c process) healthz() error { return c.JSON(http.StatusOK, healthView{Status: "ok"}) }

func (c process) readyz() error {
	if err := c.Ready(c.R.Context()); err != nil {
		return &penstock.Error{Code: penstock.CodeOverloaded, Message: "Not ready: " + penstock.AsError(err).Message, Err: err}
	}
	// Still ready: calls that read, cancel and delete must work, especially when storage is short.
	if err := c.Refusing(); err != nil {
		return c.JSON(http.StatusOK, healthView{Status: "degraded", Reason: text(penstock.AsError(err).Message)})
	}
	return c.JSON(http.StatusOK, healthView{Status: "ready"})
}

func (c process) document() error {
	return c.Documents.Serve(&c.Call)
}
