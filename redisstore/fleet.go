package redisstore

import (
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	randv2 "math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

//go:embed fleet.lua
var fleetScript string

// fleetKey follows the prefix in the name of the key that keeps who is there. It is
// the name of no bucket: behind a tag that has the length of a policy's name.
const fleetKey = "{fleet}"

// Bounds of what a heartbeat may be.
const (
	// DefaultBeat is how often a member of a fleet says that it is there.
	DefaultBeat = 2 * time.Second
	minBeat     = time.Millisecond
	maxBeat     = time.Minute
	// missed is how many beats may stay away before a member no longer counts.
	missed = 3
)

// FleetOptions say how a store takes part in a fleet. The zero value is the default.
type FleetOptions struct {
	// Every is the time between two beats; up to a tenth is added or taken away. From
	// a millisecond to a minute, 0 means DefaultBeat.
	Every time.Duration
	// Changed, if set, is told of another size; and with an error, once, when Redis does
	// not tell it any longer, which leaves the size as it was. It is called on the way
	// of the heartbeat, one call at a time, and must not call Close.
	Changed func(size int, err error)
}

// Fleet counts the servers that share the buckets of a store, for what each of them
// allows by itself while the store fails. Each member says every two seconds or so that
// it is there, and is told how many are; who has not been heard of for three times as
// long does not count. It goes by the clock of Redis.
//
// No decision waits for a heartbeat. A heartbeat that fails is not a failure of the
// store to anybody: the size stays as it was.
type Fleet struct {
	store  *Store
	key    string
	member string
	every  time.Duration
	told   func(int, error)

	size  atomic.Int64
	stop  chan struct{}
	done  chan struct{}
	close sync.Once

	beaten bool      // once at least
	failed bool      // the last beat
	held   time.Time // until when the size does not shrink
}

// Join makes the store a member of the fleet of all stores with the same prefix in
// the same Redis. Close the fleet before the store.
func (s *Store) Join(o FleetOptions) (*Fleet, error) {
	setDefault(&o.Every, DefaultBeat)
	if o.Every < minBeat || o.Every > maxBeat {
		return nil, fmt.Errorf("a heartbeat every %v: from %v to %v", o.Every, minBeat, maxBeat)
	}
	f := &Fleet{
		store: s, key: s.options.Prefix + fleetKey, member: rand.Text(), every: o.Every, told: o.Changed,
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	f.size.Store(1)
	go f.run()
	return f, nil
}

// Size is how many servers there are, as far as Redis has told. It is at least 1,
// this one.
func (f *Fleet) Size() int { return int(f.size.Load()) }

// Close leaves the fleet. It does not need Redis to answer; where Redis hangs, it
// takes until the connection is given up.
func (f *Fleet) Close() {
	f.close.Do(func() { close(f.stop) })
	<-f.done
}

// run beats until the fleet is closed.
func (f *Fleet) run() {
	defer close(f.done)
	for {
		f.beat()
		wait := time.NewTimer(f.every*9/10 + randv2.N(f.every/5+1))
		select {
		case <-f.stop:
			wait.Stop()
			f.leave()
			return
		case <-wait.C:
		}
	}
}

// beat says that this server is there, and notes how many are.
//
// Who finds that it was not there itself, though it should have been, finds a fleet
// that has to gather again: Redis was away for long, or has lost its keys. Until the
// others have been heard of, the size does not shrink.
func (f *Fleet) beat() {
	reply, err := f.ask(func(c rueidis.Client) rueidis.Completed {
		counts := strconv.FormatInt((missed * f.every).Milliseconds(), 10)
		most := strconv.FormatInt((missed * maxBeat).Milliseconds(), 10)
		return c.B().Eval().Script(fleetScript).Numkeys(1).Key(f.key).Arg(f.member, counts, most).Build()
	}).AsIntSlice()
	if err == nil && (len(reply) != 2 || reply[1] < 1) {
		err = errAnswer
	}
	if err != nil {
		f.fail(err)
		return
	}
	now, before := time.Now(), f.size.Load()
	if isNew := reply[0] == 1; isNew && f.beaten {
		f.held = now.Add(missed * f.every)
	}
	again := f.failed
	f.beaten, f.failed = true, false
	size := reply[1]
	if now.Before(f.held) {
		size = max(size, before)
	}
	if f.size.Store(size); size != before || again {
		f.tell(nil)
	}
}

// fail notes a beat that failed.
func (f *Fleet) fail(err error) {
	if f.failed {
		return
	}
	f.failed = true
	if !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrClosed) {
		err = unavailable(err)
	}
	f.tell(err)
}

func (f *Fleet) tell(err error) {
	if f.told != nil {
		f.told(f.Size(), err)
	}
}

// leave says that this server is gone. Where that fails, its time runs out.
func (f *Fleet) leave() {
	if f.failed {
		return
	}
	f.ask(func(c rueidis.Client) rueidis.Completed {
		return c.B().Zrem().Key(f.key).Member(f.member).Build()
	})
}

// ask sends a command by the connection of the decisions, on which it is one more. It
// ends when Redis answers, or when the connection is given up.
func (f *Fleet) ask(command func(rueidis.Client) rueidis.Completed) rueidis.RedisResult {
	c, err := f.store.link.client()
	if err != nil {
		return rueidis.NewErrorResult(err)
	}
	return do(c, command(c))
}
