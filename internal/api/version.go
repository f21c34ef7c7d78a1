package api

import "penstock/internal/rest"

// shapes are the answers of older versions of the API. A new difference is one more row here, or a [rest.Reshaped] where
// it is more than a name.
var shapes = newShapes()

func newShapes() *rest.Shapes {
	s := new(rest.Shapes)
	rest.Renamed[jobView](s, rest.Change{
		Version: rest.Newest, Field: "rate", Replacement: "items_per_second",
		About: "The name of the field has its unit, as in the load report; rate is the name of the limit on the items that a retry starts.",
	})
	return s
}
