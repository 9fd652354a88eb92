package redisstore

import "errors"

// ErrNewer means that the key of a bucket holds a value of a layout that this release
// does not know, because a newer one wrote it. Nothing of the request was written, and
// the count there is as it was.
var ErrNewer = errors.New("the key holds a bucket of a newer release: it counts where that release is asked")

// version is the first byte of a value less what tells its algorithm: another
// layout of values gets another one. Numbers are little-endian; a value is
//
//	1 byte   version + 2 × the number of the twin, + 1 if the rest is wide
//	5 bytes  the moment up to which Redis surely keeps the key, in seconds
//	7 bytes  the instant of the last charge, in microseconds; not in a log
//	         what is used, then the count before if the algorithm has one, then the
//	         params it was counted under, as many as the algorithm cannot compute:
//	         in 15 bytes or less, or, where one does not fit, in 7 bytes each
//
// so that the value of the usual bucket is at most 28 bytes: with 20 that Redis
// adds it takes 48.
//
// Of logs, which have no narrow values, the even first byte begins a value of logFormat.
// The odd one is that of the first release, whose logs end in pairs of an instant and a
// cost; it is read, and written as logFormat.
const version = 0x40

// debtFormat is how the debt that is kept beside a bucket stands behind all of that:
// its instant, what was owed, and how it is forgiven.
const debtFormat = "<I7I7I7I7I7"

// logFormat is how the value of a log begins: the first byte, 1 if a debt follows;
// until when Redis keeps it, the limit, the window; how many slots the ring behind all
// that has, which is the first entry's and how many there are; the sum of the costs up
// to the first entry, the instants of the first and the last, and the sum up to the last.
const logFormat = "<BBI5I3I7I3I3I3I7I7I7I7"

// window is how many bytes of a log are read at once: its head and some entries.
const window = 256

// newer is the first of the 64 first bytes that are left to layouts of releases to
// come. No text in UTF-8 begins with one.
const newer = 0x80
