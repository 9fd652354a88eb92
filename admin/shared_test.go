package admin

import "testing"

func TestMetricsOfASharedStore(t *testing.T) {
	now := SharedStats{Name: "redis", Up: true, Fleet: 3}
	a := New(Options{Shared: func() SharedStats { return now }})
	wantMetrics(t, a, "stint_store_up 1", "stint_fleet_size 3", "stint_store_failed_total 0")
	now = SharedStats{Failed: 7, Timeouts: 5, Cancelled: 4, Degraded: 9, Fleet: 2}
	wantMetrics(t, a, "stint_store_up 0", "stint_store_failed_total 7", "stint_store_timeouts_total 5",
		"stint_store_cancelled_total 4", "stint_degraded_decisions_total 9", "stint_fleet_size 2")
}
