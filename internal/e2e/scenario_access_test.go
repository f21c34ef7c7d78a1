package e2e

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

var accessScenarios = []scenario{
	{name: "access_keys", play: accessKeys},
	{name: "access_every_route", play: accessRoutes},
	{name: "access_nowhere", play: accessNowhere},
}

func accessKeys(s *scene) {
	s.tell("no key", get("/v1/jobs?model=nobody", "Authorization", ""))
	s.tell("an unknown key", get("/v1/jobs?model=nobody", "Authorization", "Bearer psk_unknown"))
	for _, c := range []Call{
		get("/v1/jobs?model=nobody", "Authorization", "", "X-Api-Key", Key),
		get("/v1/jobs?model=nobody", "Authorization", "bearer "+Key),
		get("/v1/jobs?model=nobody", "Authorization", "Bearer  "+Key+" "),
		get("/v1/jobs?model=nobody", "Authorization", "Basic "+Key, "X-Api-Key", Key),
		get("/v1/jobs?model=nobody", "Authorization", "Basic "+Key),
		get("/v1/jobs?model=nobody", "Authorization", Key),
		get("/v1/jobs?model=nobody", "Authorization", "Bearer"),
		get("/v1/jobs?model=nobody", "Authorization", "Bearer "),
		get("/v1/jobs?model=nobody", "Authorization", "Bearer "+strings.ToUpper(Key)),
		get("/v1/jobs?model=nobody", "Authorization", "Bearer "+Key+"x"),
		get("/v1/jobs?model=nobody", "Authorization", "Bearer psk_unknown", "X-Api-Key", Key),
		get("/v1/jobs?model=nobody", "Authorization", "", "X-Api-Key", "psk_unknown"),
		get("/v1/jobs?model=nobody&api_key="+Key, "Authorization", ""),
	} {
		a := s.call(c)
		s.script.note("Authorization: %q, X-Api-Key: %q => %d", c.Header["Authorization"], c.Header["X-Api-Key"], a.Status)
	}
}

// accessRoutes walks over every route that the server describes: without a key only those are open that
// are about the process itself.
func accessRoutes(s *scene) {
	paths := s.contract.document["paths"].(map[string]any)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		for _, method := range slices.Sorted(maps.Keys(paths[path].(map[string]any))) {
			c := Call{Method: strings.ToUpper(method), Path: strings.NewReplacer("{id}", "x", "{model}", "x").Replace(path),
				Header: map[string]string{"Authorization": ""}}
			s.script.note("%s %s without a key => %d", c.Method, path, s.call(c).Status)
		}
	}
}

func accessNowhere(s *scene) {
	for _, c := range []Call{
		get("/"), get("/v1"), get("/v1/"), get("/v1/job"), get("/v1/jobs/"), get("/v1/jobs/job_1/result"), get("/v2/jobs"), get("/metrics"),
		get("/debug/pprof/"), post("/v1/moderations", "{}"), post("/v1/models", "{}"), get(chatPath), get("/v1/jobs/job_1/cancel"),
		{Method: "PUT", Path: "/v1/jobs"}, {Method: "DELETE", Path: "/v1/items/item_1"}, {Method: "PATCH", Path: "/v1/jobs/job_1"},
		{Method: "OPTIONS", Path: "/v1/jobs"}, {Method: "DELETE", Path: "/healthz"},
	} {
		if a := s.tell("nowhere", c); a.Status != http.StatusNotFound {
			s.Errorf("%s %s answers %d", c.Method, c.Path, a.Status)
		}
	}
	for _, path := range []string{"/healthz", "/v1/models", "/v1/jobs?model=nobody"} {
		a := s.call(Call{Method: "HEAD", Path: path})
		s.script.note("HEAD %s => %d, %d bytes", path, a.Status, len(a.Body))
	}
}
