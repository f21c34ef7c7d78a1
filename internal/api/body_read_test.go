package api

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"penstock"
	"penstock/internal/config"
	"penstock/internal/provider"
	"penstock/internal/rest"
)

// echo keeps what the upstream was sent.
func (r *rig) echo(into *string) {
	r.upstream.reply = func(_ context.Context, call provider.Call) (provider.Answer, error) {
		*into = string(call.Body)
		return &frames{wires: []string{`{}`}, meta: provider.Meta{StatusCode: 200, ContentType: rest.TypeJSON}}, nil
	}
}

// Bodies arrive whole whatever their size and however they are sent: with their length announced or in chunks.
func TestBodiesOfEverySize(t *testing.T) {
	t.Parallel()
	r := newRig(t, penstock.EndpointChat)
	var got string
	r.echo(&got)
	for _, size := range []int{0, 1, promptBytes - 100, promptBytes, pieceBytes - 60, pieceBytes, 2*pieceBytes + 1, 5 * pieceBytes, 3<<20 + 7} {
		sent := `{"model":"fast","messages":[],"padding":"` + strings.Repeat("x", size) + `"}`
		for _, chunked := range []bool{false, true} {
			got = ""
			req := r.request(http.MethodPost, "/v1/chat/completions", sent)
			if chunked {
				req.Body, req.ContentLength, req.GetBody = io.NopCloser(struct{ io.Reader }{strings.NewReader(sent)}), -1, nil
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK || len(got) < len(sent)-20 || !strings.Contains(got, strings.Repeat("x", size)) {
				t.Errorf("%d bytes, chunked %v: %d, %d bytes arrived", len(sent), chunked, resp.StatusCode, len(got))
			}
		}
	}
}

// A body that breaks off is no body, and one that is too large is refused, in pieces too.
func TestBodiesThatBreakOff(t *testing.T) {
	t.Parallel()
	r := newRig(t, penstock.EndpointChat)
	var got string
	r.echo(&got)
	for _, announced := range []int{100, promptBytes + 1, 4 * pieceBytes} {
		for _, sent := range []int{announced / 4, announced - 1} {
			conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nx-api-key: %s\r\nContent-Length: %d\r\n\r\n%s", testKey, announced,
				(`{"model":"fast","messages":[]}` + strings.Repeat(" ", announced))[:sent])
			_ = conn.(*net.TCPConn).CloseWrite()
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err == nil && resp.StatusCode != http.StatusBadRequest {
				t.Errorf("%d of %d bytes: %d", sent, announced, resp.StatusCode)
			}
			_ = conn.Close()
		}
	}
	if got != "" {
		t.Errorf("the upstream was sent %q", got)
	}
	for _, chunked := range []bool{false, true} {
		req := r.request(http.MethodPost, "/v1/chat/completions", `{"model":"`+strings.Repeat("x", 9<<20)+`"}`)
		if chunked {
			req.Body, req.ContentLength, req.GetBody = io.NopCloser(struct{ io.Reader }{req.Body}), -1, nil
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(text), `"too_large"`) {
			t.Errorf("a body over the bound, chunked %v: %d %s", chunked, resp.StatusCode, text)
		}
	}
}

// The places of a tenant and of a key for calls that stay open are theirs alone, and are given back.
func TestOpenCalls(t *testing.T) {
	t.Parallel()
	var o openCalls
	most := openBound{tenant: 3, key: 2}
	admit := func(tenant penstock.TenantID, key string) (func(), string) {
		return o.admit(opener{openStream, tenant, key}, most)
	}
	first, _ := admit("acme", "a")
	_, _ = admit("acme", "a")
	if leave, full := admit("acme", "a"); leave != nil || full != scopeKey {
		t.Errorf("a third stream of a key: %q", full)
	}
	if leave, _ := admit("acme", "b"); leave == nil {
		t.Error("another key of the tenant is refused")
	}
	if leave, full := admit("acme", "c"); leave != nil || full != scopeTenant {
		t.Errorf("a fourth stream of a tenant: %q", full)
	}
	if leave, _ := admit("other", "a"); leave == nil {
		t.Error("another tenant is refused")
	}
	if leave, _ := o.admit(opener{openDownload, "acme", "a"}, most); leave == nil {
		t.Error("a download is refused for streams")
	}
	first()
	if leave, full := admit("acme", "a"); leave == nil {
		t.Errorf("a place that was given back is not there: %q", full)
	}
}

// A body that nests too deeply is refused for that, whatever else is wrong with it.
func TestBodiesThatNestTooDeeply(t *testing.T) {
	t.Parallel()
	r := newRig(t, penstock.EndpointChat)
	var got string
	r.echo(&got)
	most := config.DefaultMaxJSONDepth
	nested := func(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
	for name, tt := range map[string]struct {
		text string
		deep int // 0 for a body that passes
	}{
		"as deep as may be":   {`{"model":"fast","messages":[],"metadata":` + nested(most-1) + `}`, 0},
		"free-form":           {`{"model":"fast","messages":[],"metadata":` + nested(most) + `}`, most + 1},
		"of a shape":          {`{"model":"fast","messages":` + nested(most) + `}`, most + 1},
		"of a part":           {`{"model":"fast","messages":[{"role":"user","content":[{"vendor":` + nested(most) + `}]}]}`, most + 5},
		"and no JSON":         {`{"model":"fast","messages":` + strings.Repeat("[", 2000), 2001},
		"and ambiguous":       {`{"model":"fast","Model":"slow","messages":` + nested(most) + `}`, most + 1},
		"and of a wrong type": {`{"model":1,"messages":` + nested(most) + `}`, most + 1},
		"deeper than is read": {`{"model":"fast","messages":` + nested(5000) + `}`, 5001},
	} {
		a := r.post("/v1/chat/completions", tt.text)
		want := fmt.Sprintf("The body nests %d levels deep; at most %d are read.", tt.deep, most)
		if passed := a.status == http.StatusOK; passed != (tt.deep == 0) || (!passed && (a.status != http.StatusBadRequest || !strings.Contains(a.body, want))) {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
}
