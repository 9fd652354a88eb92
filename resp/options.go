package resp

import (
	"errors"
	"fmt"
	"time"

	"github.com/stint-dev/stint"
)

// The defaults of a Server.
const (
	DefaultName           = "resp"
	DefaultMaxConns       = 4096
	DefaultMaxLimits      = 256
	DefaultMaxPending     = 64 << 20
	DefaultIdleTimeout    = 10 * time.Minute
	DefaultCommandTimeout = 30 * time.Second
	DefaultWriteTimeout   = 30 * time.Second
)

// Options configure a Server. Only Limiter must be set.
type Options struct {
	// Limiter settles the charges.
	Limiter *stint.Limiter
	// Name is the policy under which all keys of CL.THROTTLE are counted. Empty means
	// [DefaultName].
	Name string
	// OnStoreFailure is what the policy wants while a shared store can not answer.
	OnStoreFailure stint.FailureMode

	// Password is what clients give to AUTH or HELLO. Empty asks for none.
	Password string

	// MaxConns is the most connections at once; further ones get an error. 0 means
	// [DefaultMaxConns]. A connection needs about 10 KiB, and 150 KiB at most.
	MaxConns int
	// MaxLimits is the most different limits (max_burst, count and period) in use. When
	// there are that many another one is answered with an error, until one of them was
	// not used for a minute. 0 means [DefaultMaxLimits]. With counts in memory more than
	// 400 are dear: a memory store goes through all its buckets whenever it has met 512.
	MaxLimits int
	// MaxPending is the most bytes of answers, over all connections, that clients have
	// asked for and do not read yet. When it is reached no more is read from those
	// clients. 0 means [DefaultMaxPending].
	MaxPending int64

	// IdleTimeout is how long a client may say nothing. 0 means
	// [DefaultIdleTimeout], below 0 for ever.
	IdleTimeout time.Duration
	// CommandTimeout is how long a client may take to send a command that it has
	// begun. 0 means [DefaultCommandTimeout].
	CommandTimeout time.Duration
	// WriteTimeout is how long a client may take to read some of the answers. 0 means
	// [DefaultWriteTimeout].
	WriteTimeout time.Duration

	// OnError, if set, is told of each failure of the limiter's store.
	OnError func(error)
}

// resolve puts the defaults in and says all that is wrong.
func (o Options) resolve() (Options, error) {
	var errs []error
	if o.Limiter == nil {
		errs = append(errs, errors.New("no limiter: set Options.Limiter"))
	}
	if len(o.Name) > stint.MaxName {
		errs = append(errs, fmt.Errorf("name of %d bytes: at most %d", len(o.Name), stint.MaxName))
	}
	if o.MaxConns < 0 || o.MaxLimits < 0 || o.MaxPending < 0 || o.CommandTimeout < 0 || o.WriteTimeout < 0 {
		errs = append(errs, errors.New("a maximum or a time-out is negative: leave it out for the default"))
	}
	switch o.OnStoreFailure {
	case "", stint.FailLocal, stint.FailAllow, stint.FailDeny:
	default:
		errs = append(errs, fmt.Errorf("on store failure %q: write local, allow or deny", o.OnStoreFailure))
	}
	orDefault(&o.Name, DefaultName)
	orDefault(&o.MaxConns, DefaultMaxConns)
	orDefault(&o.MaxLimits, DefaultMaxLimits)
	orDefault(&o.MaxPending, DefaultMaxPending)
	orDefault(&o.IdleTimeout, DefaultIdleTimeout)
	orDefault(&o.CommandTimeout, DefaultCommandTimeout)
	orDefault(&o.WriteTimeout, DefaultWriteTimeout)
	return o, errors.Join(errs...)
}

// orDefault sets v if it is zero.
func orDefault[T comparable](v *T, zero T) {
	var none T
	if *v == none {
		*v = zero
	}
}
