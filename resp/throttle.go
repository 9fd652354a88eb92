package resp

import (
	"errors"
	"fmt"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/ratefields"
)

// maxPeriod is the longest period in seconds.
const maxPeriod = int64(25_000 * 24 * time.Hour / time.Second)

// call is one CL.THROTTLE, from its arguments to its answer.
type call struct {
	burst    int64
	fault    error // what is wrong with the arguments
	charge   [1]stint.Charge
	decision stint.Decision
	err      error // nobody could decide
	next     int   // the next call of the batch with the same key, 0 if there is none
}

// throttle answers CL.THROTTLE key max_burst count period [quantity].
func (c *conn) throttle(args [][]byte) {
	c.prepare(&c.call, args)
	c.server.decide(&c.call)
	c.answer(&c.call)
}

// prepare reads the arguments of a call.
func (c *conn) prepare(k *call, args [][]byte) {
	s, quantity, err := readThrottle(args)
	if err == nil {
		if l := (limit{s, nameOf(args[1])}); c.policy == nil || c.last != l {
			var p *stint.Policy
			if p, err = c.server.limits.get(l); err == nil {
				c.last, c.policy = l, p
			}
		}
	}
	if k.fault, k.err = err, nil; err != nil {
		return
	}
	k.burst = s.burst
	k.charge[0] = stint.Charge{Policy: c.policy, Key: args[1], Ask: stint.Ask{Cost: quantity}}
}

// decide asks about a call.
func (s *Server) decide(k *call) {
	if k.fault != nil {
		return
	}
	k.err = s.limiter.Decide(s.ctx, k.charge[:], &k.decision)
	if k.err != nil && s.o.OnError != nil {
		s.o.OnError(k.err)
	}
}

// answer writes the five integers, or what is wrong.
func (c *conn) answer(k *call) {
	d := &k.decision
	switch {
	case k.fault != nil:
		c.out.fail("ERR " + k.fault.Error())
		return
	case k.err != nil || d.Reason == stint.ReasonUnavailable:
		c.out.fail("ERR the rate limiter is unavailable: its store does not answer")
		return
	}
	limited, retry := int64(0), int64(-1)
	if !d.Allowed && d.Cost > 0 { // Nothing always fits.
		limited = 1
		if d.RetryAfter != stint.Never {
			retry = max(1, ratefields.Seconds(d.RetryAfter))
		}
	}
	c.out.array(5)
	c.out.int(limited)
	c.out.int(k.burst + 1)
	c.out.int(d.Remaining)
	c.out.int(retry)
	c.out.int(ratefields.Seconds(d.ResetAfter))
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
			return s, 0, fmt.Errorf("%s '%s' is not an integer or out of range: write %d to %d", wordOf(i), printable(args[i+2]), low, high)
		}
		*into = n
	}
	return s, quantity, nil
}

// wordOf is the i-th number's name.
func wordOf(i int) string {
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
