package redisstore_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
	"github.com/stint-dev/stint/storetest"
)

// recorded is a bucket of another release.
type recorded struct {
	policy   *stint.Policy
	key      string
	redisKey string
	value    string
	ttl      string
	asks     []recordedAsk
}

// recordedAsk is what that release said.
type recordedAsk struct {
	at   time.Duration
	cost int64
	said stint.Verdict
}

// readRecords reads a file of testdata.
func readRecords(t *testing.T, file string) (all []recorded) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		kind, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		var err error
		switch kind {
		case "bucket":
			var algorithm, name, limit, key string
			_, err = fmt.Sscanf(rest, "%s %q %q %q", &algorithm, &name, &limit, &key)
			a, ok := algo.ByName(algorithm)
			if !ok {
				a = algo.LeakyQueue{MaxWaiting: 4}
			}
			all = append(all, recorded{policy: policy(t, name, limit, a), key: key})
		case "value":
			r, bytes := &all[len(all)-1], ""
			_, err = fmt.Sscanf(rest, "%q %s %s", &r.redisKey, &bytes, &r.ttl)
			value, hexErr := hex.DecodeString(bytes)
			r.value, err = string(value), errors.Join(err, hexErr)
		case "ask":
			var at, delay, retry, reset, next int64
			var a recordedAsk
			_, err = fmt.Sscanf(rest, "%d %d: %t %d %d %d %d %d", &at, &a.cost, &a.said.OK, &a.said.Remaining, &delay, &retry, &reset, &next)
			a.at, a.said.Delay, a.said.RetryAfter = micros(at), micros(delay), micros(retry)
			a.said.ResetAfter, a.said.NextAfter = micros(reset), micros(next)
			r := &all[len(all)-1]
			r.asks = append(r.asks, a)
		}
		if err != nil {
			t.Fatalf("%s: %q: %v", file, line, err)
		}
	}
	return all
}

// micros is a recorded duration; below 0 it is never.
func micros(n int64) time.Duration {
	if n < 0 {
		return stint.Never
	}
	return time.Duration(n) * time.Microsecond
}

// TestBucketsOfTheFirstRelease count on: the answers are those that it would have given,
// also after this release has written them.
func TestBucketsOfTheFirstRelease(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	records := readRecords(t, "testdata/first_release.txt")
	if len(records) != 17 {
		t.Fatalf("%d buckets, want 17", len(records))
	}
	for _, r := range records {
		if len(r.asks) != 14 {
			t.Fatalf("%s: %d asks, want 14", r.policy.Name, len(r.asks))
		}
		server.Do("FLUSHALL")
		server.Do("SET", r.redisKey, r.value, "PX", r.ttl)
		c := scripted(t, server)
		for i, a := range r.asks {
			c.now = storetest.Start + stint.Micros(a.at/time.Microsecond)
			if v := c.ask(r.policy, r.key, a.cost); v != a.said {
				t.Errorf("%s, key %q, ask %d of %d:\ngot  %+v\nwant %+v", r.policy.Name, r.key, i, a.cost, v, a.said)
			}
		}
		if keys := server.Keys(0); len(keys) != 1 || keys[0] != r.redisKey {
			t.Errorf("%s: the keys are %q, want only %q", r.policy.Name, keys, r.redisKey)
		}
		if ttl := pttl(t, server, r.redisKey); ttl < 1 {
			t.Errorf("%s: has no expiry", r.policy.Name)
		}
	}
}

// TestBucketsOfTheFirstReleaseUnderAnotherLimit are what they would be if this release
// had counted them: nothing is forgotten at the change.
func TestBucketsOfTheFirstReleaseUnderAnotherLimit(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, r := range readRecords(t, "testdata/first_release.txt") {
		server.Do("FLUSHALL")
		server.Do("SET", r.redisKey, r.value, "PX", r.ttl)
		c := scripted(t, server)
		c.now = storetest.Start + stint.Micros(r.asks[0].at/time.Microsecond)
		used := r.policy.Capacity() - r.asks[0].said.Remaining
		for _, a := range algo.All {
			l := r.policy.Limit
			l.Burst = 0
			p, err := stint.NewPolicy(r.policy.Name, l, a)
			if err != nil {
				continue // not every algorithm can keep every limit
			}
			left := c.ask(p, r.key, 0).Remaining
			if most := max(0, p.Capacity()-used) + 1; left > most {
				t.Errorf("%s, key %q as %s: %d left, want at most %d", r.policy.Name, r.key, a.Name(), left, most)
			}
		}
	}
}

// TestValuesOfANewerRelease are named so, and left as they are.
func TestValuesOfANewerRelease(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := real(t, server)
	for _, a := range every {
		p := policy(t, a.Name(), "5 per 60s", a)
		c.allows(1, p, "k")
		key := server.Keys(0)[0]
		values := []string{"\x80" + strings.Repeat("x", 27), "\xbf"}
		if _, list := a.(stint.ListAlgorithm); list {
			value := []byte(server.Do("GET", key))
			value[1] = 2
			values = append(values, string(value))
		}
		for _, value := range values {
			server.Do("SET", key, value)
			for _, charges := range [][]stint.Charge{
				{{Policy: p, Key: []byte("k"), Ask: stint.Ask{Cost: 1}}},
				{{Policy: p, Key: []byte("other"), Ask: stint.Ask{Cost: 1}}, {Policy: p, Key: []byte("k")}},
			} {
				_, err := c.store.Take(t.Context(), 0, charges, make([]stint.Verdict, len(charges)))
				if !errors.Is(err, redisstore.ErrNewer) || !strings.Contains(err.Error(), p.Name) {
					t.Errorf("%s: %q: error %v, want that a newer release wrote it", p.Name, value, err)
				}
				if e, ok := errors.AsType[*stint.PartError](err); !ok || e.Parts != 0 {
					t.Errorf("%s: %v, want an error that is not about Redis", p.Name, err)
				}
			}
			if server.Do("GET", key) != value || server.Do("EXISTS", "stint:{other}"+key[9:]) != "0" {
				t.Errorf("%s: %q was changed, or a charge beside it counted", p.Name, value)
			}
		}
		server.Do("FLUSHALL")
	}
}
