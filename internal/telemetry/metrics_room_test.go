package telemetry

import "testing"

func TestRooms(t *testing.T) {
	t.Parallel()
	m := NewMetrics("", "")
	expect(t, scrape(t, m), map[string]float64{`penstock_target_room_seats{target="mini"}`: absent})
	m.Admit(Names{Targets: []string{"mini"}})
	m.CollectRooms(func() []Room {
		return []Room{{Target: "mini", Limit: 40, Running: 7, RestSeconds: 1.5, Throttles: 3, Rates: []RoomRate{
			{Resource: "requests", PerMinute: 600, Purse: 4}, {Resource: "tokens", PerMinute: 9000, Learned: true, Purse: -12},
		}}}
	})
	expect(t, scrape(t, m), map[string]float64{
		`penstock_target_room_seats{target="mini"}`:                                          40,
		`penstock_target_room_seats_in_use{target="mini"}`:                                   7,
		`penstock_target_room_rest_seconds{target="mini"}`:                                   1.5,
		`penstock_target_room_throttles_total{target="mini"}`:                                3,
		`penstock_target_room_per_minute{resource="requests",source="config",target="mini"}`: 600,
		`penstock_target_room_per_minute{resource="tokens",source="headers",target="mini"}`:  9000,
		`penstock_target_room_purse{resource="tokens",target="mini"}`:                        -12,
	})
}
