package resp

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

// shape is the limit of one call.
type shape struct{ burst, count, period int64 }

// limit is a shape, compiled.
type limit struct {
	shape
	policy *stint.Policy
	used   atomic.Int64 // the second of its last use
	gone   atomic.Bool  // another limit has its room
}

// touch notes that the limit is in use.
func (l *limit) touch(second int64) {
	if l.used.Load() != second {
		l.used.Store(second)
	}
}

// idleSeconds is how long a limit keeps its room without being used. A store has
// work with every new limit; this bounds it whatever clients send.
const idleSeconds = 60

// limits are the limits in use, at most most.
type limits struct {
	name string
	mode stint.FailureMode
	most int

	mu      sync.RWMutex
	known   map[shape]*limit
	scanned int64 // the second in which no idle limit was found
}

// get returns the limit of a shape.
func (l *limits) get(s shape, second int64) (*limit, error) {
	l.mu.RLock()
	found := l.known[s]
	l.mu.RUnlock()
	if found == nil {
		var err error
		if found, err = l.add(s, second); err != nil {
			return nil, err
		}
	}
	found.touch(second)
	return found, nil
}

func (l *limits) add(s shape, second int64) (*limit, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if found := l.known[s]; found != nil {
		return found, nil
	}
	if len(l.known) >= l.most && !l.makeRoom(second) {
		return nil, fmt.Errorf("%d different limits are in use, which is the most: one that is not used for %d s makes room",
			l.most, idleSeconds)
	}
	policy, err := compile(l.name, s)
	if err != nil {
		return nil, err
	}
	policy.OnStoreFailure = l.mode
	fresh := &limit{shape: s, policy: policy}
	fresh.used.Store(second)
	l.known[s] = fresh
	return fresh, nil
}

// makeRoom forgets the limits that are idle and says whether there were any.
func (l *limits) makeRoom(second int64) bool {
	if l.scanned == second {
		return false
	}
	for s, known := range l.known {
		if second-known.used.Load() > idleSeconds {
			known.gone.Store(true)
			delete(l.known, s)
		}
	}
	if len(l.known) >= l.most {
		l.scanned = second
		return false
	}
	return true
}

// compile turns a call's limit into a policy: a bucket that holds one more than
// max_burst.
func compile(name string, s shape) (*stint.Policy, error) {
	return stint.NewPolicy(name, stint.Limit{
		Count: s.count, Window: time.Duration(s.period) * time.Second, Burst: s.burst + 1,
	}, algo.TokenBucket)
}
