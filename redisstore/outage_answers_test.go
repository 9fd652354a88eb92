package redisstore_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/failover"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
)

// wrongAnswers are what something may say that is not, or not now, the Redis that
// it should be. Empty closes the connection.
var wrongAnswers = []string{
	"-LOADING Redis is loading the dataset in memory\r\n",
	"-READONLY You can't write against a read only replica.\r\n",
	"-OOM command not allowed when used memory > 'maxmemory'.\r\n",
	"-MOVED 1 127.0.0.1:1\r\n", "-MOVED 1 x\r\n", "-MOVED\r\n",
	"-ASK 1 127.0.0.1:1\r\n",
	"-BUSY Redis is busy running a script.\r\n",
	"-NOAUTH Authentication required.\r\n",
	"-MISCONF Redis is configured to save RDB snapshots\r\n",
	"-CLUSTERDOWN The cluster is down\r\n",
	"-NOSCRIPT No matching script.\r\n",
	"-TRYAGAIN Multiple keys request during rehashing of slot\r\n",
	"-ERR max number of clients reached\r\n",
	"-\r\n",
	"$-1\r\n", "*-1\r\n", "_\r\n", "*0\r\n", "%0\r\n", "$0\r\n\r\n",
	":1\r\n", "+OK\r\n", "#t\r\n", ",1.5\r\n", "*2\r\n:1\r\n:2\r\n",
	"$25\r\n" + strings.Repeat("x", 25) + "\r\n",
	"$25\r\n" + strings.Repeat("\x00", 25) + "\r\n",
	"$25\r\nhalf a li",
	"$2",
	"",
	"$-5\r\n", "$?\r\n;-4\r\n", "*-7\r\n", "%-3\r\n",
	"$999999999999999\r\n", "*99999999999\r\n", "$536870912\r\n",
	strings.Repeat("*1\r\n", 100_000),
	"+OK\r\n+OK\r\n+OK\r\n",
	">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n",
	">2\r\n$12\r\nsunsubscribe\r\n$1\r\na\r\n+OK\r\n",
	"HTTP/1.1 400 Bad Request\r\n\r\n",
	"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
	strings.Repeat("garbage ", 20_000),
}

// TestC071NoAnswerIsBelievedThatTheScriptDoesNotGive: it is a failure of the store,
// also where it comes while the client says hello, and never a panic or a verdict.
func TestC071NoAnswerIsBelievedThatTheScriptDoesNotGive(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	store := openAt(t, proxy.Addr, redisstore.Options{ReadTimeout: 100 * time.Millisecond, DialTimeout: 100 * time.Millisecond})
	p := policy(t, "p", "1000000 per 24h", algo.TokenBucket)
	charges := []stint.Charge{{Policy: p, Key: []byte("k"), Ask: stint.Ask{Cost: 1}}}
	for _, answer := range wrongAnswers {
		c := &client{TB: t, store: store}
		proxy.Answer(nil)
		eventually(t, 10*time.Second, func() error {
			_, err := c.try(p, "k", 1)
			return err
		})
		proxy.Answer(func([]byte) []byte {
			if answer == "" {
				return nil
			}
			return []byte(answer)
		})
		for range 4 { // of which the later ones connect again, where that is due
			var v [1]stint.Verdict
			_, err := store.Take(context.Background(), 0, charges, v[:])
			if err == nil || len(answer) != 32 && !errors.Is(err, redisstore.ErrUnavailable) {
				t.Errorf("%.60q: error %v, want ErrUnavailable", answer, err)
			}
		}
	}
}

