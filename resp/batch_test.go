package resp_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
	"github.com/stint-dev/stint/resp"
)

// distant is a store that takes its time.
type distant struct {
	stint.Store
	takes func() time.Duration

	now, most atomic.Int64
}

func (d *distant) Take(ctx context.Context, now stint.Micros, charges []stint.Charge, verdicts []stint.Verdict) (stint.Micros, error) {
	n := d.now.Add(1)
	for most := d.most.Load(); n > most && !d.most.CompareAndSwap(most, n); most = d.most.Load() {
	}
	defer d.now.Add(-1)
	time.Sleep(d.takes())
	return d.Store.Take(ctx, now, charges, verdicts)
}

// pipes is a listener without a network.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	end   chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.end:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.end) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

// overPipes serves a store within a bubble and calls f with as many clients.
func overPipes(t *testing.T, store stint.Store, clients int, f func(c []*client)) {
	t.Helper()
	l := &pipes{conns: make(chan net.Conn), end: make(chan struct{})}
	s, err := resp.New(resp.Options{Limiter: &stint.Limiter{Store: store}, WriteTimeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	var all []*client
	for range clients {
		here, there := net.Pipe()
		l.conns <- there
		all = append(all, newClient(t, here))
		defer here.Close()
	}
	defer func() {
		_ = s.Close()
		if err := <-done; !errors.Is(err, resp.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	}()
	f(all)
}

// TestPipelineIsOneTripForMany: a store that is a millisecond away is not asked one
// call after the other.
func TestPipelineIsOneTripForMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &distant{Store: newLimiter(t, nil).Store, takes: func() time.Duration { return time.Millisecond }}
		overPipes(t, store, 1, func(c []*client) {
			const many = 2000
			began := time.Now()
			var b strings.Builder
			for i := range many {
				b.WriteString(wire("CL.THROTTLE", fmt.Sprint("user", i), fmt.Sprint(i), "1", "60"))
			}
			go func() { _, _ = c[0].conn.Write([]byte(b.String())) }()
			for i := range many {
				want(t, "call", c[0].answer(), fmt.Sprintf("[0 %d %d -1 60]", i+1, i))
			}
			if took := time.Since(began); took > 100*time.Millisecond {
				t.Errorf("%d calls took %v, one after the other would take %v", many, took, many*time.Millisecond)
			}
		})
	})
}

// TestPipelineKeepsItsOrder: calls with one key are decided in the order in which they
// came, and answers come in the order of all commands, also around others and faults.
func TestPipelineKeepsItsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		var mu sync.Mutex
		store := &distant{Store: newLimiter(t, nil).Store, takes: func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return time.Duration(r.IntN(3000)) * time.Microsecond
		}}
		overPipes(t, store, 1, func(c []*client) {
			used := make(map[int]int)
			var b strings.Builder
			var answers []string
			for i := range 3000 {
				switch key := int(r.ExpFloat64() * 5); {
				case i%97 == 0:
					b.WriteString(wire("ECHO", fmt.Sprint(i)))
					answers = append(answers, fmt.Sprint(i))
				case i%89 == 0:
					b.WriteString(wire("CL.THROTTLE", fmt.Sprint("user", key), "5000", "0", "1"))
					answers = append(answers, "-ERR count '0' is not an integer or out of range: write 1 to 4503599627370496")
				default:
					used[key]++
					b.WriteString(wire("CL.THROTTLE", fmt.Sprint("user", key), "5000", "1", "100000"))
					answers = append(answers, fmt.Sprintf("[0 5001 %d -1 ", 5001-used[key]))
				}
			}
			b.WriteString(wire("QUIT"))
			answers = append(answers, "OK")
			go func() { _, _ = c[0].conn.Write([]byte(b.String())) }()
			for i, answer := range answers {
				if got := c[0].answer(); !strings.HasPrefix(got, answer) {
					t.Fatalf("answer %d: %s, want %s", i, got, answer)
				}
			}
		})
	})
}

// TestDecisionsAtOnceAreBounded: many connections with long pipelines do not flood the
// store.
func TestDecisionsAtOnceAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &distant{Store: newLimiter(t, nil).Store, takes: func() time.Duration { return time.Millisecond }}
		const clients, calls = 40, 200
		overPipes(t, store, clients, func(all []*client) {
			var pipeline strings.Builder
			for i := range calls {
				pipeline.WriteString(wire("CL.THROTTLE", fmt.Sprint("user", i), "1000000", "1", "60"))
			}
			var wg sync.WaitGroup
			for _, c := range all {
				wg.Go(func() { _, _ = c.conn.Write([]byte(pipeline.String())) })
				wg.Go(func() {
					for range calls {
						if got := c.answer(); !strings.HasPrefix(got, "[0 1000001 ") {
							t.Error(got)
							return
						}
					}
				})
			}
			wg.Wait()
		})
		if most := store.most.Load(); most <= clients || most > 1024+clients {
			t.Errorf("%d decisions at once", most)
		}
	})
}

// TestEndWithinAPipeline: a client that breaks off half of a pipeline, or the
// protocol, loses no answer to what it asked before.
func TestEndWithinAPipeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &distant{Store: newLimiter(t, nil).Store, takes: func() time.Duration { return time.Millisecond }}
		overPipes(t, store, 1, func(c []*client) {
			var b strings.Builder
			for i := range 100 {
				b.WriteString(wire("CL.THROTTLE", fmt.Sprint("user", i), "0", "1", "60"))
			}
			go func() { _, _ = c[0].conn.Write([]byte(b.String() + "*1000000000\r\n")) }()
			for range 100 {
				want(t, "call", c[0].answer(), "[0 1 0 -1 60]")
			}
			want(t, "end", c[0].answer(), "-ERR Protocol error: invalid multibulk length")
		})
	})
}

// BenchmarkPipelinedOverRedis is commands over loopback, 1,000 in a pipeline, with
// counts in Redis.
func BenchmarkPipelinedOverRedis(b *testing.B) {
	store, err := redisstore.New(redisstore.Options{Addrs: []string{redistest.Start(b).Addr}})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	_, addr := serve(b, resp.Options{Limiter: &stint.Limiter{Store: store}})
	c := dial(b, addr)
	for name, keys := range map[string]int{"one key": 1, "10k keys": 10_000} {
		b.Run(name, func(b *testing.B) {
			const piece = 1000
			next := 0
			for b.Loop() {
				var all strings.Builder
				for range piece {
					next++
					all.WriteString(wire("CL.THROTTLE", fmt.Sprint("user", next%keys), "1000000", "1000", "1", "1"))
				}
				c.write(all.String())
				for range piece {
					if got := c.answer(); !strings.HasPrefix(got, "[0 ") {
						b.Fatal(got)
					}
				}
			}
			b.ReportMetric(float64(b.N)*piece/b.Elapsed().Seconds(), "commands/s")
		})
	}
}
