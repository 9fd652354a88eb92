package accesslog

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	maxLine       = 1 << 20
	byteOrderMark = "\ufeff"
)

// Options says how a log is read. The zero Options is the default.
type Options struct {
	MaxLine  int            // The longest line in bytes, without its end; 0 means 1 MiB.
	Location *time.Location // Where a time without an offset was written; nil means UTC.
}

// Reader reads the requests of one access log. It reads ahead, and is not for use by
// several goroutines at once.
type Reader struct {
	lines lines
	where *time.Location
	line  int
	err   error
}

// NewReader returns a Reader of r, which may be gzipped. It reads nothing yet. The caller
// closes what has to be closed.
func NewReader(r io.Reader, o Options) *Reader {
	if o.MaxLine <= 0 {
		o.MaxLine = maxLine
	}
	return &Reader{lines: lines{src: &plain{src: r}, max: o.MaxLine}, where: o.Location}
}

// Read reads the next line into e, which it overwrites. It returns nil where e is a
// request; a *LineError where the line is not, after which reading goes on; io.EOF at the
// end; and any other error where the log cannot be read further, such as a gzip file that
// was cut off: what was read until then stands. The last two are returned again from then on.
//
// A request that the server answered though it was no HTTP, such as a TLS hello on a plain
// port, is a request with an empty Method and Path.
func (r *Reader) Read(e *Entry) error {
	e.reset()
	if r.err != nil {
		return r.err
	}
	line, fits, err := r.lines.next()
	if err != nil {
		r.err = r.failed(err)
		return r.err
	}
	r.line++
	reason := TooLong
	if fits {
		reason = r.parse(e, line)
	}
	if reason == readable {
		return nil
	}
	e.reset()
	return &LineError{Line: r.line, Reason: reason, Text: excerpt(line)}
}

// Line returns the number of lines read so far, which is the number of the last one.
func (r *Reader) Line() int { return r.line }

func (r *Reader) failed(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return fmt.Errorf("access log, after line %d: %w", r.line, err)
}

func (r *Reader) parse(e *Entry, line string) Reason {
	line = strings.Trim(strings.TrimPrefix(line, byteOrderMark), " \t\r")
	switch {
	case line == "":
		return Empty
	case line[0] == '{':
		return parseJSON(e, line, r.where)
	}
	return parseText(e, line, r.where)
}
