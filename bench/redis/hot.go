package main

import (
	"context"
	"fmt"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/bench/field"
	"github.com/stint-dev/stint/bench/measure"
	"github.com/stint-dev/stint/shield"
)

const (
	shielded = "stint, a shield in front"
	// inMemory is what a refusal costs that goes nowhere.
	inMemory = "stint, memory store, no Redis"
)

// withShield is Stint with the store that remembers refusals.
func withShield(at field.Redis) (field.Shared, error) {
	return field.ShareStint(at, func(s stint.Store) (stint.Store, error) {
		return shield.New(shield.Options{Store: s})
	}, hot)
}

// hotKey is row d.
func (b *bench) hotKey() error {
	subjects, err := open(b.one.at(callers), []field.Rule{hot})
	if err != nil {
		return err
	}
	defer func() { closeAll(subjects) }()
	front, err := withShield(b.one.at(callers))
	if err != nil {
		return err
	}
	subjects = append(subjects, subject{shielded, front}, subject{inMemory, field.ShareMemory(hot)})
	keys := []string{user(1)}
	for _, s := range subjects {
		if err := spend(s.Shared, keys); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	d := &load{callers: callers, time: b.turn, keys: func(int) []string { return keys }, on: b.one}
	t, err := alternate(b.rounds, subjects, d)
	if err != nil {
		return err
	}
	t.table("checks").Write(b.w, fmt.Sprintf("One key over its limit, %d goroutines", callers))
	b.goals = append(b.goals, measure.Goal{
		What: "hot key, shielded: of the memory store's refusals", Want: 0.5, AtLeast: true, Got: t.Ratio(shielded, inMemory, perSecond), Unit: " ×",
	})
	return nil
}

// spend uses a bucket up.
func spend(l field.Shared, keys []string) error {
	for range 100 * hot.Count {
		ok, err := l.Allow(context.Background(), keys)
		if err != nil {
			return err
		}
		if !ok {
			return nil
		}
	}
	return fmt.Errorf("%d requests pass a limit of %d", 100*hot.Count, hot.Count)
}
