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
	DefaultMaxLimits      = 65536
	DefaultMaxPending     = 64 << 20
	DefaultIdleTimeout    = 10 * time.Minute
	DefaultCommandTimeout = 30 * time.Second
	DefaultWriteTimeout   = 30 * time.Second
)

// Options configure a Server. Only Limiter must be set.
type Options struct {
	// Limiter settles the charges.
	Limiter *stint.Limiter
	// Name is the policy under which all keys of CL.THROTTLE are counted, as the
	// limiter's Observe is told. In a store its counters have 128 names that begin with
	// it and a slash. Empty means [DefaultName].
	Name string
	// OnStoreFailure is what the policy wants while a shared store can not answer.
	OnStoreFailure stint.FailureMode

	// Password is what clients give to AUTH or HELLO. Empty asks for none.
	Password string

	// MaxConns is the most connections at once; further ones get an error. 0 means
	// [DefaultMaxConns]. A connection needs about 10 KiB, and 150 KiB at most.
	MaxConns int
	// MaxLimits is how many limits (max_burst, count and period) are remembered, each as
	// often as it meets another of 128 groups of keys. More may be in use: a limit that
	// was forgotten is prepared again and counts go on. One needs about 500 bytes. 0
	// means [DefaultMaxLimits].
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
	if most := stint.MaxName - len("/00"); len(o.Name) > most {
		errs = append(errs, fmt.Errorf("name of %d bytes: at most %d", len(o.Name), most))
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
