package redisstore

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Defaults of the options.
const (
	DefaultAddr        = "127.0.0.1:6379"
	DefaultPrefix      = "stint:"
	DefaultDialTimeout = time.Second
	DefaultReadTimeout = time.Second
	DefaultMaxBatch    = 128
	DefaultMaxInFlight = 1
	DefaultMaxWaiting  = 10_000
)

// Options of a store. The zero Options are the defaults: a single server on
// DefaultAddr.
type Options struct {
	// Addrs are host:port, or the path of a unix socket. Of a single server the
	// first counts. With MasterSet they are those of Sentinels, with Cluster those
	// of some nodes. None means DefaultAddr.
	Addrs []string
	// Cluster says that the addresses are those of a Redis Cluster.
	Cluster bool
	// MasterSet is the name of a master that Sentinels watch. Empty: no Sentinels.
	MasterSet string
	// Username and Password of an ACL user; a Password alone is that of the default
	// user. Both empty: no authentication.
	Username, Password string
	// SentinelUsername and SentinelPassword are for the Sentinels themselves.
	SentinelUsername, SentinelPassword string
	// DB is the number of the database. A cluster has only 0.
	DB int
	// TLS, if set, encrypts. A ServerName left empty is the host's.
	TLS *tls.Config
	// ClientName shows in CLIENT LIST. Empty: none.
	ClientName string
	// Prefix begins every key. Empty means DefaultPrefix. It must not have braces.
	Prefix string
	// DialTimeout bounds an attempt to connect. 0 means DefaultDialTimeout.
	DialTimeout time.Duration
	// ReadTimeout is when an answer that does not come means that the connection is
	// dead. It is not the deadline of a request, which is that of its context. 0
	// means DefaultReadTimeout.
	ReadTimeout time.Duration
	// MaxBatch is the most charges that leave in one call, where a charge on a log
	// counts as four. 0 means DefaultMaxBatch.
	MaxBatch int
	// MaxInFlight is how many calls may be under way at once; on a cluster, for each
	// slot. 0 means DefaultMaxInFlight.
	MaxInFlight int
	// MaxWaiting is the most requests that wait for a call to end; one more is told
	// ErrUnavailable. 0 means DefaultMaxWaiting.
	MaxWaiting int
	// ClientClock decides by the instant that Take is given, if that is not 0, and
	// keeps buckets for an hour longer. It is for tests: servers that share limits
	// need one clock.
	ClientClock bool
}

// complete fills the defaults in and checks. Its errors repeat no text that was
// given: what was written in a wrong place may be a password.
func (o Options) complete() (Options, error) {
	if len(o.Addrs) == 0 {
		o.Addrs = []string{DefaultAddr}
	}
	setDefault(&o.Prefix, DefaultPrefix)
	setDefault(&o.DialTimeout, DefaultDialTimeout)
	setDefault(&o.ReadTimeout, DefaultReadTimeout)
	setDefault(&o.MaxBatch, DefaultMaxBatch)
	setDefault(&o.MaxInFlight, DefaultMaxInFlight)
	setDefault(&o.MaxWaiting, DefaultMaxWaiting)
	var errs []error
	fault := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for i, a := range o.Addrs {
		fault(!isAddr(a), "address %d of %d is none: write host:port, or the path of a unix socket; ParseURL reads URLs", i+1, len(o.Addrs))
	}
	fault(strings.ContainsAny(o.Prefix, "{}"), "the prefix has a brace: Redis Cluster places keys by what is in braces")
	fault(len(o.Prefix) > MaxPrefix, "prefix of %d bytes: at most %d", len(o.Prefix), MaxPrefix)
	fault(o.DB < 0, "database %d is negative: the first is 0", o.DB)
	fault(o.Cluster && o.DB > 0, "database %d on a cluster: it has only database 0", o.DB)
	fault(o.Cluster && o.MasterSet != "", "a cluster has no master set: leave one of the two out")
	fault(o.Username != "" && o.Password == "", "a user has no password: a password alone is that of the default user")
	fault(o.DialTimeout < 0, "dial timeout %v is negative", o.DialTimeout)
	fault(o.ReadTimeout < 0, "read timeout %v is negative", o.ReadTimeout)
	fault(o.MaxBatch < 0 || o.MaxBatch > maxBatch, "max batch %d: from 1 to %d", o.MaxBatch, maxBatch)
	fault(o.MaxInFlight < 0, "max in flight %d is negative", o.MaxInFlight)
	fault(o.MaxWaiting < 0, "max waiting %d is negative", o.MaxWaiting)
	return o, errors.Join(errs...)
}

// isAddr says whether s is an address: what stands where a port or an address of IPv6
// should be may be a part of a password, and would be shown when the connection fails.
func isAddr(s string) bool {
	if strings.HasPrefix(s, "/") {
		return true
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil || strings.ContainsAny(host, "@/?# ") {
		return false
	}
	if strings.Contains(host, ":") {
		if _, err := netip.ParseAddr(host); err != nil {
			return false
		}
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// maxBatch bounds MaxBatch. The script takes keys and numbers from a stack of 8,000: of a
// charge twelve, if each has a policy of its own.
const maxBatch = 512

// MaxPrefix is the longest Prefix, in bytes.
const MaxPrefix = 64

func setDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}
