package admin

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// reload is what became of the attempts to read the rules. It is a
// prometheus.Collector.
type reload struct {
	mu        sync.Mutex
	at        time.Time // of the last attempt; zero if there was none
	err       error
	good, bad int64

	total, success, timestamp *prometheus.Desc
}

func (r *reload) init() {
	r.total = prometheus.NewDesc("stint_config_reloads_total",
		"Attempts to read the configuration, the first one included.", []string{"result"}, nil)
	r.success = prometheus.NewDesc("stint_config_last_reload_success",
		"1 if the last attempt to read the configuration succeeded.", nil, nil)
	r.timestamp = prometheus.NewDesc("stint_config_last_reload_timestamp_seconds",
		"When the configuration was last tried to be read, as Unix time.", nil, nil)
}

// Reloaded tells of an attempt to read the configuration, the first one at the
// start included. After an err the rules from before are still in force; its text
// is shown on the page.
func (a *Admin) Reloaded(at time.Time, err error) {
	r := &a.reload
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at, r.err = at, err
	if err == nil {
		r.good++
	} else {
		r.bad++
	}
}

// Describe implements prometheus.Collector.
func (r *reload) Describe(c chan<- *prometheus.Desc) { c <- r.total; c <- r.success; c <- r.timestamp }

// Collect implements prometheus.Collector.
func (r *reload) Collect(c chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c <- prometheus.MustNewConstMetric(r.total, prometheus.CounterValue, float64(r.good), "success")
	c <- prometheus.MustNewConstMetric(r.total, prometheus.CounterValue, float64(r.bad), "failure")
	if r.at.IsZero() {
		return
	}
	success := 1.0
	if r.err != nil {
		success = 0
	}
	c <- prometheus.MustNewConstMetric(r.success, prometheus.GaugeValue, success)
	c <- prometheus.MustNewConstMetric(r.timestamp, prometheus.GaugeValue, float64(r.at.UnixMilli())/1000)
}

// store reads the counters of a store once for each scrape.
type store struct {
	stats                           func() StoreStats
	buckets, most, bytes, mostBytes *prometheus.Desc
	evicted, evictedInUse           *prometheus.Desc
}

func storeCollector(stats func() StoreStats) *store {
	return &store{
		stats:   stats,
		buckets: prometheus.NewDesc("stint_memory_buckets", "Buckets kept in memory.", nil, nil),
		most:    prometheus.NewDesc("stint_memory_max_buckets", "The most buckets that are kept in memory.", nil, nil),
		bytes:   prometheus.NewDesc("stint_memory_bytes", "Bytes that the buckets in memory take.", nil, nil),
		mostBytes: prometheus.NewDesc("stint_memory_max_bytes",
			"The most bytes that buckets may take in memory.", nil, nil),
		evicted: prometheus.NewDesc("stint_memory_evicted_total", "Buckets dropped to make room for others.", nil, nil),
		evictedInUse: prometheus.NewDesc("stint_memory_evicted_in_use_total",
			"Buckets dropped to make room for others while they still carried counts.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (s *store) Describe(c chan<- *prometheus.Desc) {
	c <- s.buckets
	c <- s.most
	c <- s.bytes
	c <- s.mostBytes
	c <- s.evicted
	c <- s.evictedInUse
}

// Collect implements prometheus.Collector.
func (s *store) Collect(c chan<- prometheus.Metric) {
	now := s.stats()
	c <- prometheus.MustNewConstMetric(s.buckets, prometheus.GaugeValue, float64(now.Buckets))
	c <- prometheus.MustNewConstMetric(s.most, prometheus.GaugeValue, float64(now.MaxBuckets))
	c <- prometheus.MustNewConstMetric(s.bytes, prometheus.GaugeValue, float64(now.Memory))
	c <- prometheus.MustNewConstMetric(s.mostBytes, prometheus.GaugeValue, float64(now.MaxMemory))
	c <- prometheus.MustNewConstMetric(s.evicted, prometheus.CounterValue, float64(now.Evicted))
	c <- prometheus.MustNewConstMetric(s.evictedInUse, prometheus.CounterValue, float64(now.EvictedInUse))
}
