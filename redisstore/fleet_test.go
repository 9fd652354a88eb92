package redisstore_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
)

// beat is short enough for tests.
const beat = 50 * time.Millisecond

// told is what a fleet has told. It is safe for concurrent use.
type told struct {
	mu    sync.Mutex
	sizes []int
	errs  []error
}

func (t *told) hear(size int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sizes, t.errs = append(t.sizes, size), append(t.errs, err)
}

// failures are the errors told, without those that say that all is well.
func (t *told) failures() []error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(t.errs), func(err error) bool { return err == nil })
}

// recovered says whether a failure was told, and then that all is well.
func (t *told) recovered() bool {
	failed := len(t.failures()) > 0
	t.mu.Lock()
	defer t.mu.Unlock()
	return failed && t.errs[len(t.errs)-1] == nil
}

// member is a server of a fleet.
type member struct {
	store *redisstore.Store
	fleet *redisstore.Fleet
	told  told
}

// join makes a store and lets it take part in the fleet until the test ends.
func join(t *testing.T, o redisstore.Options, every time.Duration) *member {
	t.Helper()
	store, err := redisstore.New(patient(o))
	if err != nil {
		t.Fatal(err)
	}
	m := &member{store: store}
	if m.fleet, err = store.Join(redisstore.FleetOptions{Every: every, Changed: m.told.hear}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.fleet.Close()
		store.Close()
	})
	return m
}

// awaitSize waits until all members know this size.
func awaitSize(t *testing.T, want int, all ...*member) {
	t.Helper()
	eventually(t, 10*time.Second, func() error {
		for _, m := range all {
			if n := m.fleet.Size(); n != want {
				return errors.New("a member knows of " + strconv.Itoa(n) + ", want " + strconv.Itoa(want))
			}
		}
		return nil
	})
}

func TestAFleetCounts(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	at := redisstore.Options{Addrs: []string{server.Addr}}
	a, b, c := join(t, at, beat), join(t, at, beat), join(t, at, beat)
	awaitSize(t, 3, a, b, c)

	killed := time.Now()
	c.store.Close() // it can neither beat nor leave
	awaitSize(t, 2, a, b)
	if d := time.Since(killed); d < 2*beat {
		t.Errorf("a member that has beaten does not count after %v", d)
	}
	awaitSize(t, 3, c) // as far as it knows

	slow := join(t, at, time.Minute)
	awaitSize(t, 3, a, b)
	slow.fleet.Close() // or it would count for three minutes
	slow.fleet.Close()
	awaitSize(t, 2, a, b)

	if ttl, _ := strconv.Atoi(server.Do("PTTL", "stint:{fleet}")); ttl <= 0 {
		t.Errorf("the key of the fleet expires in %d ms", ttl)
	}
	b.fleet.Close()
	awaitSize(t, 1, a)
	a.fleet.Close()
	if keys := server.Keys(0); len(keys) != 0 {
		t.Errorf("the last one leaves %q behind", keys)
	}
}

// TestFleetsOfTwoPrefixes know nothing of each other.
func TestFleetsOfTwoPrefixes(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	a := join(t, redisstore.Options{Addrs: []string{server.Addr}, Prefix: "a:"}, beat)
	b := join(t, redisstore.Options{Addrs: []string{server.Addr}, Prefix: "b:"}, beat)
	eventually(t, 5*time.Second, func() error {
		if n := len(server.Keys(0)); n != 2 {
			return errors.New(strconv.Itoa(n) + " keys")
		}
		return nil
	})
	if a.fleet.Size() != 1 || b.fleet.Size() != 1 {
		t.Errorf("%d and %d", a.fleet.Size(), b.fleet.Size())
	}
}

