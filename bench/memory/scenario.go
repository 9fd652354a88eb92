package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/stint-dev/stint/bench/field"
	"github.com/stint-dev/stint/bench/measure"
)

const (
	// workers is the number of goroutines of a parallel scenario.
	workers = 32
	// turn is about how long one subject is measured before the next one.
	turn = 5 * time.Millisecond
	year = 365 * 24 * time.Hour
)

var (
	// plenty is never used up, and leaves every bucket in use all the time.
	plenty = field.Quota{Count: 1_000_000_000, Window: time.Hour}
	// spent is used up by one request.
	spent = field.Quota{Count: 1, Window: year}
	// slow keeps a bucket in use for half a minute after a single request, so that
	// nobody may forget it during a scenario, and is never used up either.
	slow = field.Quota{Count: 1_000_000, Window: year}
)

// oneKey measures one key in short turns.
func oneKey(rounds, workers int, q field.Quota) func() (*measure.Rounds, error) {
	return func() (*measure.Rounds, error) {
		var subjects []measure.Subject
		for _, e := range field.Entries() {
			if e.Blocks && q == spent {
				continue
			}
			l := e.Open(q)
			defer l.Close()
			s, err := oneKeySubject(e, l, workers, q)
			if err != nil {
				return nil, err
			}
			subjects = append(subjects, s)
		}
		return measure.Alternate(rounds, subjects), nil
	}
}

// oneKeySubject finds how many operations fill a turn.
func oneKeySubject(e field.Entry, l field.Limiter, workers int, q field.Quota) (measure.Subject, error) {
	const key = "198.51.100.7"
	if !l.Allow(key) {
		return measure.Subject{}, fmt.Errorf("%s refuses the first request", e.Name)
	}
	if q == spent && l.Allow(key) {
		return measure.Subject{}, fmt.Errorf("%s allows more than its limit", e.Name)
	}
	loop := func(n int) {
		for range n {
			l.Allow(key)
		}
	}
	const probe = 5000
	start := time.Now()
	loop(probe)
	each := max(int(probe*turn/max(time.Since(start), 1))/workers, 100)
	return measure.Subject{Name: e.Name, Run: func() measure.Sample {
		return measure.Of(each*workers, workers, func(int) { loop(each) })
	}}, nil
}

// names makes n keys in one allocation.
func names(n int) []string {
	var all []byte
	ends := make([]int, n)
	for i := range n {
		all = append(all, "198.51.100."...)
		all = strconv.AppendInt(all, int64(i), 10)
		ends[i] = len(all)
	}
	text, keys, start := string(all), make([]string, n), 0
	for i, end := range ends {
		keys[i], start = text[start:end], end
	}
	return keys
}

// fill asks for each key once, from all workers, each a part of them.
func fill(l field.Limiter, keys []string) error {
	var refused atomic.Int64
	measure.Of(len(keys), workers, func(w int) {
		for i := w; i < len(keys); i += workers {
			if !l.Allow(keys[i]) {
				refused.Add(1)
			}
		}
	})
	if n := refused.Load(); n > 0 {
		return fmt.Errorf("%d of %d new keys refused", n, len(keys))
	}
	return nil
}

// zipfKeys fills everyone beforehand and then measures in turns. The collector is
// off meanwhile: with the buckets of the whole field in one heap, whoever
// allocates would pay for all.
func zipfKeys(rounds, n int) func() (*measure.Rounds, error) {
	return func() (*measure.Rounds, error) {
		keys, order := names(n), zipf(n, 1<<20)
		var subjects []measure.Subject
		for _, e := range field.Entries() {
			if !e.Keyed {
				continue
			}
			l := e.Open(slow)
			defer l.Close()
			if err := fill(l, keys); err != nil {
				return nil, fmt.Errorf("%s: %w", e.Name, err)
			}
			subjects = append(subjects, zipfSubject(e.Name, l, keys, order))
		}
		runtime.GC()
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
		return measure.Alternate(rounds, subjects), nil
	}
}

func zipfSubject(name string, l field.Limiter, keys []string, order []uint32) measure.Subject {
	const each = 2048
	start := 0
	return measure.Subject{Name: name, Run: func() measure.Sample {
		from := start
		start += each * workers
		return measure.Of(each*workers, workers, func(w int) {
			at := from + w*each
			for i := range each {
				l.Allow(keys[order[(at+i)%len(order)]])
			}
		})
	}}
}

// zipf draws count numbers below n.
func zipf(n, count int) []uint32 {
	z := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 1, uint64(n-1))
	order := make([]uint32, count)
	for i := range order {
		order[i] = uint32(z.Uint64())
	}
	return order
}

// newKeys measures a fresh limiter in each turn, with the collector on.
func newKeys(rounds, n int) func() (*measure.Rounds, error) {
	return func() (*measure.Rounds, error) {
		keys := names(n)
		var subjects []measure.Subject
		for _, e := range field.Entries() {
			if e.Keyed {
				subjects = append(subjects, measure.Subject{Name: e.Name, Run: func() measure.Sample {
					l := e.Open(slow)
					defer l.Close()
					runtime.GC()
					return measure.Of(n, workers, func(w int) {
						for i := w; i < n; i += workers {
							l.Allow(keys[i])
						}
					})
				}})
			}
		}
		return measure.Alternate(rounds, subjects), nil
	}
}
