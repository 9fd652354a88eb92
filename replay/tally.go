package replay

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/rules"
)

// maxKeys bounds the keys that are counted for one rule.
const maxKeys = 1 << 16

// topKeys is how many keys the report names for each rule.
const topKeys = 10

// tally counts what one rule said.
type tally struct {
	matched, refused int64
	first, last      time.Time // of the refusals
	keys             refusedKeys
}

// refuse notes a refusal.
func (t *tally) refuse(at time.Time, key []byte) {
	if t.refused == 0 || at.Before(t.first) {
		t.first = at
	}
	if t.refused == 0 || at.After(t.last) {
		t.last = at
	}
	t.refused++
	t.keys.add(key)
}

// refusedKeys counts refusals by key. When there are too many keys, those with
// the fewest are dropped (Manku and Motwani's lossy counting); a count is then
// too low by at most missed.
type refusedKeys struct {
	of      map[string]int64
	missed  int64
	dropped bool
}

func (k *refusedKeys) add(key []byte) {
	if k.of == nil {
		k.of = make(map[string]int64)
	}
	if n, ok := k.of[string(key)]; ok {
		k.of[string(key)] = n + 1
		return
	}
	if len(k.of) >= maxKeys {
		k.drop()
	}
	k.of[string(key)] = 1
}

// drop forgets the half of the keys that was refused least.
func (k *refusedKeys) drop() {
	counts := make([]int64, 0, len(k.of))
	for _, n := range k.of {
		counts = append(counts, n)
	}
	slices.Sort(counts)
	least := counts[len(counts)/2]
	for key, n := range k.of {
		if n <= least {
			delete(k.of, key)
		}
	}
	k.missed += least
	k.dropped = true
}

// distinct is the number of keys refused; at least so many where some were
// dropped.
func (k *refusedKeys) distinct() int64 {
	if k.dropped {
		return maxKeys
	}
	return int64(len(k.of))
}

// top returns the keys refused most.
func (k *refusedKeys) top() []KeyCount {
	all := make([]KeyCount, 0, len(k.of))
	for key, n := range k.of {
		all = append(all, KeyCount{Key: key, Refused: n})
	}
	slices.SortFunc(all, func(a, b KeyCount) int {
		return cmp.Or(cmp.Compare(b.Refused, a.Refused), strings.Compare(a.Key, b.Key))
	})
	all = all[:min(topKeys, len(all))]
	for i := range all {
		all[i].Key = rules.KeyText([]byte(all[i].Key))
	}
	return all
}

// ruleOf returns the id of the rule that a policy belongs to: login of
// login/minute#2.
func ruleOf(policy string) string {
	id, _, _ := strings.Cut(policy, "/")
	return id
}

// tallies are those of all rules, by id.
type tallies map[string]*tally

func (ts tallies) of(id string) *tally {
	t := ts[id]
	if t == nil {
		t = new(tally)
		ts[id] = t
	}
	return t
}

// count notes what the rules said to one request. The results of a rule stand
// together.
func (ts tallies) count(d *stint.Decision, at time.Time) {
	said := false
	for i := 0; i < len(d.Results); {
		id := ruleOf(d.Results[i].Policy)
		t := ts.of(id)
		t.matched++
		refusing := -1
		for ; i < len(d.Results) && ruleOf(d.Results[i].Policy) == id; i++ {
			if !d.Results[i].OK && refusing < 0 {
				refusing = i
			}
		}
		if refusing >= 0 {
			t.refuse(at, d.Results[refusing].Key)
			said = said || id == ruleOf(d.Policy)
		}
	}
	if !d.Allowed && d.Policy != "" && !said {
		t := ts.of(ruleOf(d.Policy))
		t.matched++
		t.refuse(at, d.Key)
	}
}
