package rest

import (
	"slices"
	"strings"
)

// Features names what surfaces serve: the first words of their paths after the version. Those of the admin API begin with
// "admin.". A page of the console asks for the feature that it needs.
func Features(surfaces ...Surface) []string {
	var all []string
	for _, s := range surfaces {
		for i := range s.Routes {
			path, admin := strings.CutPrefix(s.Routes[i].Path, "/admin")
			rest, ok := strings.CutPrefix(path, "/v1/")
			if !ok {
				continue
			}
			name, _, _ := strings.Cut(rest, "/")
			if admin {
				name = "admin." + name
			}
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
