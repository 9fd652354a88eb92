package redisstore

import (
	"context"
	"math"
	"strconv"
	"strings"
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
	var batches []*batch
	for i := range 8 {
		bt := &batch{}
		for j := range size {
			bt.requests = append(bt.requests, benchmarkRequest(b, s, a, rules, i*size+j))
		}
		batches = append(batches, bt)
	}
	least := math.Inf(1)
	for b.Loop() {
		before := seconds(server)
		const calls = 400
		for i := range calls {
			bt := batches[i%len(batches)]
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

func benchmarkRequest(b *testing.B, s *Store, a stint.Algorithm, rules, i int) *request {
	b.Helper()
	r := s.borrow()
	var charges []stint.Charge
	for j := range rules {
		l := stint.Limit{Count: 10_000, Window: time.Minute}
		p, ok := s.testPolicies(a, j, l)
		if !ok {
			b.Fatal(a)
		}
		charges = append(charges, stint.Charge{Policy: p, Key: []byte("user:" + strconv.Itoa(100_000+i)), Ask: stint.Ask{Cost: 1}})
	}
	if err := s.fill(r, 0, charges); err != nil {
		b.Fatal(err)
	}
	return r
}

// testPolicies finds or makes a policy.
func (s *Store) testPolicies(a stint.Algorithm, j int, l stint.Limit) (*stint.Policy, bool) {
	name := "rule " + strconv.Itoa(j)
	var found *stint.Policy
	s.homes.Range(func(p, _ any) bool {
		if q, ok := p.(string); ok && q == name {
			found = nil
		}
		return true
	})
	if v, ok := s.homes.Load("test " + name); ok {
		return v.(*stint.Policy), true
	}
	found, err := stint.NewPolicy(name, l, a)
	if err != nil {
		return nil, false
	}
	s.homes.Store("test "+name, found)
	return found, true
}

func seconds(server *redistest.Server) float64 {
	c := server.Info("cpu")
	x, _ := strconv.ParseFloat(strings.TrimSpace(c["used_cpu_user"]), 64)
	y, _ := strconv.ParseFloat(strings.TrimSpace(c["used_cpu_sys"]), 64)
	_ = context.Background
	return x + y
}