// TestAFleetRemembers its size while Redis is away, and while it gathers again
// afterwards: from an empty set.
func TestAFleetRemembers(t *testing.T) {
	t.Parallel()
	const beat = 250 * time.Millisecond // a machine under load must not miss three
	server := redistest.Start(t)
	at := redisstore.Options{Addrs: []string{server.Addr}}
	all := []*member{join(t, at, beat), join(t, at, beat), join(t, at, beat)}
	awaitSize(t, 3, all...)
	server.Kill()
	for _, m := range all {
		eventually(t, 20*time.Second, func() error {
			if len(m.told.failures()) == 0 {
				return errors.New("no failure told")
			}
			return nil
		})
	}
	time.Sleep(2 * beat)
	for _, m := range all {
		if failures := m.told.failures(); m.fleet.Size() != 3 || len(failures) != 1 || !errors.Is(failures[0], redisstore.ErrUnavailable) {
			t.Errorf("%d members, told of %v; want the last size and one failure", m.fleet.Size(), failures)
		}
	}
	server.Restart()
	for _, m := range all {
		eventually(t, 20*time.Second, func() error {
			if !m.told.recovered() {
				return errors.New("no recovery told")
			}
			return nil
		})
	}
	time.Sleep(4 * beat)
	for _, m := range all {
		m.told.mu.Lock()
		gathered := slices.Index(m.told.sizes, 3)
		if slices.Min(m.told.sizes[gathered:]) != 3 || m.fleet.Size() != 3 {
			t.Errorf("told of the sizes %v", m.told.sizes)
		}
		m.told.mu.Unlock()
	}
}

// TestAClockThatIsSetBack: who was counted by the clock before does not count on
// for long.
func TestAClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Do("ZADD", "stint:{fleet}", strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10), "dead")
	server.Do("ZADD", "stint:{fleet}", strconv.FormatInt(time.Now().Add(time.Minute).UnixMilli(), 10), "alive")
	a := join(t, redisstore.Options{Addrs: []string{server.Addr}}, beat)
	awaitSize(t, 2, a)
}

// TestAHeartbeatThatFails disturbs no decision.
func TestAHeartbeatThatFails(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Do("SET", "stint:{fleet}", "something else")
	m := join(t, redisstore.Options{Addrs: []string{server.Addr}}, time.Millisecond)
	c := &client{TB: t, store: m.store}
	p := policy(t, "p", "100 per 24h", algo.TokenBucket)
	for range 100 {
		c.allows(1, p, "k")
		time.Sleep(time.Millisecond / 2)
	}
	c.refuses(1, p, "k")
	if failures := m.told.failures(); m.fleet.Size() != 1 || len(failures) != 1 || !strings.Contains(failures[0].Error(), "WRONGTYPE") {
		t.Errorf("%d members, told of %v", m.fleet.Size(), failures)
	}
	if n, _ := strconv.Atoi(server.Info("stats")["total_connections_received"]); n > 9 {
		t.Errorf("%d connections: heartbeats break them", n)
	}
}

// TestAFleetIsClosed also while Redis hangs.
func TestAFleetIsClosed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	m := join(t, redisstore.Options{Addrs: []string{server.Addr}, ReadTimeout: 200 * time.Millisecond, DialTimeout: 200 * time.Millisecond}, beat)
	eventually(t, 5*time.Second, func() error {
		if len(server.Keys(0)) == 0 {
			return errors.New("no beat")
		}
		return nil
	})
	server.Pause()
	defer server.Resume()
	begun := time.Now()
	m.fleet.Close()
	if d := time.Since(begun); d > 8*time.Second {
		t.Errorf("closed after %v", d)
	}
}

func TestFleetOptions(t *testing.T) {
	store, err := redisstore.New(redisstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, every := range []time.Duration{-1, time.Microsecond, time.Hour} {
		if _, err := store.Join(redisstore.FleetOptions{Every: every}); err == nil {
			t.Errorf("every %v: no error", every)
		}
	}
}

// TestAFleetBehindSentinels goes on when the master is another.
func TestAFleetBehindSentinels(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts six servers")
	}
	s := redistest.StartSentinels(t)
	at := redisstore.Options{Addrs: s.Addrs(), MasterSet: s.Name}
	a, b := join(t, at, beat), join(t, at, beat)
	awaitSize(t, 2, a, b)
	s.Master.Kill()
	for _, m := range []*member{a, b} {
		eventually(t, 60*time.Second, func() error {
			if !m.told.recovered() {
				return errors.New("no failure and recovery told")
			}
			return nil
		})
	}
	awaitSize(t, 2, a, b)
}
