package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// progress is a bar on a terminal that shows how much was read. The nil progress
// shows nothing.
type progress struct {
	to    io.Writer
	total int64
	read  atomic.Int64
	stop  chan struct{}
	ended chan struct{}
}

// startProgress returns a bar if w is a terminal and the total is known.
func startProgress(w io.Writer, total int64) *progress {
	if total <= 0 || !isTerminal(w) {
		return nil
	}
	p := &progress{to: w, total: total, stop: make(chan struct{}), ended: make(chan struct{})}
	go p.run()
	return p
}

// isTerminal says whether somebody looks at w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && f.Name() != os.DevNull
}

// reader returns r, whose bytes count.
func (p *progress) reader(r io.Reader) io.Reader {
	if p == nil {
		return r
	}
	return &countingReader{r, p}
}

type countingReader struct {
	io.Reader
	progress *progress
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.progress.read.Add(int64(n))
	return n, err
}

// run draws the bar until end.
func (p *progress) run() {
	defer close(p.ended)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		p.draw()
		select {
		case <-tick.C:
		case <-p.stop:
			fmt.Fprintf(p.to, "\r%*s\r", barWidth+8, "")
			return
		}
	}
}

const barWidth = 40

func (p *progress) draw() {
	read := min(p.read.Load(), p.total)
	full := int(read * barWidth / p.total)
	fmt.Fprintf(p.to, "\r[%s%s] %3d%%", strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), read*100/p.total)
}

// end takes the bar away.
func (p *progress) end() {
	if p != nil {
		close(p.stop)
		<-p.ended
	}
}
