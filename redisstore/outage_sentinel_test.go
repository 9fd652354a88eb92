package redisstore_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/failover"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
)

// oracle is what stands where a Sentinel should be: to whatever it is asked it
// answers what it is told to say, and then goes on talking.
type oracle struct {
	addr   string
	answer atomic.Pointer[string]
	asked  atomic.Int64
}

func startOracle(t *testing.T) *oracle {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &oracle{addr: l.Addr().String()}
	o.say("-ERR nothing to say\r\n")
	var mu sync.Mutex
	var conns []net.Conn
	var done sync.WaitGroup
	done.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			done.Go(func() { o.talk(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		done.Wait()
	})
	return o
}

func (o *oracle) say(answer string) { o.answer.Store(&answer) }

func (o *oracle) talk(c net.Conn) {
	defer c.Close()
	buffer := make([]byte, 1<<12)
	for {
		if _, err := c.Read(buffer); err != nil {
			return
		}
		o.asked.Add(1)
		answer := *o.answer.Load()
		if answer == "" {
			return
		}
		if _, err := c.Write([]byte(answer)); err != nil {
			return
		}
	}
}

// address is how a Sentinel tells of a master.
func address(host, port string) string {
	return "*2\r\n$" + strconv.Itoa(len(host)) + "\r\n" + host + "\r\n$" + strconv.Itoa(len(port)) + "\r\n" + port + "\r\n"
}

// TestC071WrongAnswersOfASentinel are a store that fails, and never a panic.
func TestC071WrongAnswersOfASentinel(t *testing.T) {
	t.Parallel()
	server, liar, sentinel := redistest.Start(t), startOracle(t), startOracle(t)
	liar.say("*0\r\n") // also where it is asked what it is
	host, port, _ := net.SplitHostPort(server.Addr)
	_, liarsPort, _ := net.SplitHostPort(liar.addr)
	store, err := redisstore.New(redisstore.Options{
		Addrs: []string{sentinel.addr}, MasterSet: "mymaster", ReadTimeout: 100 * time.Millisecond, DialTimeout: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	p := policy(t, "p", "1000000 per 24h", algo.TokenBucket)
	charges := []stint.Charge{{Policy: p, Key: []byte("k"), Ask: stint.Ask{Cost: 1}}}
	for _, answer := range append(wrongAnswers,
		address(host, "x"), address("", port), address(host, "99999999"), address("a b", port), address(host, "1"), address(host, liarsPort),
		"*2\r\n$-1\r\n$-1\r\n", "*2\r\n*0\r\n*0\r\n", "*3\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\n1\r\n", "*2\r\n:1\r\n:2\r\n",
		address(strings.Repeat("h", 100_000), port),
		"%1\r\n$5\r\nproto\r\n:3\r\n+OK\r\n>3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$1\r\nx\r\n",
		"-ERR no such command\r\n-ERR no such command\r\n-ERR no such command\r\n",
	) {
		sentinel.say(answer)
		eventually(t, 10*time.Second, func() error {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			var v [1]stint.Verdict
			switch _, err := store.Take(ctx, 0, charges, v[:]); {
			case err == nil:
				return errors.New("not asked again yet") // still connected to the right one
			case ctx.Err() != nil || !errors.Is(err, redisstore.ErrUnavailable):
				t.Errorf("%.60q: error %v, want ErrUnavailable soon", answer, err)
			}
			return nil
		})
	}
	sentinel.say(address(host, port))
	eventually(t, 10*time.Second, func() error {
		_, err := (&client{TB: t, store: store}).try(p, "k", 1)
		return err
	})
}

// TestSentinelsTellOfAnotherMaster while the old one is there, and answers: who is on
// the wrong side of a cut network must not count with the old one for ever.
func TestSentinelsTellOfAnotherMaster(t *testing.T) {
	t.Parallel()
	old, next, sentinel := redistest.Start(t), redistest.Start(t), startOracle(t)
	sentinel.say(address("127.0.0.1", old.Port()))
	store, err := redisstore.New(patient(redisstore.Options{Addrs: []string{sentinel.addr}, MasterSet: "mymaster"}))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	n := newNode(t, store, 1, failover.Options{Deadline: 5 * time.Second})
	n.recovers(10 * time.Second)
	sentinel.say(address("127.0.0.1", next.Port()))
	eventually(t, 10*time.Second, func() error {
		n.recovers(10 * time.Second)
		if len(next.Keys(0)) == 0 {
			return errors.New("still counts with the old master")
		}
		return nil
	})
	if s := n.failover.Stats(); s.Failed > 2 {
		t.Errorf("%+v: the change is at most the failure of what was under way", s)
	}

	// A master that has become a replica is left at the first refusal.
	last := redistest.Start(t)
	sentinel.say(address("127.0.0.1", last.Port()))
	next.Do("REPLICAOF", "127.0.0.1", last.Port())
	n.recovers(10 * time.Second)
	if len(last.Keys(0)) == 0 {
		t.Error("counts where nothing can be written")
	}
}

// TestASentinelThatIsGoneIsPassedBy: of three one refuses connections, one hangs,
// and one knows.
func TestASentinelThatIsGoneIsPassedBy(t *testing.T) {
	t.Parallel()
	server, sentinel := redistest.Start(t), startOracle(t)
	hung := redistest.Start(t)
	hung.Pause()
	defer hung.Resume()
	sentinel.say(address("127.0.0.1", server.Port()))
	store, err := redisstore.New(redisstore.Options{
		Addrs: []string{redistest.FreeAddr(t), hung.Addr, sentinel.addr}, MasterSet: "mymaster", DialTimeout: 200 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	c := &client{TB: t, store: store}
	p := policy(t, "p", "10 per 24h", algo.FixedWindow)
	eventually(t, 10*time.Second, func() error {
		_, err := c.try(p, "k", 0)
		return err
	})
	c.allows(10, p, "k")
	c.refuses(1, p, "k")
}
