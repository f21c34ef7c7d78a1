package api

import (
	"net/http"

	"penstock"
	"penstock/internal/request"
)

// headerCache is how a caller says what it wants of the cache, and how it learns where its answer came from. In canonical form:
// every call looks for it.
const headerCache = "X-Penstock-Cache"

// cacheMode reads what a caller wants of the cache. Codes: invalid_request.
func cacheMode(r *http.Request) (request.CacheMode, error) {
	switch mode := request.CacheMode(r.Header.Get(headerCache)); mode {
	case "", request.CacheUse, request.CacheRefresh, request.CacheOff:
		return mode, nil
	default:
		return "", penstock.InvalidParam("x-penstock-cache", "x-penstock-cache must be %s, %s or %s.", request.CacheUse, request.CacheRefresh, request.CacheOff)
	}
}

// tellCache says where an answer came from, for a call that uses the cache.
func (c *call) tellCache(source request.Source) {
	if source != "" {
		c.w.Header().Set(headerCache, string(source))
	}
}

// savedView is the usage that an answer did not cost because another call had paid for it.
type savedView struct {
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
}

// showShared completes the view of a call that another one paid for.
func (v *requestView) showShared(r penstock.Request) {
	source, target := request.SplitTarget(r.Target)
	if source == "" {
		return
	}
	v.Cache, v.Target = text(string(source)), text(target)
	for i := range v.History {
		v.History[i].Target = v.Target
		spared := v.History[i].Usage
		v.Saved = &savedView{InputTokens: spared.InputTokens, OutputTokens: spared.OutputTokens}
		v.History[i].Usage = usageView{}
	}
}
