package replay

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stint-dev/stint/internal/accesslog"
)

// MaxLogs is the most logs that can be replayed together.
const MaxLogs = 256

// maxSamples is how many of the lines that could not be read are shown.
const maxSamples = 5

// Log is one access log.
type Log struct {
	// Name is what the report calls it.
	Name string
	// Reader gives its bytes, which may be gzipped. It stays the caller's to close.
	Reader io.Reader
}

// stream reads one log.
type stream struct {
	name   string
	reader *accesslog.Reader
	index  int
	head   *accesslog.Entry // the next line; nil at the end
}

// merge reads several logs as one, by the times of their next lines.
type merge struct {
	heads  heap[*stream]
	order  *order
	report *Report
	failed []error
}

func newMerge(logs []Log, where *time.Location, report *Report) *merge {
	m := &merge{order: newOrder(), report: report}
	m.heads.less = func(a, b *stream) bool {
		if c := a.head.Time.Compare(b.head.Time); c != 0 {
			return c < 0
		}
		return a.index < b.index
	}
	for i, log := range logs {
		s := &stream{name: log.Name, index: i, reader: accesslog.NewReader(log.Reader, accesslog.Options{Location: where})}
		if m.advance(s); s.head != nil {
			m.heads.push(s)
		}
	}
	return m
}

// next returns the next line in order, nil at the end. The line is valid until
// the call after it, to which it is passed back.
func (m *merge) next(used *accesslog.Entry) *accesslog.Entry {
	if used != nil {
		m.order.free(used)
	}
	for {
		if e := m.order.next(len(m.heads.items) == 0); e != nil {
			return e
		}
		if len(m.heads.items) == 0 {
			return nil
		}
		s := m.heads.items[0]
		m.order.add(s.head)
		if m.advance(s); s.head == nil {
			m.heads.pop()
			continue
		}
		m.heads.sink()
	}
}

// advance reads the next line of s that can be read into its head.
func (m *merge) advance(s *stream) {
	s.head = m.order.blank()
	for {
		err := s.reader.Read(s.head)
		if err == nil {
			return
		}
		if bad, ok := errors.AsType[*accesslog.LineError](err); ok {
			m.report.unreadable(s.name, bad)
			continue
		}
		if !errors.Is(err, io.EOF) {
			m.failed = append(m.failed, fmt.Errorf("%s: %w", s.name, err))
		}
		m.order.free(s.head)
		s.head = nil
		return
	}
}
