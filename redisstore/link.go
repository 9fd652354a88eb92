package redisstore

import (
	"context"
	"crypto/tls"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// redial is the shortest time between two attempts to connect.
const redial = 50 * time.Millisecond

// link is the connection. The client that it makes connects again by itself; link
// is for the first time, which may be long after the start.
type link struct {
	options Options
	current atomic.Pointer[rueidis.Client]

	mu     sync.Mutex
	closed bool
	failed error
	tried  time.Time
}

// client returns the client, connecting if need be.
func (l *link) client() (rueidis.Client, error) {
	if c := l.current.Load(); c != nil {
		return *c, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch c := l.current.Load(); {
	case l.closed:
		return nil, ErrClosed
	case c != nil:
		return *c, nil
	case l.failed != nil && time.Since(l.tried) < redial:
		return nil, l.failed
	}
	c, err := rueidis.NewClient(l.options.client())
	if err != nil {
		l.failed, l.tried = unavailable(err), time.Now()
		return nil, l.failed
	}
	l.failed = nil
	l.current.Store(&c)
	return c, nil
}

// close ends the connection and makes calls fail.
func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if c := l.current.Swap(nil); c != nil {
		(*c).Close()
	}
}

// client turns the options into those of the client library. It sends nothing
// twice, keeps no cache, and one connection is enough for calls one at a time.
func (o *Options) client() rueidis.ClientOption {
	c := rueidis.ClientOption{
		InitAddress:         o.Addrs,
		Username:            o.Username,
		Password:            o.Password,
		ClientName:          o.ClientName,
		SelectDB:            o.DB,
		TLSConfig:           o.TLS,
		ConnWriteTimeout:    o.ReadTimeout,
		DisableRetry:        true,
		DisableCache:        true,
		PipelineMultiplex:   -1,
		ForceSingleClient:   !o.Cluster && o.MasterSet == "",
		ReadBufferEachConn:  1 << 16,
		WriteBufferEachConn: 1 << 16,
		DialCtxFn:           guarded,
	}
	c.Dialer.Timeout = o.DialTimeout
	if o.MasterSet != "" {
		c.Sentinel = rueidis.SentinelOption{
			MasterSet: o.MasterSet, Username: o.SentinelUsername, Password: o.SentinelPassword,
			TLSConfig: o.TLS, ClientName: o.ClientName, TopologyRefreshInterval: 5 * time.Second,
		}
		c.Sentinel.Dialer.Timeout = o.DialTimeout
		// Without it a Sentinel that hangs is waited for without end.
		c.Sentinel.Dialer.KeepAlive = rueidis.DefaultTCPKeepAlive
	}
	if o.Cluster {
		c.ClusterOption.ShardsRefreshInterval = 5 * time.Second
		c.ClusterOption.MaxMovedRedirections = 5
	}
	return c
}

// dial connects to host:port, or to a socket whose name begins with a slash.
func dial(ctx context.Context, addr string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
	switch {
	case strings.HasPrefix(addr, "/"):
		return d.DialContext(ctx, "unix", addr)
	case t == nil:
		return d.DialContext(ctx, "tcp", addr)
	}
	return (&tls.Dialer{NetDialer: d, Config: t}).DialContext(ctx, "tcp", addr)
}
