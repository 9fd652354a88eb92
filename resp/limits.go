package resp

import (
	"errors"
	"fmt"
	"hash/crc32"
	"sync"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/algo"
)

// names is how many names of counters there are. A store has work with every limit
// that a name meets, so that many limits need several names; the counts of a key
// stay when its limit changes, so that the name comes from the key.
const names = 128

// shape is the limit of one call.
type shape struct{ burst, count, period int64 }

// limit is what a key is counted under: a shape and the number of a name.
type limit struct {
	shape
	name uint8
}

// nameOf is the number of the name under which a key is counted. All servers of a
// shared store find the same one.
func nameOf(key []byte) uint8 { return uint8(crc32.ChecksumIEEE(key) % names) }

// limits are the policies of the limits that were used last. Those that are
// forgotten lose nothing: the counts have the names of their keys.
type limits struct {
	prefix string
	mode   stint.FailureMode
	most   int // of either generation

	mu    sync.RWMutex
	young map[limit]*stint.Policy
	old   map[limit]*stint.Policy // the young of before; one that is used is young again
}

func newLimits(o *Options) limits {
	return limits{
		prefix: o.Name, mode: o.OnStoreFailure, most: max(1, o.MaxLimits/2),
		young: make(map[limit]*stint.Policy),
	}
}

// get returns the policy of a limit.
func (l *limits) get(k limit) (*stint.Policy, error) {
	l.mu.RLock()
	p := l.young[k]
	l.mu.RUnlock()
	if p != nil {
		return p, nil
	}
	return l.add(k)
}

func (l *limits) add(k limit) (*stint.Policy, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.young[k]
	if p != nil {
		return p, nil
	}
	if p = l.old[k]; p == nil {
		var err error
		if p, err = l.compile(k); err != nil {
			return nil, err
		}
	}
	if len(l.young) >= l.most {
		l.young, l.old = make(map[limit]*stint.Policy), l.young
	}
	l.young[k] = p
	return p, nil
}

// known is how many limits are remembered, some of them twice.
func (l *limits) known() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.young) + len(l.old)
}

// compile turns a call's limit into a policy: a bucket that holds one more than
// max_burst.
func (l *limits) compile(k limit) (*stint.Policy, error) {
	p, err := stint.NewPolicy(fmt.Sprintf("%s/%02x", l.prefix, k.name), stint.Limit{
		Count: k.count, Window: time.Duration(k.period) * time.Second, Burst: k.burst + 1,
	}, algo.TokenBucket)
	if err != nil {
		if cause := errors.Unwrap(err); cause != nil {
			err = cause // The name means nothing to a client.
		}
		return nil, err
	}
	p.OnStoreFailure = l.mode
	return p, nil
}
