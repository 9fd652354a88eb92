package main

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// line is one that was written.
type line struct {
	at      time.Duration
	state   int
	changes int
}

// flapper tells a damped of states, each another one.
type flapper struct {
	damped
	began time.Time
	state int
	lines []line
}

func newFlapper() *flapper { return &flapper{began: time.Now()} }

func (f *flapper) change() {
	f.state++
	now := f.state
	f.tell(func(changes int) { f.lines = append(f.lines, line{time.Since(f.began), now, changes}) })
}

// check says what is wrong with the lines: all changes are told of, the last line
// tells of the last one, and there are at most so many.
func (f *flapper) check(t *testing.T, most int) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	told := 0
	for _, l := range f.lines {
		told += l.changes
	}
	if last := f.lines[len(f.lines)-1]; told != f.state || last.state != f.state || len(f.lines) > most {
		t.Errorf("%d lines tell of %d of %d changes, the last one of the %d.: %v", len(f.lines), told, f.state, last.state, f.lines)
	}
}

// TestAFlappingStore is told of in few lines, however often it changes in ten
// minutes, and the truth stands in the log thirty seconds after it came about.
func TestAFlappingStore(t *testing.T) {
	for _, longest := range []time.Duration{time.Millisecond, time.Second, 10 * time.Second, 40 * time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			f, r := newFlapper(), rand.New(rand.NewPCG(5, 6))
			for time.Since(f.began) < 10*time.Minute-longest {
				f.change()
				time.Sleep(time.Duration(r.Int64N(int64(longest))) + 1)
			}
			if longest > time.Millisecond {
				time.Sleep(dampedEvery)
			} else {
				f.flush()
			}
			synctest.Wait()
			f.check(t, 25)
		})
	}
}

// TestAQuietStore: its failure and its recovery are told of at once, and those of
// another time too.
func TestAQuietStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFlapper()
		for range 3 {
			f.change()
			time.Sleep(5 * time.Second)
			f.change()
			if n := len(f.lines); n == 0 || f.lines[n-1] != (line{time.Since(f.began), f.state, 1}) {
				t.Fatalf("after %v and %d changes: %v", time.Since(f.began), f.state, f.lines)
			}
			time.Sleep(time.Minute)
		}
		f.change()
		f.change()
		f.change()
		f.change()
		f.holds(t, 8, 2)
		time.Sleep(dampedEvery - time.Nanosecond)
		f.holds(t, 8, 2)
		time.Sleep(2 * time.Nanosecond)
		f.check(t, 9)
	})
}

// holds says how many lines there are and how many changes are held back.
func (f *flapper) holds(t *testing.T, lines, held int) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.lines) != lines || f.held != held {
		t.Errorf("%d lines, %d changes held back, want %d and %d", len(f.lines), f.held, lines, held)
	}
}
