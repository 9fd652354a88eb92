package main

import (
	"fmt"
	"slices"

	"github.com/stint-dev/stint/bench/field"
	"github.com/stint-dev/stint/bench/measure"
)

// open opens limiters of the field, those with the names if there are any.
func open(at field.Redis, rules []field.Rule, names ...string) ([]subject, error) {
	var all []subject
	for _, e := range field.SharedEntries() {
		if len(names) > 0 && !slices.Contains(names, e.Name) {
			continue
		}
		l, err := e.Open(at, rules...)
		if err != nil {
			closeAll(all)
			return nil, fmt.Errorf("%s: %w", e.Name, err)
		}
		all = append(all, subject{e.Name, l})
	}
	return all, nil
}

func closeAll(all []subject) {
	for _, s := range all {
		s.Close()
	}
}

// allowed loads the field, or some of it, with requests that all rules allow.
func (b *bench) allowed(rules []field.Rule, d *load, names ...string) (*turns, error) {
	subjects, err := open(d.on.at(d.callers), rules, names...)
	if err != nil {
		return nil, err
	}
	defer closeAll(subjects)
	d.time = b.turn
	t, err := alternate(b.rounds, subjects, d)
	if err != nil {
		return nil, err
	}
	for _, name := range t.Names {
		if p := t.Median(name, refusals); p > 0 {
			return nil, fmt.Errorf("%s refused %.2f %%: nobody is to refuse here", name, p)
		}
	}
	return t, nil
}

// many is row a.
func (b *bench) many() error {
	t, err := b.allowed(oneRule, &load{callers: callers, keys: sameKey(1), on: b.one})
	if err != nil {
		return err
	}
	t.table("checks").Write(b.w, fmt.Sprintf("One rule, %d goroutines, %d keys", callers, users))
	b.goals = append(b.goals,
		measure.Goal{What: "checks/s: of rueidislimiter's", Want: 1.5, AtLeast: true, Got: t.Ratio(field.Stint, field.RueidisLimiter, perSecond), Unit: " ×"},
		measure.Goal{What: "checks/s: of redis_rate's", Want: 3, AtLeast: true, Got: t.Ratio(field.Stint, field.RedisRate, perSecond), Unit: " ×"},
		measure.Goal{What: "p99: of rueidislimiter's", Want: 1, Got: t.Ratio(field.Stint, field.RueidisLimiter, p99), Unit: " ×"},
		measure.Goal{What: "p99: of redis_rate's", Want: 1, Got: t.Ratio(field.Stint, field.RedisRate, p99), Unit: " ×"},
		measure.Goal{What: "Redis CPU of a check", Want: 6, Got: t.Median(field.Stint, redisCPU), Unit: " µs"},
		measure.Goal{What: "Redis CPU of a check: of redis_rate's", Want: 0.3, Got: t.Ratio(field.Stint, field.RedisRate, redisCPU), Unit: " ×"})
	return nil
}

// alone is row b.
func (b *bench) alone() error {
	t, err := b.allowed(oneRule, &load{callers: 1, keys: sameKey(1), on: b.one})
	if err != nil {
		return err
	}
	t.table("checks").Write(b.w, "One rule, one goroutine: reads are trips")
	b.goals = append(b.goals, tripGoal(t, "trips of a check"))
	return nil
}

// tripGoal is about one caller: there what Redis reads are trips. Of many thousand,
// one or two are for something else.
func tripGoal(t *turns, what string) measure.Goal {
	return measure.Goal{What: what, Want: 1.01, Got: t.Median(field.Stint, reads)}
}

// threeRules is row c.
func (b *bench) threeRules() error {
	for _, c := range []struct {
		title, goal string
		rules       []field.Rule
		keys        func(int) []string
	}{
		{"one client's minute, hour and day", "of one client", ofOne, sameKey(3)},
		{"a user, an address and the whole service", "of several keys", ofSeveral, severalKeys()},
	} {
		t, err := b.allowed(c.rules, &load{callers: callers, keys: c.keys, on: b.one})
		if err != nil {
			return err
		}
		t.table("requests").Write(b.w, fmt.Sprintf("Three rules: %s, %d goroutines", c.title, callers))
		b.goals = append(b.goals, measure.Goal{
			What: "Redis CPU of three rules " + c.goal, Want: 8, Got: t.Median(field.Stint, redisCPU), Unit: " µs",
		})
	}
	t, err := b.allowed(ofSeveral, &load{callers: 1, keys: severalKeys(), on: b.one})
	if err != nil {
		return err
	}
	t.table("requests").Write(b.w, "Three rules: a user, an address and the whole service, one goroutine: reads are trips")
	b.goals = append(b.goals, tripGoal(t, "trips of three rules"))
	return nil
}

// cluster is row f.
func (b *bench) cluster() error {
	all, err := startCluster(3)
	if err != nil {
		return err
	}
	defer all.stop()
	for _, c := range []struct {
		title string
		rules []field.Rule
		keys  func(int) []string
	}{
		{"one rule", oneRule, sameKey(1)},
		{"three rules that share a tag", ofOne, sameKey(3)},
		{"three rules that do not", ofSeveral, severalKeys()},
	} {
		t, err := b.allowed(c.rules, &load{callers: callers, keys: c.keys, on: all},
			field.Stint, field.RueidisLimiter, field.RedisRate, field.Textbook)
		if err != nil {
			return err
		}
		t.table("requests").Write(b.w, fmt.Sprintf("A cluster of three: %s, %d goroutines", c.title, callers))
	}
	return nil
}
