package rest

import "net/http"

// EndAfterChunks closes the connection after the answer to a request with a chunked body. Package net/http reads such a
// body correctly and hides a Content-Length beside it. A proxy before us may have obeyed that length: then the bytes that we
// would read as the next request are a part of this one. CONNECT is the same: a proxy that took it for a tunnel passes on
// bytes that are no request.
//
// The handler is a type and not a function because streams wait below it, thousands at a time: see package api.
func EndAfterChunks(next http.Handler) http.Handler { return &endAfterChunks{next} }

type endAfterChunks struct{ next http.Handler }

func (h *endAfterChunks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 && len(r.TransferEncoding) > 0 || r.Method == http.MethodConnect {
		closeAfter(w)
	}
	h.next.ServeHTTP(w, r)
}

//go:noinline
func closeAfter(w http.ResponseWriter) { w.Header().Set("Connection", "close") }
