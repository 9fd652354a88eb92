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

// link is the connection. The client that it makes connects again by itself; link
// is for the first time, which may be long after the start.
type link struct {
	options Options
	dialer  dialer
	current atomic.Pointer[rueidis.Client]

	mu        sync.Mutex
	closed    bool
	failed    error
	tried     time.Time
	sentinels *sentinels // nil without, and until they were asked for the first time
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
	c, err := l.connect()
	if err != nil {
		l.failed, l.tried = unavailable(err), time.Now()
		return nil, l.failed
	}
	l.failed = nil
	l.current.Store(&c)
	return c, nil
}

// connect makes a client; mu is held.
func (l *link) connect() (c rueidis.Client, err error) {
	defer contain(&err)
	o := l.options.client()
	o.DialCtxFn = l.dialer.dial
	if l.options.MasterSet != "" {
		if l.sentinels == nil {
			l.sentinels = newSentinels(&l.options, &l.dialer)
		}
		o.DialCtxFn = l.sentinels.dial
	}
	return rueidis.NewClient(o)
}

// do sends a command and waits for the answer. It has no deadline and can not be
// cancelled: both change the connection for all.
func do(c rueidis.Client, command rueidis.Completed) (result rueidis.RedisResult) {
	var err error
	defer func() {
		if err != nil {
			result = rueidis.NewErrorResult(err)
		}
	}()
	defer contain(&err)
	return c.Do(context.Background(), command)
}

// contain makes an error of what the client panics about on the way of a call: an
// answer that it can not read, such as a MOVED that does not say where to.
func contain(err *error) {
	if recover() != nil {
		*err = errGarbled
	}
}

// close ends the connection and makes calls fail.
func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if c := l.current.Swap(nil); c != nil {
		(*c).Close()
	}
	if l.sentinels != nil {
		l.sentinels.close()
	}
}

// client turns the options into those of the client library. It sends nothing
// twice, keeps no cache, and one connection is enough for calls one at a time.
func (o *Options) client() rueidis.ClientOption {
	c := rueidis.ClientOption{
		InitAddress:         o.Addrs, // of Sentinels none counts: dial asks them
		Username:            o.Username,
		Password:            o.Password,
		ClientName:          o.ClientName,
		SelectDB:            o.DB,
		TLSConfig:           o.TLS,
		ConnWriteTimeout:    o.ReadTimeout,
		DisableRetry:        true,
		DisableCache:        true,
		ClientSetInfo:       rueidis.DisableClientSetInfo,
		PipelineMultiplex:   -1,
		ForceSingleClient:   !o.Cluster,
		ReadBufferEachConn:  1 << 16,
		WriteBufferEachConn: 1 << 16,
	}
	c.Dialer.Timeout = o.DialTimeout
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
