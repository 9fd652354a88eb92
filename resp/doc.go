// Package resp is the door for Redis clients: a server that speaks the Redis
// protocol and answers one command of interest,
//
//	CL.THROTTLE key max_burst count period [quantity]
//
// with five integers, as the module redis-cell does: whether the request is limited
// (0 or 1), the most that can be there at once (max_burst + 1), what remains, the
// seconds until a retry (-1 if not limited or if no wait helps) and the seconds
// until nothing is used any more. Seconds are rounded up. So any program with a
// Redis client can ask.
//
// The limit comes with each call and its counts belong to the key: with another
// limit the use so far is carried over. All intervals are exact, also those below a
// millisecond; what can not be counted exactly is an error. A quantity of 0 looks
// and takes nothing: it is never limited.
//
// Any number of limits may be in use. The counts of a key have a name in the store
// that comes from the key, one of 128, so that they stay when its limit changes and no
// name meets too many limits. Calls of one pipeline are decided together where the
// store takes its time, those with one key in their order.
//
// The parser is this package's own. The library that was considered, redcon, takes
// commands of any size, copies each of them, and scans half a command from its
// beginning with every read: a client chooses how much memory and time that is.
package resp
