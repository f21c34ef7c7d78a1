package work

import (
	"penstock"
	"penstock/internal/config"
	"penstock/internal/queue"
)

// LaneWeights are the weights by which the lanes share the slots in the current configuration.
func LaneWeights(live *config.Live) func() queue.LaneWeights {
	return func() queue.LaneWeights {
		lanes := live.Current().Lanes
		weights := make(queue.LaneWeights, len(penstock.Lanes))
		for _, lane := range penstock.Lanes {
			weights[lane] = lanes.Of(lane).Weight
		}
		return weights
	}
}
