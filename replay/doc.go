// Package replay puts the requests of access logs through rules, each at the
// time the log gives for it, and reports what would have been refused.
//
// Several logs are merged by their times, so that rotated files and those of
// several servers may come in any order. Within a log, lines that are out of
// order by up to [Disorder] are put in order; a line that is later than that is
// counted at its own time all the same, and the report says how many there were.
//
// # What a log does not tell
//
// Rules see of a request what its log has of it. The address is that of the
// peer, or what its X-Forwarded-For says where the peer is trusted. A header that
// the log does not record is absent, and the report names the rules that need
// one. A body is never there.
//
// # The smallest limit
//
// For each limit the report gives the smallest one, with the same window, the
// same algorithm and a burst in the same proportion, that would have refused at
// most 0.1 % and at most 1 % of the requests it was asked about. It is found by
// asking those again under other limits, as if the rule were alone, and is exact.
// For that the time and a number for the key of each charge are kept, about five
// bytes: up to [Options.MaxMemory] in memory, and the rest in a temporary file.
//
// # Bounds
//
// Memory does not grow with the log: buckets are bounded as in memstore, lines
// that wait for their order by [maxWaiting], the keys counted for each rule by
// [maxKeys], the keys told apart in the search for limits by [maxNumbered].
package replay
