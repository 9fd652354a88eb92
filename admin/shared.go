package admin

import "github.com/prometheus/client_golang/prometheus"

// shared reads the counters of a shared store once for each scrape.
type shared struct {
	stats                                                      func() SharedStats
	up, failed, timeouts, cancelled, degraded, repeated, fleet *prometheus.Desc
}

func sharedCollector(stats func() SharedStats) *shared {
	return &shared{
		stats:     stats,
		up:        prometheus.NewDesc("stint_store_up", "0 while the shared store, or a part of it, is left alone because it failed.", nil, nil),
		failed:    prometheus.NewDesc("stint_store_failed_total", "Calls that the shared store did not answer.", nil, nil),
		timeouts:  prometheus.NewDesc("stint_store_timeouts_total", "Calls that the shared store did not answer in time.", nil, nil),
		cancelled: prometheus.NewDesc("stint_store_cancelled_total", "Calls to the shared store that their clients gave up.", nil, nil),
		degraded:  prometheus.NewDesc("stint_degraded_decisions_total", "Decisions made without the shared store.", nil, nil),
		repeated:  prometheus.NewDesc("stint_repeated_refusals_total", "Refusals that were known, so that the shared store was not asked again.", nil, nil),
		fleet:     prometheus.NewDesc("stint_fleet_size", "Servers that share the counts, as far as is known; each allows its part while the shared store fails.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (s *shared) Describe(c chan<- *prometheus.Desc) {
	c <- s.up
	c <- s.failed
	c <- s.timeouts
	c <- s.cancelled
	c <- s.degraded
	c <- s.repeated
	c <- s.fleet
}

// Collect implements prometheus.Collector.
func (s *shared) Collect(c chan<- prometheus.Metric) {
	now := s.stats()
	up := 0.0
	if now.Up {
		up = 1
	}
	c <- prometheus.MustNewConstMetric(s.up, prometheus.GaugeValue, up)
	c <- prometheus.MustNewConstMetric(s.failed, prometheus.CounterValue, float64(now.Failed))
	c <- prometheus.MustNewConstMetric(s.timeouts, prometheus.CounterValue, float64(now.Timeouts))
	c <- prometheus.MustNewConstMetric(s.cancelled, prometheus.CounterValue, float64(now.Cancelled))
	c <- prometheus.MustNewConstMetric(s.degraded, prometheus.CounterValue, float64(now.Degraded))
	c <- prometheus.MustNewConstMetric(s.repeated, prometheus.CounterValue, float64(now.Repeated))
	c <- prometheus.MustNewConstMetric(s.fleet, prometheus.GaugeValue, float64(now.Fleet))
}
