package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// answer is what came back to one question, which may hold several.
type answer struct {
	units, refused int
}

// asker asks one question, of one caller, and waits for the answer.
type asker func() (answer, error)

// subject is a server that is asked, by each of its callers one question after the
// other.
type subject struct {
	name    string
	pid     int // whose time counts
	store   int // the process it keeps counts in, 0 if that is itself
	callers []asker
	refused float64 // the part that is to be refused
}

// result is how a subject bore it. Costs are for each unit, times for each question.
type result struct {
	perSecond      float64
	p50, p99, p999 float64 // microseconds
	cpu, store     float64 // microseconds of processor time
	refused        float64 // part of all
}

// load is for how long subjects are asked, and at which rate: 0 is as fast as they
// answer.
type load struct {
	time time.Duration
	rate float64 // questions a second of all callers
}

// tally is what one caller has seen.
type tally struct {
	answer
	times   []time.Duration
	failure error
	_       [64]byte
}

// run asks s. An error of any answer ends it.
func (l load) run(s *subject) (result, error) {
	before, err := s.used()
	if err != nil {
		return result{}, err
	}
	tallies := make([]tally, len(s.callers))
	gap, n := l.gap(len(s.callers)), len(s.callers)
	begin := time.Now()
	end := begin.Add(l.time)
	var all sync.WaitGroup
	for i, ask := range s.callers {
		due := begin.Add(gap * time.Duration(i) / time.Duration(n))
		all.Go(func() { tallies[i].call(ask, due, end, gap) })
	}
	all.Wait()
	took := time.Since(begin)
	after, err := s.used()
	if err != nil {
		return result{}, err
	}
	r, err := sum(tallies)
	if err != nil {
		return result{}, err
	}
	if diff := r.refused - s.refused; diff < -0.001 || diff > 0.001 {
		return result{}, fmt.Errorf("%.1f %% were refused: want %.1f %%", 100*r.refused, 100*s.refused)
	}
	units := r.perSecond // so far the number
	r.perSecond = units / took.Seconds()
	r.cpu = micros(after[0]-before[0]) / units
	r.store = micros(after[1]-before[1]) / units
	return r, nil
}

// used is the processor time of a subject, and of where it keeps its counts.
func (s *subject) used() (all [2]time.Duration, err error) {
	if all[0], err = cpuOf(s.pid); err == nil && s.store != 0 {
		all[1], err = cpuOf(s.store)
	}
	return all, err
}

// gap is the time between the questions of one of so many callers.
func (l load) gap(callers int) time.Duration {
	if l.rate <= 0 {
		return 0
	}
	return time.Duration(float64(callers) / l.rate * float64(time.Second))
}

// call is one caller. With a gap between its questions it times each from when it was
// due, so that a late answer counts against those behind it too.
func (t *tally) call(ask asker, due, end time.Time, gap time.Duration) {
	for due.Before(end) {
		if gap > 0 {
			time.Sleep(time.Until(due))
		}
		a, err := ask()
		if err != nil {
			t.failure = err
			return
		}
		now := time.Now()
		t.units += a.units
		t.refused += a.refused
		t.times = append(t.times, now.Sub(due))
		if gap == 0 {
			due = now
		} else {
			due = due.Add(gap)
		}
	}
}

// sum merges what callers have seen. perSecond is the number of units yet.
func sum(tallies []tally) (result, error) {
	var all []time.Duration
	var a answer
	var errs []error
	for i := range tallies {
		t := &tallies[i]
		all = append(all, t.times...)
		a.units += t.units
		a.refused += t.refused
		errs = append(errs, t.failure)
	}
	if err := errors.Join(errs...); err != nil {
		return result{}, err
	}
	if a.units == 0 {
		return result{}, errors.New("nothing was answered")
	}
	slices.Sort(all)
	at := func(q float64) float64 { return micros(all[min(len(all)-1, int(q*float64(len(all))))]) }
	return result{
		perSecond: float64(a.units), p50: at(0.5), p99: at(0.99), p999: at(0.999),
		refused: float64(a.refused) / float64(a.units),
	}, nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
