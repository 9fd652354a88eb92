package redistest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// slots is how many parts a cluster places keys in.
const slots = 1 << 14

// Cluster is a Redis Cluster: masters, and a replica of each.
type Cluster struct {
	Masters, Replicas []*Server
	t                 testing.TB
}

// StartCluster starts a cluster of three masters and three replicas, and returns
// when all of them agree. Settings are those of [Start], for every node.
func StartCluster(t testing.TB, args ...string) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	for i := range 6 {
		_, bus, _ := net.SplitHostPort(FreeAddr(t))
		s := Start(t, append([]string{
			"--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-node-timeout", "2000",
			"--cluster-config-file", "nodes.conf", "--cluster-allow-replica-migration", "no",
		}, args...)...)
		s.bus = bus
		if i < 3 {
			c.Masters = append(c.Masters, s)
		} else {
			c.Replicas = append(c.Replicas, s)
		}
	}
	for i, m := range c.Masters {
		m.Do("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
		m.Do("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(slots*i/3), strconv.Itoa(slots*(i+1)/3-1))
	}
	for _, s := range c.Nodes()[1:] {
		s.Do("CLUSTER", "MEET", "127.0.0.1", c.Masters[0].Port(), c.Masters[0].bus)
	}
	c.await("nodes that know each other", func(s *Server) bool {
		return strings.Contains(s.Do("CLUSTER", "INFO"), "cluster_known_nodes:6")
	})
	for i, r := range c.Replicas {
		r.Do("CLUSTER", "REPLICATE", c.Masters[i].Do("CLUSTER", "MYID"))
	}
	c.Await()
	return c
}

// Nodes are all servers of the cluster, also those that have been stopped.
func (c *Cluster) Nodes() []*Server { return append(c.Masters[:3:3], c.Replicas...) }

// Addrs are the addresses of the masters.
func (c *Cluster) Addrs() []string {
	var all []string
	for _, m := range c.Masters {
		all = append(all, m.Addr)
	}
	return all
}

// Await waits until all nodes find the cluster well and the replicas follow.
func (c *Cluster) Await() {
	c.t.Helper()
	c.await("a cluster that is well", func(s *Server) bool {
		return strings.Contains(s.Do("CLUSTER", "INFO"), "cluster_state:ok") &&
			strings.Count(s.Do("CLUSTER", "NODES"), " slave ")+strings.Count(s.Do("CLUSTER", "NODES"), ",slave ") == 3
	})
	for _, r := range c.Replicas {
		r.AwaitMaster()
	}
}

func (c *Cluster) await(what string, well func(*Server) bool) {
	c.t.Helper()
	for deadline := time.Now().Add(3 * patience); ; time.Sleep(20 * time.Millisecond) {
		all := true
		for _, s := range c.Nodes() {
			all = all && well(s)
		}
		if all {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("no %s", what)
		}
	}
}

// MoveSlot moves a slot with its keys from one master to another. Between are calls
// while the slot is in both places, if not nil.
func (c *Cluster) MoveSlot(slot int, from, to *Server, between func()) {
	c.t.Helper()
	n := strconv.Itoa(slot)
	source, target := from.Do("CLUSTER", "MYID"), to.Do("CLUSTER", "MYID")
	to.Do("CLUSTER", "SETSLOT", n, "IMPORTING", source)
	from.Do("CLUSTER", "SETSLOT", n, "MIGRATING", target)
	if between != nil {
		between()
	}
	for {
		key := from.Do("CLUSTER", "GETKEYSINSLOT", n, "1")
		if key == "" {
			break
		}
		from.Do("MIGRATE", "127.0.0.1", to.Port(), key, "0", "5000")
	}
	for _, s := range []*Server{to, from} {
		s.Do("CLUSTER", "SETSLOT", n, "NODE", target)
	}
}

// Sentinels watch a master with two replicas.
type Sentinels struct {
	// Name is that of the master set.
	Name      string
	Master    *Server
	Replicas  []*Server
	Sentinels []*Server
}

// StartSentinels starts a master, two replicas and three Sentinels, two of which
// must agree that a master is gone.
func StartSentinels(t testing.TB) *Sentinels {
	t.Helper()
	s := &Sentinels{Name: "mymaster", Master: Start(t)}
	for range 2 {
		r := Start(t, "--replicaof", "127.0.0.1 "+s.Master.Port())
		s.Replicas = append(s.Replicas, r)
	}
	for _, r := range s.Replicas {
		r.AwaitMaster()
	}
	for range 3 {
		s.Sentinels = append(s.Sentinels, startSentinel(t, s.Name, s.Master.Port()))
	}
	for deadline := time.Now().Add(3 * patience); !s.ready(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the Sentinels do not find each other")
		}
	}
	return s
}

// ready says whether all Sentinels know all others.
func (s *Sentinels) ready() bool {
	for _, n := range s.Sentinels {
		info := n.Info("sentinel")["master0"]
		if !strings.Contains(info, "slaves=2,sentinels=3") || !strings.Contains(info, "status=ok") {
			return false
		}
	}
	return true
}

// Addrs are the addresses of the Sentinels.
func (s *Sentinels) Addrs() []string {
	var all []string
	for _, n := range s.Sentinels {
		all = append(all, n.Addr)
	}
	return all
}

// startSentinel starts one Sentinel. It needs a file, which it writes to.
func startSentinel(t testing.TB, name, port string) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "sentinel")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &Server{Addr: FreeAddr(t), t: t, dir: dir, sentinel: filepath.Join(dir, "conf")}
	text := fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %s\nlogfile %s\nsentinel monitor %s 127.0.0.1 %s 2\n"+
		"sentinel down-after-milliseconds %s 500\nsentinel failover-timeout %s 3000\n",
		s.Port(), dir, filepath.Join(dir, "log"), name, port, name, name)
	if err := os.WriteFile(s.sentinel, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	s.start()
	return s
}
