package main

import (
	"fmt"
	"time"

	"github.com/stint-dev/stint/bench/field"
	"github.com/stint-dev/stint/bench/measure"
)

// Subjects of row g.
const (
	stintLog    = "stint, sliding_window_log"
	textbookLog = "textbook log, rueidis"
)

// busy is a limit whose log always holds some ten thousand entries while it is asked
// more often than it allows: each second writes as many and forgets as many.
var busy = field.Rule{Name: "busy", Quota: field.Quota{Count: 10_000, Window: time.Second}}

// logs is row g: one key whose log is as long as it may be, beside a token bucket of
// the same limit.
func (b *bench) logs() error {
	at := b.one.at(logCallers)
	var subjects []subject
	defer func() { closeAll(subjects) }()
	for _, e := range []struct {
		name string
		open func(field.Redis, ...field.Rule) (field.Shared, error)
	}{
		{field.Stint, func(at field.Redis, rules ...field.Rule) (field.Shared, error) {
			return field.ShareStint(at, nil, rules...)
		}},
		{stintLog, field.ShareStintLog},
		{textbookLog, field.ShareTextbookLog},
	} {
		l, err := e.open(at, busy)
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		subjects = append(subjects, subject{e.name, l})
	}
	keys := []string{user(1)}
	// A turn is as long as two windows, so that half of it sees a full log.
	d := &load{callers: logCallers, time: max(b.turn, 2*busy.Window), keys: func(int) []string { return keys }, on: b.one}
	t, err := alternate(b.rounds, subjects, d)
	if err != nil {
		return err
	}
	t.table("checks").Write(b.w, fmt.Sprintf("A log of %d entries, one key, %d goroutines", busy.Count, logCallers))
	b.goals = append(b.goals, measure.Goal{
		What: "Redis CPU of an ask of a log of 10,000: of a token bucket's", Want: 3, Got: t.Ratio(stintLog, field.Stint, redisCPU), Unit: " ×",
	})
	return nil
}

// logCallers are few, so that calls are hardly combined.
const logCallers = 8
