package app

import (
	"penstock/internal/config"
	"penstock/internal/work"
)

// slotPools are the slots that the configuration sets apart for some models.
func slotPools(pools []config.WorkPool) []work.SlotPool {
	all := make([]work.SlotPool, len(pools))
	for i, p := range pools {
		all[i] = work.SlotPool{Models: p.Models, Slots: p.Slots}
	}
	return all
}