// TestC071WrongAnswersAboutTheCluster: who says hello rightly may answer wrongly
// where the nodes of a cluster are asked for.
func TestC071WrongAnswersAboutTheCluster(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := policy(t, "p", "1000000 per 24h", algo.TokenBucket)
	charges := []stint.Charge{{Policy: p, Key: []byte("k"), Ask: stint.Ask{Cost: 1}}}
	proxy := redistest.NewProxy(t, server.Addr)
	store := openAt(t, proxy.Addr, redisstore.Options{Cluster: true, ReadTimeout: 50 * time.Millisecond, DialTimeout: 50 * time.Millisecond})
	for _, answer := range append(slices.Clip(wrongAnswers),
		"*1\r\n*0\r\n", "*1\r\n*3\r\n:0\r\n:16383\r\n*0\r\n", "*1\r\n*3\r\n:-9\r\n:99999999\r\n*2\r\n$9\r\n127.0.0.1\r\n:1\r\n",
		"*1\r\n*3\r\n:5\r\n:2\r\n*2\r\n$0\r\n\r\n:-1\r\n", "*1\r\n%1\r\n$5\r\nslots\r\n*1\r\n:1\r\n",
		"*2\r\n$9\r\n127.0.0.1\r\n$1\r\n1\r\n", "*1\r\n%2\r\n$5\r\nslots\r\n*0\r\n$5\r\nnodes\r\n_\r\n",
	) {
		proxy.Answer(func(piece []byte) []byte {
			switch {
			case piece[0] == '%': // hello
				return piece
			case answer == "":
				return nil
			}
			return []byte(answer)
		})
		for range 2 {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			var v [1]stint.Verdict
			if _, err := store.Take(ctx, 0, charges, v[:]); err == nil || ctx.Err() != nil {
				t.Errorf("%.60q: error %v, want ErrUnavailable soon", answer, err)
			}
			cancel()
			time.Sleep(60 * time.Millisecond) // it connects again
		}
	}
}

// TestC071WrongWaysInACluster: a node sends the client elsewhere and does not say
// rightly where to.
func TestC071WrongWaysInACluster(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	_, port, _ := net.SplitHostPort(proxy.Addr)
	var way atomic.Pointer[string]
	proxy.Answer(func(piece []byte) []byte {
		switch {
		case bytes.Contains(piece, []byte("cluster support disabled")):
			return []byte("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:" + port + "\r\n")
		case piece[0] == '%' || way.Load() == nil: // hello
			return piece
		}
		return []byte(*way.Load())
	})
	store := openAt(t, proxy.Addr, redisstore.Options{Cluster: true})
	c := &client{TB: t, store: store}
	p := policy(t, "p", "1000000 per 24h", algo.TokenBucket)
	c.allows(1, p, "k")
	for _, answer := range []string{
		"-MOVED\r\n", "-MOVED \r\n", "-MOVED 1\r\n", "-MOVED 1 \r\n", "-MOVED 1 :\r\n", "-MOVED 99999 nowhere\r\n",
		"-ASK\r\n", "-ASK 1\r\n", "-ASK 1 ?:0\r\n", "-REDIRECT\r\n", "-MOVED 1 " + strings.Repeat("a", 60_000) + "\r\n",
	} {
		way.Store(&answer)
		if _, err := c.try(p, "k", 1); !errors.Is(err, redisstore.ErrUnavailable) {
			t.Errorf("%.60q: error %v, want ErrUnavailable", answer, err)
		}
	}
	way.Store(nil)
	eventually(t, 10*time.Second, func() error {
		_, err := c.try(p, "k", 1)
		return err
	})
}

// TestC071EachPolicyDecidesAboutWrongAnswers: what the store says does not matter,
// and is counted as a failure of it.
func TestC071EachPolicyDecidesAboutWrongAnswers(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	store := openAt(t, proxy.Addr, redisstore.Options{ReadTimeout: 100 * time.Millisecond, DialTimeout: 100 * time.Millisecond})
	open := policy(t, "open", "1000000 per 24h", algo.TokenBucket)
	open.OnStoreFailure = stint.FailAllow
	closed := policy(t, "closed", "1000000 per 24h", algo.TokenBucket)
	closed.OnStoreFailure = stint.FailDeny
	a := new(tally)
	n := newNode(t, store, 1, failover.Options{Failures: 1_000_000}) // asks each time
	for i, answer := range wrongAnswers {
		proxy.Answer(nil)
		n.recovers(20 * time.Second)
		proxy.Answer(func([]byte) []byte {
			if answer == "" {
				return nil
			}
			return []byte(answer)
		})
		failed := n.failover.Stats().Failed
		for range 2 {
			if d := n.ask(a, open, strconv.Itoa(i)); !d.Allowed || !d.Degraded || d.Remaining < 0 {
				t.Errorf("%.60q, allow: %+v", answer, d)
			}
			if d := n.ask(a, closed, strconv.Itoa(i)); d.Allowed || !d.Degraded || d.Reason != stint.ReasonUnavailable || d.Remaining != 0 {
				t.Errorf("%.60q, deny: %+v", answer, d)
			}
		}
		if now := n.failover.Stats().Failed; now != failed+4 {
			t.Errorf("%.60q: %d failures of the store are counted, want 4", answer, now-failed)
		}
	}
	a.check(t, "wrong answers", n.deadline)
}
