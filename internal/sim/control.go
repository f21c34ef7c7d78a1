package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
)

// control makes a handler for /sim/ of a function that returns what to answer with as JSON.
func (s *Server) control(do func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := (openAI{}).check(r.Header, s.settings.Load().config.APIKey); err != nil {
			refuse(w, openAI{}, err.(*failure))
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, MaxBodyBytes)
		result, err := do(r)
		if err != nil {
			refuse(w, openAI{}, &failure{class: classBadRequest, message: err.Error()})
			return
		}
		writeJSON(w, http.StatusOK, encode(result))
	}
}

func (s *Server) serveUnknown(w http.ResponseWriter, r *http.Request) {
	var d dialect = openAI{}
	if strings.HasPrefix(r.URL.Path, "/v1/messages") {
		d = anthropic{}
	}
	message := fmt.Sprintf("No such endpoint: %s %s.", r.Method, abridge(r.URL.Path))
	refuse(w, d, &failure{class: classNoRoute, message: message})
}

// refuse answers with a failure outside an exchange and returns the status.
func refuse(w http.ResponseWriter, d dialect, f *failure) int {
	status, body := d.describe(f, "")
	writeJSON(w, status, body)
	return status
}

func (s *Server) readStats(*http.Request) (any, error) { return s.Stats(), nil }

func (s *Server) reset(*http.Request) (any, error) {
	s.Reset()
	return s.Stats(), nil
}

func (s *Server) release(r *http.Request) (any, error) {
	if err := s.Release(r.URL.Query().Get("name")); err != nil {
		return nil, fmt.Errorf("release ?name=: %w", err)
	}
	return s.Stats(), nil
}

// promptExecutions is Executions with the prompt it belongs to.
type promptExecutions struct {
	SHA256 string `json:"sha256"`
	Executions
}

func (s *Server) readExecutions(r *http.Request) (any, error) {
	query := r.URL.Query()
	if query.Has("prompt") {
		return s.executionsOf(query.Get("prompt")), nil
	}
	sum, err := hex.DecodeString(query.Get("sha256"))
	if err != nil || len(sum) != sha256.Size {
		return nil, errors.New("name a prompt: ?prompt=TEXT, or ?sha256= and 64 hexadecimal digits")
	}
	return promptExecutions{query.Get("sha256"), s.prompts.executions(promptKey(sum[:len(promptKey{})]))}, nil
}

func (s *Server) readManyExecutions(r *http.Request) (any, error) {
	var query struct {
		Prompts []string `json:"prompts"`
	}
	if err := json.UnmarshalRead(r.Body, &query, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf(`decode body, which is {"prompts":["…"]}: %w`, err)
	}
	list := make([]promptExecutions, len(query.Prompts))
	for i, text := range query.Prompts {
		list[i] = s.executionsOf(text)
	}
	return struct {
		Executions []promptExecutions `json:"executions"`
	}{list}, nil
}

func (s *Server) executionsOf(text string) promptExecutions {
	sum := sha256.Sum256([]byte(text))
	return promptExecutions{hex.EncodeToString(sum[:]), s.Executions(text)}
}

func (s *Server) readConfig(*http.Request) (any, error) { return s.Config(), nil }

func (s *Server) replaceConfig(r *http.Request) (any, error) {
	return s.changeConfig(r, func() Config { return Config{} })
}

func (s *Server) patchConfig(r *http.Request) (any, error) {
	return s.changeConfig(r, s.Config)
}

// changeConfig applies the settings in the body on top of base.
func (s *Server) changeConfig(r *http.Request, base func() Config) (any, error) {
	body, err := io.ReadAll(r.Body) // before the lock, since a client may be slow
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	s.configuring.Lock()
	defer s.configuring.Unlock()
	cfg := base()
	if err := json.Unmarshal(body, &cfg); err != nil {
		return nil, err
	}
	if err := s.apply(cfg); err != nil {
		return nil, err
	}
	return s.Config(), nil
}
