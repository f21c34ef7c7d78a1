package api

import (
	"net/http"

	"penstock"
	"penstock/internal/request"
)

// headerCache is the header in which a caller controls the cache and learns where its answer came from. It is in canonical form:
// every call reads it.
const headerCache = "X-Penstock-Cache"

// cacheMode reads the cache mode of a call. Codes: invalid_request.
func cacheMode(r *http.Request) (request.CacheMode, error) {
	switch mode := request.CacheMode(r.Header.Get(headerCache)); mode {
	case "", request.CacheUse, request.CacheRefresh, request.CacheOff:
		return mode, nil
	default:
		return "", penstock.InvalidParam("x-penstock-cache", "x-penstock-cache must be %s, %s or %s.", request.CacheUse, request.CacheRefresh, request.CacheOff)
	}
}

// setCacheHeader says where an answer came from, for a call that uses the cache.
func (c *call) setCacheHeader(source request.Source) {
	if source != "" {
		c.W.Header().Set(headerCache, string(source))
	}
}

// savedView is the usage of the call that paid for a shared answer.
type savedView struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
}

// showShared completes the view of a call whose answer another call paid for.
func (v *requestView) showShared() {
	if v.Cache == nil {
		return
	}
	for i := range v.History {
		v.History[i].Target = v.Target
		spared := v.History[i].Usage
		v.Saved = &savedView{InputTokens: spared.InputTokens, OutputTokens: spared.OutputTokens}
		v.History[i].Usage = usageView{}
	}
}
