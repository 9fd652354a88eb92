package redisstore

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore/redistest"
)

// BenchmarkScript is the processor time of Redis for one check of a full batch,
// without anything else: the least of several windows, since other processes
// disturb.
func BenchmarkScript(b *testing.B) {
	server := redistest.Start(b)
	for _, a := range algo.All {
		for _, n := range []int{1, 3} {
			for _, size := range []int{1, 32} {
				b.Run(a.Name()+"/rules="+strconv.Itoa(n)+"/batch="+strconv.Itoa(size), func(b *testing.B) {
					benchmarkScript(b, server, a, n, size)
				})
			}
		}
	}
}

func benchmarkScript(b *testing.B, server *redistest.Server, a stint.Algorithm, rules, size int) {
	b.Helper()
	server.Do("FLUSHALL")
	s, err := New(Options{Addrs: []string{server.Addr}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var policies []*stint.Policy
	for i := range rules {
		p, err := stint.NewPolicy("rule "+strconv.Itoa(i), stint.Limit{Count: 10_000, Window: time.Minute}, a)
		if err != nil {
			b.Fatal(err)
		}
		policies = append(policies, p)
	}
	batches := make([]batch, 8)
	for i := range batches {
		for j := range size {
			batches[i].requests = append(batches[i].requests, benchmarkRequest(b, s, policies, i*size+j))
		}
	}
	least := math.Inf(1)
	for b.Loop() {
		before := seconds(server)
		const calls = 400
		for i := range calls {
			bt := &batches[i%len(batches)]
			bt.pack()
			if _, _, err := s.ask(bt); err != nil {
				b.Fatal(err)
			}
		}
		least = min(least, (seconds(server)-before)/calls/float64(size)*1e6)
	}
	b.ReportMetric(least, "redis-µs/check")
	b.ReportMetric(0, "ns/op")
}

func benchmarkRequest(b *testing.B, s *Store, policies []*stint.Policy, i int) *request {
	b.Helper()
	var charges []stint.Charge
	for _, p := range policies {
		charges = append(charges, stint.Charge{Policy: p, Key: []byte("user:" + strconv.Itoa(100_000+i)), Ask: stint.Ask{Cost: 1}})
	}
	r := s.borrow()
	if err := s.fill(r, 0, charges); err != nil {
		b.Fatal(err)
	}
	return r
}

// seconds is the processor time that the server has used.
func seconds(server *redistest.Server) (sum float64) {
	info := server.Info("cpu")
	for _, field := range []string{"used_cpu_user", "used_cpu_sys"} {
		x, _ := strconv.ParseFloat(info[field], 64)
		sum += x
	}
	return sum
}
