package redisstore

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore/redistest"
)

// BenchmarkScript is the processor time of Redis for one request of a full call,
// without anything else: the least of several windows, since other processes
// disturb. A limit of 1 makes all but the first of a bucket's charges refused.
func BenchmarkScript(b *testing.B) {
	server := redistest.Start(b)
	for _, c := range []struct {
		name   string
		rules  int
		shared bool // the last rule has one bucket for all
		count  int64
		users  int // whose buckets are asked in turn: those of many are in no cache
	}{
		{"one rule", 1, false, 1_000_000, 512},
		{"three rules", 3, false, 1_000_000, 512},
		{"three rules, one shared", 3, true, 1_000_000, 512},
		{"one rule, refused", 1, false, 1, 512},
		{"three rules, refused", 3, false, 1, 512},
		{"one rule, many users", 1, false, 1_000_000, 10_000},
		{"three rules, many users", 3, false, 1_000_000, 10_000},
		{"three rules, one shared, many users", 3, true, 1_000_000, 10_000},
	} {
		for _, size := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("%s/requests=%d", c.name, size), func(b *testing.B) {
				keys := func(rule, request int) string {
					if c.shared && rule == c.rules-1 {
						return "all"
					}
					return "user:" + strconv.Itoa(100_000+request)
				}
				benchmarkScript(b, server, crowd{benchmarkPolicies(b, algo.TokenBucket, c.rules, c.count), size, c.users / size, keys})
			})
		}
	}
	for _, a := range algo.All {
		b.Run(a.Name()+"/requests=64", func(b *testing.B) {
			keys := func(_, request int) string { return "user:" + strconv.Itoa(100_000+request) }
			benchmarkScript(b, server, crowd{benchmarkPolicies(b, a, 1, 10_000), 64, 8, keys})
		})
	}
}

func benchmarkPolicies(b *testing.B, a stint.Algorithm, n int, count int64) (all []*stint.Policy) {
	b.Helper()
	for i := range n {
		p, err := stint.NewPolicy("rule "+strconv.Itoa(i), stint.Limit{Count: count, Window: time.Hour}, a)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// crowd is calls of so many requests each, which are made in turn. key is that of a
// rule's charge in a request.
type crowd struct {
	policies    []*stint.Policy
	size, calls int
	key         func(rule, request int) string
}

func benchmarkScript(b *testing.B, server *redistest.Server, c crowd) {
	b.Helper()
	server.Do("FLUSHALL")
	s, err := New(Options{Addrs: []string{server.Addr}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	batches := make([]*batch, c.calls)
	for i := range batches {
		batches[i] = newBatch()
		for j := range c.size {
			var charges []stint.Charge
			for k, p := range c.policies {
				charges = append(charges, stint.Charge{Policy: p, Key: []byte(c.key(k, i*c.size+j)), Ask: stint.Ask{Cost: 1}})
			}
			r := s.borrow()
			if err := s.fill(r, 0, charges); err != nil {
				b.Fatal(err)
			}
			batches[i].requests = append(batches[i].requests, r)
		}
	}
	least, next := math.Inf(1), 0
	for b.Loop() {
		const calls = 200
		before := seconds(server)
		for range calls {
			bt := batches[next%len(batches)]
			next++
			if _, _, err := s.ask(bt); err != nil {
				b.Fatal(err)
			}
		}
		least = min(least, (seconds(server)-before)/calls/float64(c.size)*1e6)
	}
	b.ReportMetric(least, "redis-µs/request")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkParts is what a call is made of: the processor time of Redis for one
// call of a script that does one thing, with 64 keys there, 64 times unless it says
// otherwise.
func BenchmarkParts(b *testing.B) {
	server := redistest.Start(b)
	s, err := New(Options{Addrs: []string{server.Addr}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var keys []string
	for i := range 64 {
		keys = append(keys, string(appendKey(nil, DefaultPrefix, "rule 0", []byte("user:"+strconv.Itoa(100_000+i)))))
		server.Do("SET", keys[i], strings.Repeat("x", 28), "PX", "10000000")
	}
	const top = "local call, value, pack, unpack = redis.call, ARGV[1], struct.pack, struct.unpack\n"
	for _, part := range []struct {
		name, text string
		keys       int
	}{
		{"a call with one key", "", 1},
		{"a call with 64 keys", "", 64},
		{"TIME, once", "call('TIME')", 1},
		{"MGET of 64, once", "call('MGET', unpackAll(KEYS))", 64},
		{"EXISTS of 64, once", "call('EXISTS', unpackAll(KEYS))", 64},
		{"GET", "each call('GET', KEYS[i])", 64},
		{"PTTL", "each call('PTTL', KEYS[i])", 64},
		{"SET KEEPTTL", "each call('SET', KEYS[i], value, 'KEEPTTL')", 64},
		{"SETRANGE", "each call('SETRANGE', KEYS[i], '0', value)", 64},
		{"SET PX", "each call('SET', KEYS[i], value, 'PX', 10000000)", 64},
		{"PSETEX", "each call('PSETEX', KEYS[i], 10000000, value)", 64},
		{"unpack a cell", "each local _, a, b, c, d = unpack('<BI5I7I5c10', value)", 64},
		{"unpack a cell and its params", "each local _, a, b, c, d, e, f = unpack('<BI5I7I5I2I5I3', value)", 64},
		{"pack a cell", "each local v = pack('<BI5I7I5c10', 66, i, i, i, '0123456789')", 64},
		{"pack a cell and its params", "each local v = pack('<BI5I7I5I2I5I3', 66, i, i, i, 1, 2, 3)", 64},
		{"a table of no fields", "each local t = {}", 64},
		{"a function of no locals", "each local f = function() end", 64},
		{"a function of one local", "each local f = function() return i end", 64},
		{"a call of a function", "local function f(a) return a end each f(i)", 64},
		{"ten reads of a table", "local t = {1, 2} each local a a = t[1] a = t[2] a = t[1] a = t[2] a = t[1] a = t[2] a = t[1] a = t[2] a = t[1] a = t[2]", 64},
		{"256 doubles in, once", "local r = {unpack('<' .. string.rep('d', 256), string.rep('x', 2048))}", 1},
	} {
		b.Run(strings.ReplaceAll(part.name, " ", "_"), func(b *testing.B) {
			text := strings.ReplaceAll(part.text, "unpackAll", "_G.unpack")
			if before, each, ok := strings.Cut(text, "each "); ok {
				text = before + "for i = 1, 64 do " + each + " end"
			}
			c, err := s.link.client()
			if err != nil {
				b.Fatal(err)
			}
			script := rueidis.NewLuaScript(top + text + "\nreturn ''")
			least := math.Inf(1)
			for b.Loop() {
				const calls = 200
				before := seconds(server)
				for range calls {
					if err := script.Exec(b.Context(), c, keys[:part.keys], []string{strings.Repeat("x", 28)}).Error(); err != nil {
						b.Fatal(err)
					}
				}
				least = min(least, (seconds(server)-before)/calls*1e6)
			}
			b.ReportMetric(least, "redis-µs/call")
			b.ReportMetric(0, "ns/op")
		})
	}
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
