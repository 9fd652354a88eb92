package redisstore_test

import (
	"crypto/tls"
	"errors"
	"strings"
	"testing"

	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/failover"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
)

// TestTLS: only who is trusted is talked to, and who is not is a store that fails.
func TestTLS(t *testing.T) {
	t.Parallel()
	authority, stranger := redistest.NewAuthority(t), redistest.NewAuthority(t)
	server, addr := redistest.StartTLS(t, authority)
	server.Do("ACL", "SETUSER", "limiter", "on", ">hunter2", "~*", "+@all")
	p := policy(t, "p", "1000 per 24h", algo.TokenBucket)
	for _, c := range []struct {
		name, url string
		tls       *tls.Config // over that of the URL, if not nil
		want      string      // in the error; empty: it works
	}{
		{"its authority", "rediss://" + addr, &tls.Config{RootCAs: authority.Pool}, ""},
		{"its authority, with a user", "rediss://limiter:hunter2@" + addr + "/0", &tls.Config{RootCAs: authority.Pool}, ""},
		{"by its other name", "rediss://" + strings.Replace(addr, "127.0.0.1", "localhost", 1), &tls.Config{RootCAs: authority.Pool}, ""},
		{"unverified", "rediss://" + addr + "?skip_verify=true", nil, ""},
		{"another authority", "rediss://" + addr, &tls.Config{RootCAs: stranger.Pool}, "unknown authority"},
		{"those of the system", "rediss://" + addr, nil, "unknown authority"},
		{"another name", "rediss://" + addr, &tls.Config{RootCAs: authority.Pool, ServerName: "redis.example"}, "redis.example"},
		{"another name in the URL", "rediss://" + addr + "?server_name=redis.example", nil, ""},
		{"no TLS", "redis://" + addr, nil, ""},
		{"TLS where there is none", "rediss://" + server.Addr, &tls.Config{RootCAs: authority.Pool}, ""},
	} {
		o, err := redisstore.ParseURL(c.url)
		if err != nil {
			t.Fatal(err)
		}
		if c.tls != nil {
			o.TLS = c.tls
		}
		store, err := redisstore.New(patient(o))
		if err != nil {
			t.Fatal(err)
		}
		_, err = (&client{TB: t, store: store}).try(p, c.name, 1)
		switch c.name {
		case "another name in the URL", "no TLS", "TLS where there is none":
			if !errors.Is(err, redisstore.ErrUnavailable) {
				t.Errorf("%s: error %v, want ErrUnavailable", c.name, err)
			}
		default:
			if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, redisstore.ErrUnavailable) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: error %v, want %q", c.name, err, c.want)
			}
		}
		store.Close()
	}
}

// TestTLSWithACertificateOfTheClient: the server may ask for one.
func TestTLSWithACertificateOfTheClient(t *testing.T) {
	t.Parallel()
	authority, stranger := redistest.NewAuthority(t), redistest.NewAuthority(t)
	_, addr := redistest.StartTLS(t, authority, "--tls-auth-clients", "yes")
	p := policy(t, "p", "1000 per 24h", algo.TokenBucket)
	for _, c := range []struct {
		name  string
		certs []tls.Certificate
		ok    bool
	}{
		{"its authority's", []tls.Certificate{authority.Issue()}, true},
		{"a stranger's", []tls.Certificate{stranger.Issue()}, false},
		{"none", nil, false},
	} {
		store := openAt(t, addr, redisstore.Options{TLS: &tls.Config{RootCAs: authority.Pool, Certificates: c.certs}})
		if _, err := (&client{TB: t, store: store}).try(p, "k", 1); (err == nil) != c.ok || !c.ok && !errors.Is(err, redisstore.ErrUnavailable) {
			t.Errorf("%s: error %v", c.name, err)
		}
	}
}

// TestTLSThatFails: a server whose certificate is not trusted is one that is not
// there.
func TestTLSThatFails(t *testing.T) {
	t.Parallel()
	server, addr := redistest.StartTLS(t, redistest.NewAuthority(t))
	store := openAt(t, addr, redisstore.Options{TLS: &tls.Config{RootCAs: redistest.NewAuthority(t).Pool}})
	n := newNode(t, store, 2, failover.Options{})
	p := policy(t, "p", "20 per 24h", algo.TokenBucket)
	a := new(tally)
	for range 40 {
		n.ask(a, p, "k")
	}
	a.check(t, "not trusted", n.deadline)
	if a.local != 10 || a.degraded != 40 || len(server.Keys(0)) != 0 {
		t.Errorf("%d of 40 passed, %d decided without the store, want the share of 10 and all; keys %q", a.local, a.degraded, server.Keys(0))
	}
}
