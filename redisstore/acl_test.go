package redisstore_test

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
)

// leastUser is what a user of the store has to be allowed, as docs/redis.md says it.
var leastUser = []string{
	"resetkeys", "~stint:*", "resetchannels", "-@all",
	"+hello", "+ping", "+select", "+info", "+time", "+evalsha", "+eval", "+script|load",
	"+get", "+mget", "+getrange", "+set", "+setrange", "+del", "+exists", "+pttl", "+pexpire",
	"+zadd", "+zrem", "+zremrangebyscore", "+zcard",
}

// workAs does what a server does, as a user who may do little.
func workAs(t *testing.T, store *redisstore.Store, owner *redistest.Server) {
	t.Helper()
	c := &client{TB: t, store: store}
	eventually(t, 10*time.Second, func() error {
		_, err := store.Inspect(t.Context())
		return err
	})
	fleet, err := store.Join(redisstore.FleetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer fleet.Close()
	var rules []*stint.Policy
	for i, a := range every {
		p := policy(t, strconv.Itoa(i)+a.Name(), "5 per 1h", a)
		rules = append(rules, p)
		for _, cost := range []int64{1, 1, 0, 9, -1, -stint.MaxUnits, 1, 1, 1} {
			if _, err := c.try(p, "k", cost); err != nil {
				t.Errorf("%s, cost %d: %v", a.Name(), cost, err)
			}
		}
	}
	owner.Do("SCRIPT", "FLUSH")
	for round := range 6 {
		for _, charges := range [][]stint.Charge{scattered(rules, round%2, 1, 2, 3), append(scattered(rules, 0), scattered(rules, 0)...)} {
			if _, err := store.Take(t.Context(), 0, charges, make([]stint.Verdict, len(charges))); err != nil {
				t.Errorf("round %d: %v", round, err)
			}
		}
	}
	// A bucket whose life somebody took, and another limit.
	for _, key := range owner.Keys(0) {
		if key != "stint:{fleet}" {
			owner.Do("PERSIST", key)
		}
	}
	for i, a := range every {
		if _, err := c.try(policy(t, strconv.Itoa(i)+a.Name(), "7 per 2h", a), "k", 1); err != nil {
			t.Errorf("%s: %v", a.Name(), err)
		}
	}
}

// TestTheLeastUserOfASentinel is one who may ask for the master.
func TestTheLeastUserOfASentinel(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts six servers")
	}
	s := redistest.StartSentinels(t)
	for _, n := range s.Sentinels {
		n.Do("ACL", "SETUSER", "stint", "on", ">secret", "-@all", "+sentinel|get-master-addr-by-name")
	}
	for _, c := range []struct {
		name, user, password, set string
		want                      string // in the error; empty: it works
	}{
		{"the least user", "stint", "secret", s.Name, ""},
		{"another password", "stint", "hunter2", s.Name, "WRONGPASS"},
		{"another set", "stint", "secret", "hunter2", "no master set"},
	} {
		store, err := redisstore.New(patient(redisstore.Options{
			Addrs: s.Addrs(), MasterSet: c.set, SentinelUsername: c.user, SentinelPassword: c.password,
		}))
		if err != nil {
			t.Fatal(err)
		}
		_, err = (&client{TB: t, store: store}).try(policy(t, "p", "5 per 1h", every[1]), "k", 1)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
		store.Close()
	}
}

// TestTheLeastUser: nothing that a store does needs more than docs/redis.md says.
func TestTheLeastUser(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("../docs/redis.md")
	if rule := "ACL SETUSER stint on >secret " + strings.Join(leastUser, " ") + "\n"; err != nil || !strings.Contains(string(manual), rule) {
		t.Errorf("docs/redis.md does not have the rule %q, %v", rule, err)
	}
	server := redistest.Start(t)
	server.Do(slices.Concat([]string{"ACL", "SETUSER", "stint", "on", ">secret"}, leastUser)...)
	workAs(t, openAt(t, server.Addr, redisstore.Options{Username: "stint", Password: "secret", ClientName: "a-gateway"}), server)
	if log := server.Do("ACL", "LOG"); log != "" {
		t.Errorf("refused:\n%s", log)
	}
}

// clusterUser is the same on a cluster.
func clusterUser(t *testing.T, cluster *redistest.Cluster) {
	for _, n := range cluster.Nodes() {
		n.Do(slices.Concat([]string{"ACL", "SETUSER", "stint", "on", ">secret"}, leastUser, []string{"+cluster|slots", "+cluster|shards", "+asking"})...)
	}
	workAs(t, openCluster(t, cluster, redisstore.Options{Username: "stint", Password: "secret"}), cluster.Masters[0])
	for _, n := range cluster.Nodes() {
		if log := n.Do("ACL", "LOG"); log != "" {
			t.Errorf("refused:\n%s", log)
		}
	}
}

// TestAUserWhoMayNotRead: what Redis refuses to tell is no bucket of somebody else's.
// Redis is unavailable for such a user, so that each rule does what it wants then.
func TestAUserWhoMayNotRead(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rules := slices.DeleteFunc(slices.Clone(leastUser), func(rule string) bool {
		return rule == "+get" || rule == "+mget" || rule == "+getrange"
	})
	server.Do(append([]string{"ACL", "SETUSER", "blind", "on", ">secret"}, rules...)...)
	store, err := redisstore.New(redisstore.Options{Addrs: []string{server.Addr}, Username: "blind", Password: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	c := &client{TB: t, store: store}
	for _, a := range every {
		if _, err := c.try(policy(t, "p "+a.Name(), "5 per 1h", a), "k", 1); !errors.Is(err, redisstore.ErrUnavailable) {
			t.Errorf("%s: %v, want it to be unavailable", a.Name(), err)
		}
	}
}
