package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// load is what is sent to a target: over so many connections that stay open, for
// so long, as fast as they are answered or at a rate.
type load struct {
	conns int
	time  time.Duration
	rate  float64 // requests a second over all connections; 0 means no pauses
}

// result is how a target bore it.
type result struct {
	perSecond float64
	p50, p99  time.Duration
	requests  int
	cpu       time.Duration // of the target, for each request
}

// maxRequests bounds what one connection sends.
const maxRequests = 1_000_000

var request = []byte("GET /v1/orders/7 HTTP/1.1\r\nHost: api.example\r\nUser-Agent: bench\r\nX-Api-Key: k_acme\r\n\r\n")

// run loads addr. An answer other than 200 is an error: nobody is to refuse here.
func (l load) run(addr string) (result, error) {
	waits := make([][]time.Duration, l.conns)
	errs := make([]error, l.conns)
	begin := time.Now()
	end := begin.Add(l.time)
	var wg sync.WaitGroup
	for i := range l.conns {
		wg.Go(func() { waits[i], errs[i] = l.connection(addr, i, begin, end) })
	}
	wg.Wait()
	took := time.Since(begin)
	if err := errors.Join(errs...); err != nil {
		return result{}, err
	}
	all := slices.Concat(waits...)
	if len(all) == 0 {
		return result{}, fmt.Errorf("%s answered nothing in %v", addr, l.time)
	}
	slices.Sort(all)
	return result{
		perSecond: float64(len(all)) / took.Seconds(),
		p50:       all[len(all)/2],
		p99:       all[len(all)*99/100],
		requests:  len(all),
	}, nil
}

// connection sends one request after the other. With a rate it times each from
// when it was due, so that a late answer counts against those behind it too.
func (l load) connection(addr string, i int, begin, end time.Time) ([]time.Duration, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.SetDeadline(end.Add(5 * time.Second)); err != nil {
		return nil, err
	}
	var waits []time.Duration
	r := bufio.NewReader(c)
	gap := time.Duration(0)
	if l.rate > 0 {
		gap = time.Duration(float64(l.conns) / l.rate * float64(time.Second))
	}
	due := begin.Add(gap * time.Duration(i) / time.Duration(l.conns))
	for range maxRequests {
		if gap > 0 {
			time.Sleep(time.Until(due))
		} else {
			due = time.Now()
		}
		if !due.Before(end) {
			break
		}
		if _, err := c.Write(request); err != nil {
			return nil, err
		}
		if err := readAnswer(r); err != nil {
			return nil, err
		}
		waits = append(waits, time.Since(due))
		due = due.Add(gap)
	}
	return waits, nil
}

var (
	okLine = []byte("HTTP/1.1 200 ")
	length = []byte("content-length:")
)

// readAnswer reads one answer with a Content-Length and drops it.
func readAnswer(r *bufio.Reader) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(line, okLine) {
		return fmt.Errorf("answer %q: want 200", bytes.TrimSpace(line))
	}
	n := -1
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			break
		}
		if len(line) > len(length) && bytes.EqualFold(line[:len(length)], length) {
			if n, err = strconv.Atoi(string(bytes.TrimSpace(line[len(length):]))); err != nil {
				return err
			}
		}
	}
	if n < 0 {
		return errors.New("an answer without Content-Length")
	}
	_, err = io.CopyN(io.Discard, r, int64(n))
	return err
}
