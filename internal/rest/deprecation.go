package rest

import (
	"net/http"
	"time"
)

// DeprecationView is a version, route or field of the API that will be removed.
type DeprecationView struct {
	Object       string    `json:"object"`
	Kind         string    `json:"kind" about:"version, route, or field of an answer."`
	Version      *string   `json:"version" about:"The version that has it; null for a route, which no version keeps."`
	Method       *string   `json:"method" about:"Of the route; null for a version."`
	Path         *string   `json:"path" about:"Of the route; null for a version."`
	Field        *string   `json:"field" about:"The field of the answer."`
	Replacement  *string   `json:"replacement" about:"What to use instead."`
	About        string    `json:"about"`
	DeprecatedAt time.Time `json:"deprecated_at" about:"The time of the deprecation, as in the header Deprecation."`
	SunsetAt     time.Time `json:"sunset_at" about:"The time from which it may be removed, as in the header Sunset."`
}

// Deprecations lists the deprecations of a surface: versions, then routes and fields in the order of the table.
func (s *Server) Deprecations() []DeprecationView {
	all := []DeprecationView{}
	for i := range Versions[:Newest] {
		v := &Versions[i]
		all = append(all, DeprecationView{
			Object: "deprecation", Kind: "version", Version: &v.Name, Replacement: &Versions[Newest].Name,
			About: "Send penstock-version with every call to choose a version.", DeprecatedAt: v.Deprecated, SunsetAt: v.Sunset,
		})
	}
	for i := range s.Routes {
		all = append(all, s.deprecationsIn(&s.Routes[i])...)
	}
	return all
}

func (s *Server) deprecationsIn(rt *Route) (all []DeprecationView) {
	if d := rt.Deprecated; d != nil {
		all = append(all, DeprecationView{
			Object: "deprecation", Kind: "route", Method: &rt.Method, Path: &rt.Path, Replacement: &d.Replacement, About: d.About, DeprecatedAt: d.Since, SunsetAt: d.Sunset,
		})
	}
	for i := range Versions[:Newest] {
		for _, c := range s.Shapes.shown(rt, i) {
			all = append(all, DeprecationView{
				Object: "deprecation", Kind: "field", Version: &Versions[i].Name, Method: &rt.Method, Path: &rt.Path, Field: &c.Field, Replacement: &c.Replacement,
				About: c.About, DeprecatedAt: Versions[i].Deprecated, SunsetAt: Versions[i].Sunset,
			})
		}
	}
	return all
}

// ServeDeprecations answers with the list.
func (c *Call) ServeDeprecations() error {
	return c.JSON(http.StatusOK, Page[DeprecationView]{Object: "list", Data: c.server.Deprecations()})
}
