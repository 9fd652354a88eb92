package redisstore_test

import (
	"context"
	"errors"
	"math/bits"
	"strings"
	"testing"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
	"github.com/stint-dev/stint/redisstore"
	"github.com/stint-dev/stint/redisstore/redistest"
)

// TestParts: the slots of a cluster are 64 parts, a single server is one.
func TestParts(t *testing.T) {
	cluster, err := redisstore.New(redisstore.Options{Cluster: true})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	single, err := redisstore.New(redisstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer single.Close()
	p := policy(t, "p", "5 per 60s", algo.TokenBucket)
	var all []stint.Charge
	about := uint64(0)
	for key, slot := range map[string]int{"foo": 12182, "123456789": 12739, "bar": 5061, "hello": 866} {
		charge := []stint.Charge{{Policy: p, Key: []byte(key)}}
		want := uint64(1) << (slot * 64 / 16384)
		if got := cluster.Parts(charge); got != want {
			t.Errorf("%s is in part %d, want %d", key, bits.TrailingZeros64(got), bits.TrailingZeros64(want))
		}
		all, about = append(all, charge...), about|want
	}
	if got := cluster.Parts(all); got != about {
		t.Errorf("%b, want %b", got, about)
	}
	if got := single.Parts(all); got != 1 {
		t.Errorf("a single server has the parts %b", got)
	}
	all = append(all, stint.Charge{Policy: p, Key: []byte("\x01\x02ab" + strings.Repeat("x", 1000))})
	if n := testing.AllocsPerRun(100, func() { cluster.Parts(all) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestErrorsThatAreNotOfRedis say so: who watches over the store need not leave it
// alone.
func TestErrorsThatAreNotOfRedis(t *testing.T) {
	server := redistest.Start(t)
	c := real(t, server)
	p := policy(t, "p", "5 per 60s", algo.TokenBucket)
	c.allows(1, p, "k")
	server.Do("SET", server.Keys(0)[0], "foreign")
	_, foreign := c.try(p, "k", 1)
	_, long := c.try(p, strings.Repeat("x", stint.MaxKey+1), 1)
	_, uneven := c.store.Take(context.Background(), 0, make([]stint.Charge, 1), nil)
	for name, err := range map[string]error{"foreign": foreign, "too long": long, "uneven": uneven} {
		if e, ok := errors.AsType[*stint.PartError](err); !ok || e.Parts != 0 {
			t.Errorf("%s: %v, want an error of no part", name, err)
		}
	}
	server.Stop()
	_, err := c.try(p, "k", 1)
	if e, ok := errors.AsType[*stint.PartError](err); err == nil || ok {
		t.Errorf("a server that is not there: %v %v, want an error of the whole store", err, e)
	}
}

func BenchmarkSlots(b *testing.B) {
	cluster, err := redisstore.New(redisstore.Options{Cluster: true})
	if err != nil {
		b.Fatal(err)
	}
	defer cluster.Close()
	charges := []stint.Charge{{Key: []byte("\x01\x0c192.168.0.27")}, {Key: []byte("\x01\x0c192.168.0.27")}, {Key: nil}}
	b.ReportAllocs()
	for b.Loop() {
		cluster.Parts(charges)
	}
}
