package redisstore

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestWorkersWaitAWhile: a worker without calls waits for more, makes those of any
// lane, and goes when none come, or when the store is closed.
func TestWorkersWaitAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		send := func(n int) {
			for range n {
				s.running.Add(1)
				s.crew.send(&lane{store: s, calls: 1})
			}
			synctest.Wait()
		}
		idle := func(want int) {
			t.Helper()
			s.crew.mu.Lock()
			defer s.crew.mu.Unlock()
			if got := len(s.crew.idle); got != want {
				t.Fatalf("%d workers wait, want %d", got, want)
			}
		}
		send(1)
		idle(1)
		first := s.crew.idle[0]
		time.Sleep(patience - 1)
		send(1)
		idle(1)
		if s.crew.idle[0] != first {
			t.Error("another worker was called, the first one was idle")
		}
		time.Sleep(patience - 1)
		idle(1)
		time.Sleep(2 * time.Nanosecond)
		synctest.Wait()
		idle(0)
		send(2 * mostIdle)
		if n := len(s.crew.idle); n == 0 || n > mostIdle {
			t.Errorf("%d workers wait, want at most %d", n, mostIdle)
		}
		s.Close()
		idle(0)
	})
}
