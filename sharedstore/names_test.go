package sharedstore

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// nameServer is what one says, one answer after the other; the last one again and
// again. One without addresses is an error, a nil one hangs.
type nameServer [][]string

func (a *nameServer) lookup(ctx context.Context, _ string) ([]string, error) {
	now := (*a)[0]
	if len(*a) > 1 {
		*a = (*a)[1:]
	}
	switch {
	case now == nil:
		<-ctx.Done()
		return nil, ctx.Err()
	case len(now) == 1 && now[0] == "":
		return nil, errors.New("no such host")
	}
	return now, nil
}

// TestServersAreCountedByAName, and the last answer is kept.
func TestServersAreCountedByAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := nameServer{{""}, {"10.0.0.1", "10.0.0.2", "10.0.0.3"}, {"10.0.0.1"}, nil, {""}, {}, {"10.0.0.1", "fd00::1", "10.0.0.2", "fd00::2", "10.0.0.2"}}
		var told []FleetChange
		s := &Store{fleet: Fleet{DNS: "stint-headless", AtLeast: 2}}
		s.names = countNames("stint-headless", said.lookup, func(c FleetChange) { told = append(told, c) })
		for i, want := range []int{2, 3, 2, 2, 2, 2, 2} {
			synctest.Wait()
			if got := s.FleetSize(); got != want {
				t.Errorf("after answer %d: %d servers, want %d", i+1, got, want)
			}
			time.Sleep(lookUpEvery)
		}
		time.Sleep(time.Minute)
		s.names.close()
		for i, want := range []struct {
			servers int
			failed  bool
		}{{0, true}, {3, false}, {1, false}, {1, true}, {2, false}} {
			if i >= len(told) || told[i].Servers != want.servers || (told[i].Err != nil) != want.failed || told[i].DNS != "stint-headless" {
				t.Fatalf("told %+v; want %+v as number %d", told, want, i)
			}
		}
		if len(told) > 5 {
			t.Errorf("told %d times: %+v", len(told), told)
		}
	})
}

// TestNoDecisionWaitsForAName: a name server that hangs holds up neither the size nor
// the end.
func TestNoDecisionWaitsForAName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := nameServer{nil}
		s := &Store{fleet: Fleet{DNS: "stint-headless", AtLeast: 4}}
		s.names = countNames("stint-headless", said.lookup, func(FleetChange) {})
		begun := time.Now()
		if n := s.FleetSize(); n != 4 {
			t.Errorf("%d servers, want 4", n)
		}
		s.names.close()
		if d := time.Since(begun); d != 0 {
			t.Errorf("it took %v", d)
		}
	})
}

func TestFleetSize(t *testing.T) {
	for _, one := range []struct {
		given Fleet
		named int64
		want  int
	}{
		{Fleet{}, 0, 1},
		{Fleet{Servers: 3}, 7, 3},
		{Fleet{AtLeast: 3}, 0, 3},
		{Fleet{AtLeast: 3}, 2, 3},
		{Fleet{AtLeast: 3}, 5, 5},
	} {
		s := &Store{fleet: one.given, names: new(names)}
		s.names.size.Store(one.named)
		if s.FleetSize() != one.want {
			t.Errorf("%+v, %d by name: %d, want %d", one.given, one.named, s.FleetSize(), one.want)
		}
	}
}
