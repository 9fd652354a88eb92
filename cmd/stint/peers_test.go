package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-dev/stint/config"
)

// nameServer is what one says, one after the other; the last one again and
// again. One without addresses is an error, a nil one hangs.
type nameServer [][]string

func (a *nameServer) lookup(ctx context.Context, _ string) ([]string, error) {
	now := (*a)[0]
	if len(*a) > 1 {
		*a = (*a)[1:]
	}
	switch {
	case now == nil:
		<-ctx.Done()
		return nil, ctx.Err()
	case len(now) == 1 && now[0] == "":
		return nil, errors.New("no such host")
	}
	return now, nil
}

// TestPeersAreCountedByAName, and the last answer is kept.
func TestPeersAreCountedByAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := nameServer{{""}, {"10.0.0.1", "10.0.0.2", "10.0.0.3"}, {"10.0.0.1"}, nil, {""}, {}, {"10.0.0.1", "fd00::1", "10.0.0.2", "fd00::2", "10.0.0.2"}}
		var out printed
		c := &counts{given: config.Fleet{DNS: "stint-headless", AtLeast: 2}}
		p := countPeers("stint-headless", said.lookup, slog.New(slog.NewTextHandler(&out, nil)))
		c.peers.Store(p)
		for i, want := range []int{2, 3, 2, 2, 2, 2, 2} {
			synctest.Wait()
			if got := c.size(); got != want {
				t.Errorf("after answer %d: %d servers, want %d", i+1, got, want)
			}
			time.Sleep(lookUpEvery)
		}
		time.Sleep(time.Minute)
		p.close()
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) > 4 || !strings.Contains(lines[len(lines)-1], "level=INFO") || !strings.Contains(lines[len(lines)-1], "servers=2") ||
			!strings.Contains(lines[0], "no such host") {
			t.Errorf("told:\n%s", &out)
		}
	})
}

// TestNoDecisionWaitsForAName: a name server that hangs holds up neither the size nor
// the end.
func TestNoDecisionWaitsForAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := nameServer{nil}
		c := &counts{given: config.Fleet{DNS: "stint-headless", AtLeast: 4}}
		p := countPeers("stint-headless", said.lookup, slog.New(slog.DiscardHandler))
		c.peers.Store(p)
		begun := time.Now()
		if n := c.size(); n != 4 {
			t.Errorf("%d servers, want 4", n)
		}
		p.close()
		if d := time.Since(begun); d != 0 {
			t.Errorf("it took %v", d)
		}
	})
}

func TestFleetSize(t *testing.T) {
	for _, one := range []struct {
		given config.Fleet
		named int64
		want  int
	}{
		{config.Fleet{}, 0, 1},
		{config.Fleet{Servers: 3}, 7, 3},
		{config.Fleet{AtLeast: 3}, 0, 3},
		{config.Fleet{AtLeast: 3}, 2, 3},
		{config.Fleet{AtLeast: 3}, 5, 5},
	} {
		c, p := &counts{given: one.given}, new(peers)
		p.size.Store(one.named)
		if c.peers.Store(p); c.size() != one.want {
			t.Errorf("%+v, %d by name: %d, want %d", one.given, one.named, c.size(), one.want)
		}
	}
}

// TestAServerThatNeverReachedTheStore takes its share of the limit, not the whole.
func TestAServerThatNeverReachedTheStore(t *testing.T) {
	rules := strings.Replace(sharedRules("127.0.0.1:1"), "deadline: 10s", "deadline: 10ms, fleet: { at_least: 4, dns: localhost }", 1)
	gateway, admin, out := startServer(t, rules)
	awaitFleet(t, admin, "4")
	passed := 0
	for range 80 {
		if ask(t, gateway).StatusCode == http.StatusOK {
			passed++
		}
	}
	if passed != 25 {
		t.Errorf("%d of 80 passed, want a quarter of 100", passed)
	}
	out.await(t, `level=INFO msg="servers that share the store, by their name" name=localhost servers=1`)
}
