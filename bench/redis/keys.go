package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/stint-dev/stint/bench/field"
)

// Rules of the parts. Nobody is refused by any of them but hot. The buckets of a
// user and of an address give a unit back in 0.9 seconds and are asked more often,
// so that they hold something all the time and nobody may forget them.
var (
	perUser    = field.Rule{Name: "per-user", Quota: field.Quota{Count: 100_000, Window: 24 * time.Hour}}
	perHour    = field.Rule{Name: "per-hour", Quota: field.Quota{Count: 50_000, Window: time.Hour}}
	perMinute  = field.Rule{Name: "per-minute", Quota: field.Quota{Count: 10_000, Window: time.Minute}}
	perAddress = field.Rule{Name: "per-address", Quota: field.Quota{Count: 100_000, Window: 24 * time.Hour}}
	service    = field.Rule{Name: "whole-service", Quota: field.Quota{Count: 100_000_000, Window: time.Minute}}

	// hot is used up at once, and gives a unit back every 36 seconds.
	hot = field.Rule{Name: "per-user", Quota: field.Quota{Count: 100, Window: time.Hour}}
	// lasting keeps a bucket for a quarter of an hour after a single request, so that
	// nobody may forget it before it is weighed.
	lasting = field.Rule{Name: "per-user", Quota: field.Quota{Count: 100, Window: 24 * time.Hour}}
)

// Sets of rules about one request.
var (
	oneRule   = []field.Rule{perUser}
	ofOne     = []field.Rule{perMinute, perHour, perUser}
	ofSeveral = []field.Rule{perUser, perAddress, service}
)

// drawn is how many requests are drawn beforehand.
const drawn = 1 << 16

func user(i int) string { return fmt.Sprintf("user:%07d", i) }

// sameKey asks every rule about one of the users, each as likely as any other.
func sameKey(rules int) func(int) []string {
	return draw(func(i int) []string {
		keys := make([]string, rules)
		for j := range keys {
			keys[j] = user(i)
		}
		return keys
	})
}

// severalKeys asks about a user, an address and the whole service.
func severalKeys() func(int) []string {
	return draw(func(i int) []string {
		return []string{user(i), fmt.Sprintf("addr:198.51.%d.%d", i>>8, i&255), "service"}
	})
}

// draw makes the keys of each user once, and draws who asks.
func draw(keys func(int) []string) func(int) []string {
	all := make([][]string, users)
	for i := range all {
		all[i] = keys(i)
	}
	r := rand.New(rand.NewPCG(1, 2))
	order := make([]uint32, drawn)
	for i := range order {
		order[i] = uint32(r.IntN(users))
	}
	return func(i int) []string { return all[order[i%drawn]] }
}
