package accesslog

import (
	"bytes"
	"errors"
	"io"
	"strings"
)

const (
	chunk      = 64 << 10
	maxUseless = 100 // Reads that bring neither bytes nor an error before a source is given up.
)

// lines cuts a source into lines. Bytes are read into one buffer; whole lines leave it as
// one string, of which each line is a part: that is one allocation for a chunk, none for a
// line, and no line is ever overwritten.
type lines struct {
	src   io.Reader
	max   int
	block string // Whole lines, each with its end, not yet returned.
	buf   []byte // What was read after them.
	seen  int    // So much of buf holds no line end.
	long  string // The beginning of a line that was too long, while its rest is skipped.
	err   error
}

// next returns the next line without its end. A line that is too long is returned as its
// beginning, with fits false. A line that is cut off by an error other than io.EOF is not
// returned.
func (l *lines) next() (line string, fits bool, err error) {
	for l.block == "" {
		if line, ok := l.fill(); ok {
			return line, false, nil
		}
		if l.block == "" && l.err != nil {
			return "", false, l.err
		}
	}
	line, l.block, _ = strings.Cut(l.block, "\n")
	line = strings.TrimSuffix(line, "\r")
	return line, len(line) <= l.max, nil
}

// fill moves whole lines from the source to l.block, or returns the beginning of a line
// that turned out to be too long, once it has ended. It sets l.err at the end.
func (l *lines) fill() (long string, ok bool) {
	for {
		if i := bytes.IndexByte(l.buf[l.seen:], '\n'); i >= 0 && l.long != "" {
			return l.endLong(l.seen + i + 1), true
		}
		if i := bytes.LastIndexByte(l.buf[l.seen:], '\n'); i >= 0 {
			l.take(l.seen + i + 1)
			return "", false
		}
		l.seen = len(l.buf)
		if l.long != "" || len(l.buf) > l.max+len("\r") {
			l.skip()
		}
		if l.err == nil {
			l.more()
		} else {
			return l.last()
		}
	}
}

// last deals with what stands after the last line end.
func (l *lines) last() (long string, ok bool) {
	if l.long != "" {
		return l.endLong(len(l.buf)), true
	}
	if errors.Is(l.err, io.EOF) {
		l.take(len(l.buf))
	}
	return "", false
}

func (l *lines) take(n int) {
	l.block = string(l.buf[:n])
	l.drop(n)
}

func (l *lines) drop(n int) {
	l.buf = l.buf[:copy(l.buf, l.buf[n:])]
	l.seen = 0
}

func (l *lines) skip() {
	if l.long == "" {
		l.long = string(l.buf[:min(len(l.buf), 2*maxExcerpt)])
	}
	l.drop(len(l.buf))
}

func (l *lines) endLong(n int) string {
	long := l.long
	l.long = ""
	l.drop(n)
	return long
}

// more reads up to a chunk behind what is there.
func (l *lines) more() {
	n := len(l.buf)
	if cap(l.buf) < n+chunk {
		grown := make([]byte, n, max(2*n, n)+chunk)
		copy(grown, l.buf)
		l.buf = grown
	}
	for range maxUseless {
		read, err := l.src.Read(l.buf[n : n+chunk])
		l.buf, l.err = l.buf[:n+read], err
		if read > 0 || err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}
