//go:build releases

package redisstore_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore/redistest"
	"github.com/stint-dev/stint/storetest"
)

// other is another release on the same Redis: a process of testdata/worker, built by
// scripts/two-releases.
type other struct {
	testing.TB
	in  io.Writer
	out *bufio.Scanner
}

func startOther(t *testing.T, server *redistest.Server) *other {
	t.Helper()
	worker := exec.CommandContext(t.Context(), os.Getenv("STINT_WORKER"), server.Addr)
	worker.Stderr = os.Stderr
	in, err := worker.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := worker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = worker.Wait()
	})
	return &other{TB: t, in: in, out: bufio.NewScanner(out)}
}

// ask is what the other release says.
func (o *other) ask(p *stint.Policy, key string, cost int64, now stint.Micros) string {
	o.Helper()
	fmt.Fprintf(o.in, "%q %q %q %d %d\n", p.Name, p.Limit.String(), key, cost, now)
	if !o.out.Scan() {
		o.Fatalf("the other release has ended: %v", o.out.Err())
	}
	return o.out.Text()
}

// TestTwoReleasesCountTogether: during an upgrade, and back, both say what the reference
// says; or the one before says that it cannot, and resets nothing.
func TestTwoReleasesCountTogether(t *testing.T) {
	server := redistest.Start(t)
	o, seed := startOther(t, server), storetest.Seed()
	r := rand.New(rand.NewPCG(seed, 9))
	for _, a := range every {
		_, list := a.(stint.ListAlgorithm)
		for _, limit := range []string{"10 per 60s", "1000003 per 3599s"} {
			l, err := stint.ParseLimit(limit)
			if err != nil {
				t.Fatal(err)
			}
			p, err := stint.NewPolicy(a.Name(), l, a)
			if err != nil {
				continue // a log has no more than 10,000 entries
			}
			c, reference := scripted(t, server), &client{TB: t, store: storetest.NewReference(), now: storetest.Start}
			for step := range 2000 {
				key, cost := fmt.Sprint(r.IntN(3), step/200), []int64{1, 1, 1, 2, 0, -1, 5}[r.IntN(7)]
				if limit != "10 per 60s" {
					cost *= 100_000
				}
				c.after(time.Duration(r.Int64N(6_000_000)) * time.Microsecond)
				reference.now = c.now
				if r.IntN(2) == 0 {
					said := o.ask(p, key, cost, c.now)
					if list && strings.Contains(said, "not a bucket") {
						continue
					}
					if want := fmt.Sprintf("%+v", reference.ask(p, key, cost)); said != want {
						t.Fatalf("seed %d, %s %s, step %d: the other release says\n%s, want\n%s", seed, a.Name(), limit, step, said, want)
					}
					continue
				}
				if v, want := c.ask(p, key, cost), reference.ask(p, key, cost); v != want {
					t.Fatalf("seed %d, %s %s, step %d:\n%+v, want\n%+v", seed, a.Name(), limit, step, v, want)
				}
			}
			server.Do("FLUSHALL")
		}
	}
}

// TestTheOtherReleaseLeavesDebtAlone: where a debt is kept beside a bucket, the release
// before says that it cannot count there.
func TestTheOtherReleaseLeavesDebtAlone(t *testing.T) {
	server := redistest.Start(t)
	o, c := startOther(t, server), scripted(t, server)
	large := policy(t, "token_bucket", "1000 per 60s", algo.TokenBucket)
	small := policy(t, "token_bucket", "100 per 60s", algo.TokenBucket)
	c.ask(large, "k", 950)
	c.after(30 * time.Second)
	c.ask(small, "k", 1)
	value := server.Do("GET", server.Keys(0)[0])
	for _, p := range []*stint.Policy{small, large} {
		if said := o.ask(p, "k", 1, c.now); !strings.Contains(said, "not a bucket") {
			t.Errorf("the other release counts %s", said)
		}
	}
	if server.Do("GET", server.Keys(0)[0]) != value {
		t.Error("the other release has changed the bucket")
	}
}
