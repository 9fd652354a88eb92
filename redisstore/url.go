package redisstore

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ParseURL reads options from a URL of the kind that Redis clients share:
//
//	redis://user:password@host:6379/0
//	rediss://:password@host                   TLS
//	unix:///run/redis.sock?db=1
//	redis+sentinel://host1,host2:26379/mymaster/0
//	redis+cluster://host1:7000,host2:7000
//
// valkey and valkeys are other names of redis and rediss; rediss+sentinel and
// rediss+cluster have TLS. A port left out is 6379, that of a Sentinel 26379. What
// is special in a user or a password is percent-encoded. Parameters are db, addr
// (one more address each), master_set, cluster, prefix, client_name,
// sentinel_username, sentinel_password, dial_timeout, read_timeout, max_batch,
// max_in_flight, max_waiting, server_name and skip_verify; times are written like
// 100ms. An error shows nothing of the URL.
func ParseURL(text string) (Options, error) {
	const hint = "write it like redis://user:password@host:6379/0"
	if len(text) > maxURL {
		return Options{}, fmt.Errorf("a store URL of %d bytes: at most %d", len(text), maxURL)
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return Options{}, errors.New("the store URL has no scheme: " + hint)
	}
	var u redisURL
	if err := u.scheme(scheme); err != nil {
		return Options{}, err
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		if err := u.user(authority[:i]); err != nil {
			return Options{}, err
		}
		authority = authority[i+1:]
	}
	err := errors.Join(u.place(authority, path), u.parameters(query))
	if err != nil {
		return Options{}, err
	}
	if o := &u.Options; o.TLS != nil && o.TLS.ServerName == "" && len(o.Addrs) == 1 {
		o.TLS.ServerName, _, _ = net.SplitHostPort(o.Addrs[0])
	}
	_, err = u.complete()
	return u.Options, err
}

// encoding is the hint where a password may have been cut into pieces.
const encoding = "write what is special in a password percent-encoded, / as %2F, ? as %3F, @ as %40 and & as %26"

// maxURL is the longest URL, in bytes.
const maxURL = 4096

// redisURL is a URL on its way into options.
type redisURL struct {
	Options
	unix, sentinel bool
}

func (u *redisURL) scheme(s string) error {
	base, kind, _ := strings.Cut(strings.ToLower(s), "+")
	switch base {
	case "redis", "valkey":
	case "rediss", "valkeys":
		u.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	case "unix":
		u.unix = true
	default:
		return errors.New("the store URL has an unknown scheme: write redis, rediss, unix, redis+sentinel or redis+cluster")
	}
	switch {
	case kind == "":
	case kind == "sentinel" && !u.unix:
		u.sentinel = true
	case kind == "cluster" && !u.unix:
		u.Cluster = true
	case kind == "unix" && base == "redis":
		u.unix = true
	default:
		return errors.New("the store URL has an unknown scheme: write redis, rediss, unix, redis+sentinel or redis+cluster")
	}
	return nil
}

// user reads what is before the @.
func (u *redisURL) user(s string) error {
	name, password, _ := strings.Cut(s, ":")
	var err1, err2 error
	u.Username, err1 = url.PathUnescape(name)
	u.Password, err2 = url.PathUnescape(password)
	if err1 != nil || err2 != nil {
		return errors.New("the user or the password in the store URL is not percent-encoded as it should be")
	}
	return nil
}

// place reads the addresses, and the path behind them.
func (u *redisURL) place(authority, path string) error {
	if u.unix {
		if authority != "" || len(path) < 2 {
			return errors.New("the store URL names no socket: write unix:///path/of/the/socket")
		}
		u.Addrs = []string{path}
		return nil
	}
	for a := range strings.SplitSeq(authority, ",") {
		u.Addrs = append(u.Addrs, u.withPort(a))
	}
	if strings.Contains(path, "@") {
		return errors.New("the store URL has an @ behind the host: " + encoding)
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if u.sentinel {
		u.MasterSet = parts[0]
		parts = parts[1:]
		if u.MasterSet == "" {
			u.MasterSet = "mymaster"
		}
	}
	switch {
	case len(parts) > 1:
		return errors.New("the path of the store URL has too many parts: it is the number of the database")
	case len(parts) == 1 && parts[0] != "":
		return u.database(parts[0])
	}
	return nil
}

// withPort adds what is left out of an address.
func (u *redisURL) withPort(a string) string {
	port := "6379"
	if u.sentinel {
		port = "26379"
	}
	if _, _, err := net.SplitHostPort(a); err == nil {
		return a
	}
	host := strings.TrimSuffix(strings.TrimPrefix(a, "["), "]")
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

func (u *redisURL) database(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return errors.New("the database of the store URL is not a number: write it like redis://host:6379/1")
	}
	u.DB = n
	return nil
}

// parameters reads what is behind the question mark.
func (u *redisURL) parameters(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("the parameters of the store URL are not encoded as they should be")
	}
	var errs []error
	for name, all := range values {
		for _, value := range all {
			if err := u.parameter(name, value); err != nil {
				errs = append(errs, err)
			}
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	errs = slices.CompactFunc(errs, func(a, b error) bool { return a.Error() == b.Error() })
	return errors.Join(errs...)
}

func (u *redisURL) parameter(name, value string) error {
	var err error
	want := ""
	switch name {
	case "db":
		return u.database(value)
	case "addr":
		u.Addrs = append(u.Addrs, u.withPort(value))
	case "master_set":
		u.MasterSet = value
	case "cluster":
		want = "true or false"
		u.Cluster, err = strconv.ParseBool(value)
	case "prefix":
		u.Prefix = value
	case "client_name":
		u.ClientName = value
	case "sentinel_username":
		u.SentinelUsername = value
	case "sentinel_password":
		u.SentinelPassword = value
	case "dial_timeout":
		want = "a time such as 1s"
		u.DialTimeout, err = time.ParseDuration(value)
	case "read_timeout":
		want = "a time such as 100ms"
		u.ReadTimeout, err = time.ParseDuration(value)
	case "max_batch":
		want = "a number"
		u.MaxBatch, err = strconv.Atoi(value)
	case "max_in_flight":
		want = "a number"
		u.MaxInFlight, err = strconv.Atoi(value)
	case "max_waiting":
		want = "a number"
		u.MaxWaiting, err = strconv.Atoi(value)
	case "server_name", "skip_verify":
		return u.encryption(name, value)
	default:
		return errors.New("the store URL has an unknown parameter: it takes db, addr, master_set, cluster, prefix, client_name, " +
			"sentinel_username, sentinel_password, dial_timeout, read_timeout, max_batch, max_in_flight, max_waiting, server_name " +
			"and skip_verify; " + encoding)
	}
	if err != nil {
		return fmt.Errorf("parameter %s of the store URL can not be read: write %s", name, want)
	}
	return nil
}

// encryption reads a parameter that is about TLS.
func (u *redisURL) encryption(name, value string) error {
	if u.TLS == nil {
		return fmt.Errorf("parameter %s of the store URL is for rediss only", name)
	}
	if name == "server_name" {
		u.TLS.ServerName = value
		return nil
	}
	skip, err := strconv.ParseBool(value)
	if err != nil {
		return fmt.Errorf("parameter %s of the store URL: write true or false", name)
	}
	u.TLS.InsecureSkipVerify = skip
	return nil
}
