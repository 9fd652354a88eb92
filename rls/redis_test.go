package rls_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint/failover"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
)

// What the ledger says of memory holds on Redis.
func TestC113OnRedis(t *testing.T) {
	srv := redistest.Start(t)
	store, err := redisstore.New(redisstore.Options{Addrs: []string{srv.Addr}})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	d := open(t, `domain: d
descriptors:
- {key: group, value: bar, rate_limit: {unit: year, requests_per_unit: 10}}
- {key: path, value: "/bar/*", rate_limit: {unit: year, requests_per_unit: 3, algorithm: sliding_window_log}}
- {key: q, quota_mode: true, value: a, rate_limit: {unit: year, requests_per_unit: 1}}
- {key: q, quota_mode: true, value: b, rate_limit: {unit: year, requests_per_unit: 1}}`, setup{store: store})
	d.limiter.Clock = nil
	var got strings.Builder
	for range 5 {
		got.WriteString(d.ask("group=bar | path=/bar/special")[:2] + " ")
	}
	for range 8 {
		got.WriteString(d.ask("group=bar | path=/other")[:2] + " ")
	}
	if want := "ok ok ok ov ov ok ok ok ok ok ok ok ov "; got.String() != want {
		t.Errorf("got %s, want %s", got.String(), want)
	}
	d.want("group=bar -4", "ok: ok 4/10ye")
	d.want("q=a | q=b | group=bar", "ok: ok 0/1ye | ok 0/1ye | ok 3/10ye")
	d.want("q=a | q=b | group=bar", "over: over 0/1ye | over 0/1ye | ok 3/10ye")
	d.want("k=1 +2 #3/YEAR", "ok: ok 1/3ye")
	d.want("k=1 #9/YEAR", "ok: ok 6/9ye")
}

// A service whose Redis is not there yet answers by each rule, and by Redis as soon
// as it is there.
func TestC070RedisComesLater(t *testing.T) {
	srv := redistest.Start(t)
	srv.Stop()
	redis, err := redisstore.New(redisstore.Options{Addrs: []string{srv.Addr}})
	if err != nil {
		t.Fatal(err)
	}
	defer redis.Close()
	store, err := failover.New(failover.Options{Store: redis, Local: memory(t), Probe: 10 * time.Millisecond, Deadline: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, `domain: d
descriptors:
- {key: local, rate_limit: {unit: year, requests_per_unit: 5}}
- {key: deny, rate_limit: {unit: year, requests_per_unit: 5, on_store_failure: deny}}`, setup{store: store})
	for _, want := range []string{"ok: ok 4/5ye", "ok: ok 3/5ye", "ok: ok 2/5ye"} {
		d.want("local=1", want)
	}
	d.want("deny=1", "over: over")
	srv.Restart()
	waitFor(t, func() bool { return d.ask("deny=1") != "over: over" })
	d.want("deny=1", "ok: ok 3/5ye")
	d.want("local=1", "ok: ok 4/5ye")
}
