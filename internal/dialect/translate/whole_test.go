package translate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"penstock"
)

// wholes are the folders of testdata with translations of calls that are never streamed.
var wholes = map[string]*whole{"embeddings_to_gemini": embeddingsToGemini, "count_to_gemini": countToGemini}

func wholeInputs(t *testing.T, pattern string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	for direction := range wholes {
		paths, err := filepath.Glob(filepath.Join("testdata", direction, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s of %s: %v, %d files", pattern, direction, err, len(paths))
		}
		for _, path := range paths {
			if found[path], err = os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	return found
}

func TestWholeRequestGolden(t *testing.T) {
	t.Parallel()
	for path, text := range wholeInputs(t, "request_*.in.json") {
		body, dropped, err := wholes[filepath.Base(filepath.Dir(path))].Request(text, testMost)
		if err != nil {
			e, ok := errors.AsType[*penstock.Error](err)
			if !ok || e.Code != penstock.CodeInvalidRequest || e.Param == "" {
				t.Fatalf("%s: %v is no invalid_request that names a field", path, err)
			}
			compare(t, path, fmt.Sprintf("refused: %s\n%s\n", e.Param, e.Message))
			continue
		}
		compare(t, path, fmt.Sprintf("dropped: %s\n%s\n", strings.Join(dropped, " "), indented(t, body)))
	}
}

func TestWholeAnswerGolden(t *testing.T) {
	t.Parallel()
	for path, text := range wholeInputs(t, "answer_*.in.json") {
		asked := asked
		asked.Body = []byte(`{"input":["a","b"]}`)
		if strings.Contains(path, "base64") {
			asked.Body = []byte(`{"input":["a","b"],"encoding_format":"base64"}`)
		}
		got := transcript(wholes[filepath.Base(filepath.Dir(path))].Answer(upstream(text, typeJSON), asked))
		got, _, _ = strings.Cut(got, ": json: ") // the package varies its words on purpose
		compare(t, path, got)
	}
}
