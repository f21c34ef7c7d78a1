package file

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"penstock"
	"penstock/internal/store"
)

// TestMediaTypes holds that the content alone decides what a file is, however it arrives.
func TestMediaTypes(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"%PDF-1.7 …": "application/pdf", "\x89PNG\r\n\x1a\n\x00": "image/png", "\xff\xd8\xff\xe0": "image/jpeg", "GIF89a\x00": "image/gif", "RIFF\x00\x00\x00\x00WEBPVP8 ": "image/webp",
		"größe, 東京, 🙂\r\n\t{}": "text/plain", "%PDF": "text/plain", "<svg onload=alert(1)>": "text/plain",
		"a\x00b": "", "\x1b[31m": "", "gr\xf6\xdfe": "", "cut off: \xe6\x9d": "", "RIFF\x00\x00\x00\x00WAVE": "", "MZ\x90\x00": "",
	} {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(content), "byte by byte": iotest.OneByteReader(strings.NewReader(content))} {
			s := newSniffer(r)
			if _, err := io.ReadAll(s); err != nil {
				t.Fatal(err)
			}
			if got := s.mediaType(); got != want {
				t.Errorf("%q, %s: %q, want %q", content, name, got, want)
			}
		}
	}
}

// TestTakeForAnyPurpose holds that content whose purpose comes behind it gets the checks of the purpose, and leaves nothing if it fails them.
func TestTakeForAnyPurpose(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	limits := usual
	limits.MaxMediaBytes = 1000
	pdf := "%PDF-1.7\n" + strings.Repeat("\n", 900)
	for _, tt := range []struct {
		content string
		purpose store.Purpose
		code    penstock.Code
	}{
		{pdf, store.PurposeUserData, ""}, {pdf, store.PurposeVision, penstock.CodeInvalidRequest}, {"\x89PNG\r\n\x1a\n", store.PurposeVision, ""},
		{pdf + strings.Repeat("x", 1000), store.PurposeUserData, penstock.CodeTooLarge}, {"", store.PurposeUserData, penstock.CodeInvalidRequest},
		{"\x00", store.PurposeUserData, penstock.CodeInvalidRequest}, {request(1) + "\n", store.PurposeBatch, ""}, {"", store.PurposeBatch, penstock.CodeInvalidRequest},
	} {
		for _, known := range []store.Purpose{"", tt.purpose} {
			r, err := k.Take(t.Context(), Arrival{Tenant: tenant, Purpose: known, Content: strings.NewReader(tt.content)}, limits)
			if err == nil {
				_, err = r.For(t.Context(), tt.purpose)
			}
			if tt.code != "" {
				if penstock.ErrorCode(err) != tt.code {
					t.Errorf("%.20q for %s: %v, want %s", tt.content, tt.purpose, err, tt.code)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256([]byte(tt.content))
			if tt.purpose.InRequests() && r.File.SHA256 != hex.EncodeToString(sum[:]) || tt.purpose == store.PurposeBatch && r.File.Lines != 1 {
				t.Errorf("%.20q for %s: %+v", tt.content, tt.purpose, r.File)
			}
		}
	}
}

// TestPromptsOfLines holds that a batch knows the prompts that its lines name, each once, and that a line may be variables alone.
func TestPromptsOfLines(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	f := receive(t, k, strings.Join([]string{
		`{"custom_id":"1","body":{"prompt":{"name":"b","variables":{"prompt":{"name":"no"}}}}}`, `{"custom_id":"2","body":{"prompt":{"name":"a","version":"3"}}}`,
		`{"custom_id":"3","body":{"prompt":{"name":"b","label":"production"}}}`, `{"custom_id":"4","variables":{"x":1}}`,
		`{"custom_id":"5","body":{"messages":[{"role":"user","content":"the \"prompt\""}]}}`, `{"custom_id":"6","body":{"prompt":"a text"}}`, `{"custom_id":"7","body":{"prompt":null}}`,
	}, "\n"))
	if f.ErrorCount != 0 || !slices.Equal(f.Prompts, []string{"", "a@3", "b@production"}) {
		t.Errorf("%+v", f)
	}
	f = receive(t, k, `{"custom_id":"1","body":{"prompt":{"nane":"b"}}}`+"\n"+`{"custom_id":"2","variables":7}`+"\n"+`{"custom_id":"3"}`)
	var codes []string
	for _, e := range f.Errors {
		codes = append(codes, e.Code)
	}
	if !slices.Equal(codes, []string{CodeInvalidPrompt, CodeInvalidVariables, CodeMissingBody}) {
		t.Errorf("%+v", f.Errors)
	}
	var many strings.Builder
	for i := range penstock.MaxJobPrompts + 2 {
		fmt.Fprintf(&many, `{"custom_id":"%d","body":{"prompt":{"name":"p%d"}}}`+"\n", i, i)
	}
	if f = receive(t, k, many.String()); f.ErrorCount != 1 || f.Errors[0].Code != CodeTooManyPrompts {
		t.Errorf("%d errors: %+v", f.ErrorCount, f.Errors)
	}
}

// TestReferencesOfLines holds that a batch knows the files that its lines name, each once.
func TestReferencesOfLines(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	line := func(custom, id string) string {
		return `{"custom_id":"` + custom + `","body":{"messages":[{"content":[{"type":"file","file":{"file_id":"` + id + `"}}]}]}}` + "\n"
	}
	f := receive(t, k, line("1", "file_01JQ0000000000000000000002")+line("2", "file_01JQ0000000000000000000001")+line("3", "file_01JQ0000000000000000000002")+line("4", "file-other"))
	if f.ErrorCount != 0 || len(f.References) != 2 || f.References[0] != "01JQ0000000000000000000001" || f.References[1] != "01JQ0000000000000000000002" {
		t.Errorf("%+v", f)
	}
}
