package redisstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"
)

var (
	// ErrUnavailable is in every error that means that Redis can not tell now: it is
	// not there, did not answer in time, or said that it can not do it.
	ErrUnavailable = errors.New("redis is unavailable")
	// ErrForeign means that the key of a bucket holds something else: a value of
	// another type, or bytes that are no bucket. Nothing of the request was written.
	ErrForeign = errors.New("the key holds something that is not a bucket")
	// ErrClosed means that the store has been closed.
	ErrClosed = errors.New("the store is closed")
)

// errOverloaded is the cause of an ErrUnavailable.
var errOverloaded = errors.New("too many requests wait for an answer")

// errElsewhere is the cause of an ErrUnavailable: the connection was given up, since
// another one to the same address may reach another server.
var errElsewhere = errors.New("connects again, since the server says")

// unavailable wraps the cause of a failure. Causes come from the network or from
// Redis; neither knows a password.
func unavailable(cause error) error {
	if errors.Is(cause, rueidis.ErrClosing) {
		return fmt.Errorf("%w: %w", ErrUnavailable, errors.New("not connected"))
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, cause)
}

// errScript means that the script could not go on with what it found under the keys of
// a call. It is about them, not about Redis: one damaged value must not keep the
// decisions about all others away from it.
var errScript = errors.New("the script failed on a bucket")

// isOfCharges says whether an error is about the charges of a request: Redis has
// answered.
func isOfCharges(err error) bool {
	return errors.Is(err, ErrForeign) || errors.Is(err, ErrNewer) || errors.Is(err, errDiffers) || errors.Is(err, errScript)
}

// isScriptFault says whether an error is one of Lua itself. What a command refuses that
// a script calls begins with the code of the refusal.
func isScriptFault(err error) bool {
	var e *rueidis.RedisError
	return errors.As(err, &e) && strings.HasPrefix(strings.TrimPrefix(e.Error(), "ERR "), "user_script:")
}

// isNoScript says whether Redis does not know the script.
func isNoScript(err error) bool {
	return refusedWith(err, "NOSCRIPT")
}

// isTryAgain says whether a cluster has only a part of the keys where it was asked.
func isTryAgain(err error) bool {
	return refusedWith(err, "TRYAGAIN")
}

func refusedWith(err error, code string) bool {
	if err == nil {
		return false
	}
	var e *rueidis.RedisError
	return errors.As(err, &e) && strings.HasPrefix(e.Error(), code)
}
