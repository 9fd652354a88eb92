package sharedstore_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore/redistest"
	"github.com/stint-dev/stint/sharedstore"
)

func open(t *testing.T, url string, o sharedstore.Options) *sharedstore.Store {
	t.Helper()
	s, err := sharedstore.Open(url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func perDay(t *testing.T, limit int64) *stint.Policy {
	t.Helper()
	p, err := stint.NewPolicy("per-day", stint.Limit{Count: limit, Window: 24 * time.Hour}, algo.FixedWindow)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// patient waits for Redis on a machine that has other things to do.
const patient = 10 * time.Second

// TestStoresOfOneURLShareALimit, asked for one charge and for a list.
func TestStoresOfOneURLShareALimit(t *testing.T) {
	redis := redistest.Start(t)
	for name, o := range map[string]sharedstore.Options{"shield": {Deadline: patient}, "no shield": {Deadline: patient, NoShield: true}} {
		t.Run(name, func(t *testing.T) {
			p := perDay(t, 10)
			passed := 0
			for i := range 12 {
				l := &stint.Limiter{Store: open(t, "redis://"+redis.Addr, o)}
				ask := l.Allow
				if i%2 == 1 {
					ask = func(ctx context.Context, p *stint.Policy, key string) (stint.Decision, error) {
						return l.Take(ctx, stint.Charge{Policy: p, Key: []byte(key), Ask: stint.Ask{Cost: 1}})
					}
				}
				d, err := ask(t.Context(), p, name)
				if err != nil || d.Degraded {
					t.Fatalf("%+v, %v", d, err)
				}
				if d.Allowed {
					passed++
				}
			}
			if passed != 10 {
				t.Errorf("%d of 12 passed, want 10", passed)
			}
		})
	}
}

// TestWithoutRedisAServerTakesItsShare, from the start, and says so.
func TestWithoutRedisAServerTakesItsShare(t *testing.T) {
	var told []error
	s := open(t, "redis://127.0.0.1:1", sharedstore.Options{
		Fleet: sharedstore.Fleet{AtLeast: 4}, Deadline: 10 * time.Millisecond, Changed: func(err error) { told = append(told, err) },
	})
	l := &stint.Limiter{Store: s}
	passed := 0
	for range 40 {
		d, err := l.Allow(t.Context(), perDay(t, 40), "k")
		if err != nil || !d.Degraded {
			t.Fatalf("%+v, %v", d, err)
		}
		if d.Allowed {
			passed++
		}
	}
	if passed != 10 || len(told) != 1 || told[0] == nil || s.FleetSize() != 4 {
		t.Errorf("%d passed, told %v, %d servers", passed, told, s.FleetSize())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Inspect(ctx); err == nil {
		t.Error("Inspect found a Redis where none is")
	}
}

// TestCloseLeavesTheFleet, so that the others need not wait until it counts no longer.
func TestCloseLeavesTheFleet(t *testing.T) {
	redis := redistest.Start(t)
	sizes := make(chan int, 8)
	first := open(t, "redis://"+redis.Addr, sharedstore.Options{FleetChanged: func(c sharedstore.FleetChange) { sizes <- c.Servers }})
	second := open(t, "redis://"+redis.Addr, sharedstore.Options{})
	if _, err := first.Inspect(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n := range sizes {
		if n == 2 {
			break
		}
	}
	if second.Close(); second.FleetSize() > 2 {
		t.Errorf("%d servers", second.FleetSize())
	}
	second.Close() // once more is nothing
	first.Close()
	if keys := redis.Keys(0); slices.Contains(keys, "stint:{fleet}") {
		t.Errorf("keys %q: the fleet is left behind", keys)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	const secret = "hunter2"
	for name, c := range map[string]struct {
		url  string
		o    sharedstore.Options
		want string
	}{
		"scheme":   {"http://:" + secret + "@a", sharedstore.Options{}, ""},
		"deadline": {"redis://:" + secret + "@a", sharedstore.Options{Deadline: -1}, "deadline"},
		"shield":   {"redis://:" + secret + "@a", sharedstore.Options{MaxShield: time.Second, NoShield: true}, "NoShield"},
		"fleet":    {"redis://:" + secret + "@a", sharedstore.Options{Fleet: sharedstore.Fleet{Servers: -1}}, "fleet"},
		"prefix":   {"redis://:" + secret + "@a", sharedstore.Options{Prefix: "{a}"}, "brace"},
		"wait":     {"redis://:" + secret + "@a", sharedstore.Options{MaxShield: 2 * time.Hour}, "max wait"},
	} {
		s, err := sharedstore.Open(c.url, c.o)
		if err == nil {
			s.Close()
			t.Errorf("%s: no error", name)
			continue
		}
		if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
