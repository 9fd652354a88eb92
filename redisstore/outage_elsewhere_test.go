package redisstore_test

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/failover"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
)

// TestWhatAnOldMasterSays: the address leads to another master. Whatever the old one
// says to the connection that it still has, that one ends.
func TestWhatAnOldMasterSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		says   string
		depose func(old, next *redistest.Server)
	}{
		{"READONLY", func(old, next *redistest.Server) {
			old.Do("REPLICAOF", "127.0.0.1", next.Port())
		}},
		{"MASTERDOWN", func(old, _ *redistest.Server) {
			_, port, _ := net.SplitHostPort(redistest.FreeAddr(t))
			old.Do("CONFIG", "SET", "replica-serve-stale-data", "no")
			old.Do("REPLICAOF", "127.0.0.1", port)
		}},
		{"NOREPLICAS", func(old, _ *redistest.Server) {
			old.Do("CONFIG", "SET", "min-replicas-to-write", "1")
		}},
		{"LOADING", func(old, next *redistest.Server) {
			next.Do("DEBUG", "POPULATE", "20000", "key", "20")
			old.Do("CONFIG", "SET", "key-load-delay", "1000")
			old.Do("REPLICAOF", "127.0.0.1", next.Port())
			eventually(t, 10*time.Second, func() error {
				if !old.Loading() {
					return errors.New("it does not load yet")
				}
				return nil
			})
		}},
	} {
		old := redistest.Start(t, "--loading-process-events-interval-bytes", "1024")
		next := redistest.Start(t, "--enable-debug-command", "yes", "--repl-diskless-sync-delay", "0")
		proxy := redistest.NewProxy(t, old.Addr)
		store := openAt(t, proxy.Addr, redisstore.Options{})
		client := &client{TB: t, store: store}
		p := policy(t, "p", "1000000 per 24h", algo.TokenBucket)
		client.allows(1, p, "k")
		c.depose(old, next)
		proxy.Point(next.Addr)
		said := ""
		eventually(t, 10*time.Second, func() error {
			_, err := client.try(p, "k", 1)
			if err != nil {
				said = err.Error()
			}
			return err
		})
		if !strings.Contains(said, c.says) {
			t.Errorf("the old master says %q, want %s", said, c.says)
		}
		if c.says == "LOADING" && !old.Loading() {
			t.Error("the old master has loaded all, too early to tell")
		}
		client.allows(10, p, "k")
	}
}

// TestANodeOfAClusterIsNoMaster and does not say who is. It is asked by a new connection,
// and the others are asked where its slots are.
func TestANodeOfAClusterIsNoMaster(t *testing.T) {
	t.Parallel()
	master, replica := startPair(t)
	proxy := redistest.NewProxy(t, master.Addr)
	_, port, _ := net.SplitHostPort(proxy.Addr)
	proxy.Answer(func(piece []byte) []byte {
		if bytes.Contains(piece, []byte("cluster support disabled")) {
			return []byte("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:" + port + "\r\n")
		}
		return piece
	})
	store := openAt(t, proxy.Addr, redisstore.Options{Cluster: true})
	n := newNode(t, store, 1, failover.Options{Deadline: 5 * time.Second})
	n.recovers(10 * time.Second)
	swap(master, replica)
	proxy.Point(replica.Addr)
	n.recovers(10 * time.Second)
	exact(t, n)
}

// TestASentinelTellsOfAReplica for as long as it does not know better: neither of them
// is asked without end.
func TestASentinelTellsOfAReplica(t *testing.T) {
	t.Parallel()
	master, replica := startPair(t)
	sentinel := startOracle(t)
	sentinel.say(address("127.0.0.1", replica.Port()))
	store, err := redisstore.New(patient(redisstore.Options{Addrs: []string{sentinel.addr}, MasterSet: "mymaster"}))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	c := &client{TB: t, store: store}
	p := policy(t, "p", "1000000 per 24h", algo.TokenBucket)
	before, start, calls := accepted(t, replica), time.Now(), 0
	for ; time.Since(start) < 500*time.Millisecond; calls++ {
		if _, err := c.try(p, "k", 1); !errors.Is(err, redisstore.ErrUnavailable) {
			t.Fatalf("error %v", err)
		}
	}
	most := 2 + int(time.Since(start)/(50*time.Millisecond))
	if n := accepted(t, replica) - before; n < 3 || n > most {
		t.Errorf("%d connections for %d calls, want some and at most %d", n, calls, most)
	}
	if n := int(sentinel.asked.Load()); n > 2*most { // it is asked each second besides
		t.Errorf("the Sentinel is asked %d times for %d calls, want at most %d", n, calls, 2*most)
	}
	sentinel.say(address("127.0.0.1", master.Port()))
	eventually(t, 10*time.Second, func() error {
		_, err := c.try(p, "k", 1)
		return err
	})
}
