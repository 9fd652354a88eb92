package redisstore_test

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/failover"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
)

// startPair starts a master and a replica that has what the master has.
func startPair(t testing.TB) (master, replica *redistest.Server) {
	t.Helper()
	master = redistest.Start(t, "--repl-diskless-sync-delay", "0")
	replica = redistest.Start(t, "--repl-diskless-sync-delay", "0", "--replicaof", "127.0.0.1 "+master.Port())
	replica.AwaitMaster()
	return master, replica
}

// swap makes the replica the master, and the master its replica. No connection ends.
func swap(master, replica *redistest.Server) {
	replica.Do("REPLICAOF", "NO", "ONE")
	master.Do("REPLICAOF", "127.0.0.1", replica.Port())
}

// accepted is how many connections a server has taken since it started. The one that
// asks is not one of them.
func accepted(t testing.TB, s *redistest.Server) int {
	t.Helper()
	n, err := strconv.Atoi(s.Info("stats")["total_connections_received"])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestTheMasterMovesBehindOneAddress: new connections reach the new master, and the
// old one keeps the connection that it has. The refusal ends that connection, and the
// next call counts.
func TestTheMasterMovesBehindOneAddress(t *testing.T) {
	t.Parallel()
	master, replica := startPair(t)
	proxy := redistest.NewProxy(t, master.Addr)
	n := newNode(t, openAt(t, proxy.Addr, redisstore.Options{}), 1, failover.Options{Deadline: 5 * time.Second})
	n.recovers(10 * time.Second)
	for i := range 3 { // there and back again
		proxy.Point(replica.Addr)
		replica.AwaitMaster()
		for start := time.Now(); time.Since(start) < 100*time.Millisecond; { // no longer a new connection
			n.recovers(10 * time.Second)
		}
		swap(master, replica)
		before := n.failover.Stats()
		n.recovers(10 * time.Second)
		if s := n.failover.Stats(); s.Failed != before.Failed+1 {
			t.Errorf("move %d: %d calls failed, want only the one that met the old master", i, s.Failed-before.Failed)
		}
		master, replica = replica, master
	}
	exact(t, n)
}

// TestTheMasterMovesAfterTheRefusal: the address leads to the old master for a while
// longer, so that the first connections after the refusal meet it again.
func TestTheMasterMovesAfterTheRefusal(t *testing.T) {
	t.Parallel()
	master, replica := startPair(t)
	proxy := redistest.NewProxy(t, master.Addr)
	n := newNode(t, openAt(t, proxy.Addr, redisstore.Options{}), 1, failover.Options{Deadline: 5 * time.Second})
	n.recovers(10 * time.Second)
	swap(master, replica)
	p := policy(t, "p", "1000000 per 24h", algo.TokenBucket)
	for a := new(tally); n.failover.Stats().Failed < 5; {
		n.ask(a, p, "k")
	}
	proxy.Point(replica.Addr)
	before := n.failover.Stats().Failed
	n.recovers(10 * time.Second)
	if failed := n.failover.Stats().Failed - before; failed != 0 {
		t.Errorf("%d probes failed though the address led to the master", failed)
	}
	exact(t, n)
}

// TestTheMasterMovesBehindASocket: another server listens on the path.
func TestTheMasterMovesBehindASocket(t *testing.T) {
	t.Parallel()
	master, replica := startPair(t)
	n := newNode(t, openAt(t, master.Socket, redisstore.Options{}), 1, failover.Options{Deadline: 5 * time.Second})
	n.recovers(10 * time.Second)
	if err := os.Rename(replica.Socket, master.Socket); err != nil {
		t.Fatal(err)
	}
	swap(master, replica)
	n.recovers(10 * time.Second)
	exact(t, n)
}

// TestTheMasterMovesUnderLoad: of the calls only those fail that were on their way to
// the old master, and none that another goroutine has sent to the new one.
func TestTheMasterMovesUnderLoad(t *testing.T) {
	t.Parallel()
	master, replica := startPair(t)
	proxy := redistest.NewProxy(t, master.Addr)
	const inFlight = 4
	store := openAt(t, proxy.Addr, redisstore.Options{MaxInFlight: inFlight, MaxBatch: 1})
	p := policy(t, "p", "1000000 per 24h", algo.TokenBucket)
	c := &client{TB: t, store: store}
	c.allows(1, p, "k")
	var failed, passed atomic.Int64
	stop := make(chan struct{})
	var done sync.WaitGroup
	end := sync.OnceFunc(func() {
		close(stop)
		done.Wait()
	})
	defer end()
	for i := range 2 * inFlight {
		done.Go(func() {
			for {
				switch _, err := c.try(p, strconv.Itoa(i), 1); {
				case err == nil:
					passed.Add(1)
				case errors.Is(err, redisstore.ErrUnavailable):
					failed.Add(1)
				default:
					t.Errorf("error %v", err)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	more := func() {
		t.Helper()
		from, start := passed.Load(), time.Now()
		eventually(t, 10*time.Second, func() error {
			if passed.Load() < from+100 || time.Since(start) < 100*time.Millisecond { // no longer a new connection
				return errors.New("too few calls have passed")
			}
			return nil
		})
	}
	const moves = 3
	for range moves {
		more()
		proxy.Point(replica.Addr)
		swap(master, replica)
		more()
		master, replica = replica, master
		replica.AwaitMaster()
	}
	end()
	t.Logf("%d moves: %d calls failed and %d passed", moves, failed.Load(), passed.Load())
	if n := failed.Load(); n < moves || n > moves*inFlight {
		t.Errorf("%d calls failed in %d moves, want at least one in each, and at most %d", n, moves, inFlight)
	}
}

// TestAReplicaIsNotDialedWithoutEnd: a server that cannot write is asked by a new
// connection now and then, however many ask.
func TestAReplicaIsNotDialedWithoutEnd(t *testing.T) {
	t.Parallel()
	_, replica := startPair(t)
	store := openAt(t, replica.Addr, redisstore.Options{MaxInFlight: 4, MaxBatch: 1})
	p := policy(t, "p", "1000000 per 24h", algo.TokenBucket)
	before, start := accepted(t, replica), time.Now()
	var asked atomic.Int64
	var done sync.WaitGroup
	for i := range 8 {
		done.Go(func() {
			c := &client{TB: t, store: store}
			for time.Since(start) < 500*time.Millisecond {
				if _, err := c.try(p, strconv.Itoa(i), 1); !errors.Is(err, redisstore.ErrUnavailable) || !strings.Contains(err.Error(), "READONLY") {
					t.Errorf("error %v, want READONLY", err)
				}
				asked.Add(1)
			}
		})
	}
	done.Wait()
	most := 2 + int(time.Since(start)/(50*time.Millisecond))
	if n := accepted(t, replica) - before; n < 3 || n > most {
		t.Errorf("%d connections for %d calls, want some and at most %d", n, asked.Load(), most)
	}
	replica.Do("REPLICAOF", "NO", "ONE")
	eventually(t, 10*time.Second, func() error {
		_, err := (&client{TB: t, store: store}).try(p, "k", 1)
		return err
	})
}

// TestCloseWhileTheMasterMoves: a store that is closed while it connects again leaves
// nothing behind.
func TestCloseWhileTheMasterMoves(t *testing.T) {
	master, replica := startPair(t)
	proxy := redistest.NewProxy(t, master.Addr)
	p := policy(t, "p", "1000000 per 24h", algo.TokenBucket)
	before := runtime.NumGoroutine()
	for range 10 {
		proxy.Point(master.Addr)
		store := openAt(t, proxy.Addr, redisstore.Options{MaxInFlight: 4, MaxBatch: 1})
		c := &client{TB: t, store: store}
		c.allows(1, p, "k")
		var done sync.WaitGroup
		for i := range 4 {
			done.Go(func() {
				for {
					if _, err := c.try(p, strconv.Itoa(i), 1); errors.Is(err, redisstore.ErrClosed) {
						return
					}
				}
			})
		}
		proxy.Point(replica.Addr)
		swap(master, replica)
		store.Close()
		done.Wait()
		master, replica = replica, master
		replica.AwaitMaster()
	}
	eventually(t, 10*time.Second, func() error {
		if n := runtime.NumGoroutine(); n > before {
			return errors.New(strconv.Itoa(n-before) + " goroutines are left")
		}
		return nil
	})
}
