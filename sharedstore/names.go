package sharedstore

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"
)

// Bounds of looking up a name.
const (
	lookUpEvery = 5 * time.Second
	lookUpFor   = 3 * time.Second
)

// lookup returns the addresses of a name, as [net.Resolver.LookupHost] does.
type lookup func(ctx context.Context, name string) ([]string, error)

// names counts servers by the addresses of a name. It does not need Redis, so it also
// tells a server that has never reached it. The last answer is kept while the name
// server does not answer; no decision waits for one.
type names struct {
	name   string
	lookup lookup
	told   func(FleetChange)
	size   atomic.Int64
	first  chan struct{} // closed once the name was looked up
	cancel context.CancelFunc
	done   chan struct{}
	failed bool // the last lookup
}

// countNames counts until it is closed.
func countNames(name string, lookup lookup, told func(FleetChange)) *names {
	ctx, cancel := context.WithCancel(context.Background())
	n := &names{
		name: name, lookup: lookup, told: told, cancel: cancel,
		first: make(chan struct{}), done: make(chan struct{}),
	}
	go n.run(ctx)
	return n
}

// close ends the counting.
func (n *names) close() {
	n.cancel()
	<-n.done
}

// await waits until the name was looked up, or ctx ends.
func (n *names) await(ctx context.Context) {
	select {
	case <-n.first:
	case <-ctx.Done():
	}
}

func (n *names) run(ctx context.Context) {
	defer close(n.done)
	tick := time.NewTicker(lookUpEvery)
	defer tick.Stop()
	n.count(ctx)
	close(n.first)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			n.count(ctx)
		}
	}
}

// count looks the name up once. A name without addresses is a failure: this server
// itself should be among them.
func (n *names) count(ctx context.Context) {
	looked, cancel := context.WithTimeout(ctx, lookUpFor)
	defer cancel()
	found, err := n.lookup(looked, n.name)
	size := distinct(found)
	if err == nil && size == 0 {
		err = errors.New("it has no addresses")
	}
	if ctx.Err() != nil {
		return
	}
	before, failed := n.size.Load(), n.failed
	if n.failed = err != nil; n.failed {
		if !failed {
			n.told(FleetChange{DNS: n.name, Servers: int(before), Err: err})
		}
		return
	}
	if n.size.Store(size); before != size || failed {
		n.told(FleetChange{DNS: n.name, Servers: int(size)})
	}
}

// distinct is how many servers have these addresses. A server may have one of each
// family, so the larger family counts.
func distinct(addresses []string) int64 {
	var families [2]map[string]struct{}
	for i := range families {
		families[i] = make(map[string]struct{})
	}
	for _, a := range addresses {
		family := 0
		if strings.Contains(a, ":") {
			family = 1
		}
		families[family][a] = struct{}{}
	}
	return int64(max(len(families[0]), len(families[1])))
}
