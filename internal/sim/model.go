package sim

import (
	"net/http"
	"time"
)

type openAIModel struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

type anthropicModel struct {
	Type        string `json:"type"`
	ID          string `json:"id"`
	DisplayName string `json:"display_name"`
	CreatedAt   string `json:"created_at"`
}

// serveModels lists the configured models. The two APIs share the path; only Anthropic's has the version
// header.
func (s *Server) serveModels(w http.ResponseWriter, r *http.Request) {
	s.tally.begin("/v1/models")
	var o outcome
	defer func() { s.tally.end(o) }()

	config := &s.settings.Load().config
	var d dialect = openAI{}
	list := s.openAIModels
	if r.Header.Get("anthropic-version") != "" {
		d, list = anthropic{}, s.anthropicModels
	}
	if err := d.check(r.Header, config.APIKey); err != nil {
		o.status = refuse(w, d, err.(*failure))
		return
	}
	o.status = http.StatusOK
	writeJSON(w, o.status, list(config.Models))
}

func (s *Server) openAIModels(names []string) []byte {
	var data []openAIModel
	for _, name := range names {
		data = append(data, openAIModel{ID: name, Object: "model", Created: s.started.Unix(), OwnedBy: "sim"})
	}
	return encode(struct {
		Object string        `json:"object"`
		Data   []openAIModel `json:"data"`
	}{"list", data})
}

func (s *Server) anthropicModels(names []string) []byte {
	var data []anthropicModel
	for _, name := range names {
		created := s.started.UTC().Format(time.RFC3339)
		data = append(data, anthropicModel{Type: "model", ID: name, DisplayName: name, CreatedAt: created})
	}
	return encode(struct {
		Data    []anthropicModel `json:"data"`
		HasMore bool             `json:"has_more"`
		FirstID string           `json:"first_id"`
		LastID  string           `json:"last_id"`
	}{data, false, names[0], names[len(names)-1]}) // Config.withDefaults leaves at least one
}
