package main

import (
	"context"
	"errors"
	"log/slog"
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

// peers counts the servers that share a store by the addresses of a name. It does not
// need the store, so it also tells a server that has never reached it. The last
// answer is kept while the name is not answered for; no decision waits for one.
type peers struct {
	name   string
	lookup lookup
	logger *slog.Logger
	size   atomic.Int64
	first  chan struct{} // closed once the name was looked up
	cancel context.CancelFunc
	done   chan struct{}

	failed bool   // the last lookup
	told   damped // lines about it
}

// countPeers counts until it is closed.
func countPeers(name string, lookup lookup, logger *slog.Logger) *peers {
	ctx, cancel := context.WithCancel(context.Background())
	p := &peers{
		name: name, lookup: lookup, logger: logger, cancel: cancel,
		first: make(chan struct{}), done: make(chan struct{}),
	}
	go p.run(ctx)
	return p
}

// close ends the counting.
func (p *peers) close() {
	p.cancel()
	<-p.done
	p.told.flush()
}

// await waits until the name was looked up, or ctx ends.
func (p *peers) await(ctx context.Context) {
	select {
	case <-p.first:
	case <-ctx.Done():
	}
}

func (p *peers) run(ctx context.Context) {
	defer close(p.done)
	tick := time.NewTicker(lookUpEvery)
	defer tick.Stop()
	p.count(ctx)
	close(p.first)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.count(ctx)
		}
	}
}

// count looks the name up once. A name without addresses is a failure: this server
// itself should be among them.
func (p *peers) count(ctx context.Context) {
	looked, cancel := context.WithTimeout(ctx, lookUpFor)
	defer cancel()
	found, err := p.lookup(looked, p.name)
	size := distinct(found)
	if err == nil && size == 0 {
		err = errors.New("it has no addresses")
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		if !p.failed {
			p.tell(err)
		}
		p.failed = true
	default:
		if before := p.size.Swap(size); before != size || p.failed {
			p.tell(nil)
		}
		p.failed = false
	}
}

// tell tells of another number, or with an error that it is no longer known.
func (p *peers) tell(err error) {
	size := p.size.Load()
	p.told.tell(func(changes int) {
		if err != nil {
			p.logger.Warn("the name of the servers that share the store is not answered for; the last number stays",
				"name", p.name, "servers", size, "changes", changes, "error", err)
			return
		}
		p.logger.Info("servers that share the store, by their name", "name", p.name, "servers", size, "changes", changes)
	})
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
