package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint/redisstore/redistest"
)

// awaitFleet waits until a server knows of so many.
func awaitFleet(t *testing.T, admin, want string) {
	t.Helper()
	const name = "stint_fleet_size"
	got := ""
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if got = metric(t, admin, name); got == want {
			return
		}
	}
	t.Fatalf("%s is %s, want %s", name, got, want)
}

// TestServersCountThemselves, and share a limit by that number while the store is
// away.
func TestServersCountThemselves(t *testing.T) {
	redis := redistest.Start(t)
	first, firstAdmin, out := startServer(t, sharedRules(redis.Addr))
	_, secondAdmin, _ := startServer(t, sharedRules(redis.Addr))
	awaitFleet(t, firstAdmin, "2")
	awaitFleet(t, secondAdmin, "2")
	out.await(t, `level=INFO msg="servers that share the store" .*servers=2`)
	redis.Stop()
	passed := 0
	for range 80 {
		if ask(t, first).StatusCode == http.StatusOK {
			passed++
		}
	}
	if passed != 50 {
		t.Errorf("%d of 80 passed at one of two servers without the store, want half of 100", passed)
	}
	out.await(t, `level=WARN msg="the shared store does not tell how many servers share it; .*servers=2`)
}

// TestAGivenFleet needs no heartbeat.
func TestAGivenFleet(t *testing.T) {
	redis := redistest.Start(t)
	_, admin, _ := startServer(t, strings.Replace(sharedRules(redis.Addr), "deadline: 10s", "deadline: 10s, fleet: 7", 1))
	awaitFleet(t, admin, "7")
	if keys := redis.Keys(0); slices.Contains(keys, "stint:{fleet}") {
		t.Errorf("keys %q", keys)
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
