package resp

import (
	"errors"
	"fmt"
	"time"

	"github.com/stint-dev/stint"
)

// maxPeriod is the longest period in seconds.
const maxPeriod = int64(25_000 * 24 * time.Hour / time.Second)

// throttle answers CL.THROTTLE key max_burst count period [quantity].
func (c *conn) throttle(args [][]byte) {
	s, quantity, err := readThrottle(args)
	if err != nil {
		c.out.fail("ERR " + err.Error())
		return
	}
	l := c.last
	if l == nil || l.shape != s || l.gone.Load() {
		if l, err = c.server.limits.get(s, c.second); err != nil {
			c.out.fail("ERR " + err.Error())
			return
		}
		c.last = l
	} else {
		l.touch(c.second)
	}
	c.charge[0] = stint.Charge{Policy: l.policy, Key: args[1], Ask: stint.Ask{Cost: quantity}}
	if err := c.server.o.Limiter.Decide(c.server.ctx, c.charge[:], &c.decision); err != nil {
		c.unavailable(err)
		return
	}
	c.answer(s)
}

// unavailable answers where nobody could tell.
func (c *conn) unavailable(err error) {
	if f := c.server.o.OnError; f != nil {
		f(err)
	}
	c.out.fail("ERR the rate limiter is unavailable: its store does not answer")
}

// answer writes the five integers.
func (c *conn) answer(s shape) {
	d := &c.decision
	if d.Reason == stint.ReasonUnavailable {
		c.out.fail("ERR the rate limiter is unavailable: its store does not answer")
		return
	}
	limited, retry := int64(0), int64(-1)
	if !d.Allowed {
		limited = 1
		if d.RetryAfter != stint.Never {
			retry = max(1, seconds(d.RetryAfter))
		}
	}
	c.out.array(5)
	c.out.int(limited)
	c.out.int(s.burst + 1)
	c.out.int(d.Remaining)
	c.out.int(retry)
	c.out.int(seconds(d.ResetAfter))
}

// seconds is d in whole seconds, rounded up.
func seconds(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64((d-1)/time.Second) + 1
}

// readThrottle reads the arguments of a call.
func readThrottle(args [][]byte) (s shape, quantity int64, err error) {
	if len(args) < 5 || len(args) > 6 {
		return s, 0, errors.New("wrong number of arguments for 'cl.throttle' command: " +
			"write CL.THROTTLE key max_burst count period [quantity]")
	}
	if len(args[1]) > stint.MaxKey {
		return s, 0, fmt.Errorf("key of %d bytes: at most %d", len(args[1]), stint.MaxKey)
	}
	quantity = 1
	for i, into := range [...]*int64{&s.burst, &s.count, &s.period, &quantity} {
		if i+2 == len(args) {
			break
		}
		n, ok := integer(args[i+2])
		if low, high := rangeOf(i); !ok || n < low || n > high {
			return s, 0, fmt.Errorf("%s '%s' is not an integer or out of range: write %d to %d", nameOf(i), printable(args[i+2]), low, high)
		}
		*into = n
	}
	return s, quantity, nil
}

// nameOf is the i-th number's name.
func nameOf(i int) string {
	return [...]string{"max_burst", "count", "period", "quantity"}[i]
}

// rangeOf is what the i-th number may be. More than the bucket can hold is a
// quantity that is limited for ever, and no error.
func rangeOf(i int) (low, high int64) {
	switch i {
	case 0:
		return 0, stint.MaxUnits - 1
	case 1:
		return 1, stint.MaxUnits
	case 2:
		return 1, maxPeriod
	}
	return 0, 1<<63 - 1
}

// integer reads a whole number in decimal.
func integer(b []byte) (int64, bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	const most = 19
	if len(b) == 0 || len(b) > most {
		return 0, false
	}
	var n uint64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	if n > 1<<63-1 {
		return 0, false
	}
	if negative {
		return -int64(n), true
	}
	return int64(n), true
}
