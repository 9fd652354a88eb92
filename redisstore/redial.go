package redisstore

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"sync"
	"time"
)

// redial is the shortest time between two attempts to connect.
const redial = 50 * time.Millisecond

// dialer makes guarded connections. To an address where a server has just refused to
// serve it makes no other one before redial has passed: that server may be the only one
// there.
type dialer struct {
	mu      sync.Mutex
	refused map[string]refusal // of each address, unless it is over
}

// refusal is why an address is left alone, and until when.
type refusal struct {
	err   error
	until time.Time
}

// dial connects.
func (d *dialer) dial(ctx context.Context, addr string, with *net.Dialer, t *tls.Config) (net.Conn, error) {
	if err := d.refusal(addr); err != nil {
		return nil, err
	}
	until := time.Now().Add(redial)
	c, err := dial(ctx, addr, with, t)
	if err != nil {
		return nil, err
	}
	return newGuard(c, func(err error) { d.refuse(addr, refusal{err, until}) }), nil
}

// refusal is why there must be no other connection to the address yet, nil if there may.
func (d *dialer) refusal(addr string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r, ok := d.refused[addr]; ok && time.Now().Before(r.until) {
		return r.err
	}
	return nil
}

// refuse notes that a server has refused to serve.
func (d *dialer) refuse(addr string, r refusal) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.refused, func(_ string, r refusal) bool { return !now.Before(r.until) })
	if now.Before(r.until) {
		if d.refused == nil {
			d.refused = make(map[string]refusal)
		}
		d.refused[addr] = r
	}
}

// refusalOf is the error of a connection that is given up for what the server has
// answered, nil if it is kept. It is given up where another connection to the same
// address may reach another server: behind a balancer, a name or the path of a socket,
// by which a master is replaced, the old one keeps the connections that it has and
// answers so for ever.
//
// It is kept for what concerns the keys, the disk, the memory or the scripts of a server
// (CLUSTERDOWN, TRYAGAIN, MISCONF, OOM, BUSY): these do not depend on which server is the
// master, and one that has been replaced says READONLY. About CLUSTERDOWN the client asks
// other nodes itself. What only a connection that has not signed in is told (NOAUTH,
// WRONGPASS) ends it without help, and must not where the client goes on to older ways of
// signing in. NOPERM is about the user, by any connection. UNBLOCKED answers commands that
// block, which are not sent.
func refusalOf(answer []byte) error {
	for _, code := range []string{
		"READONLY",   // it is a replica
		"MASTERDOWN", // it is a replica that has lost its master
		"LOADING",    // among others it is a replica that takes over what the new master has
		"NOREPLICAS", // it is a master that its replicas have left, perhaps for another one
	} {
		if isCode(answer, code) {
			return fmt.Errorf("%w: %q", errElsewhere, answer)
		}
	}
	return nil
}

// isCode says whether an answer is an error with the code. Before Redis 7 the error of a
// script has it behind the place in the script.
func isCode(answer []byte, code string) bool {
	return bytes.HasPrefix(answer, []byte(code+" ")) ||
		bytes.HasPrefix(answer, []byte("ERR Error running script ")) && bytes.Contains(answer, []byte(": -"+code+" "))
}
