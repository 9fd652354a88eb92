package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"
)

const (
	// httpConns is how many connections ask over HTTP.
	httpConns = 32
	// batch is how many checks one request holds.
	batch = 100
)

const bareWeb = "bare net/http"

// shape is a kind of question over HTTP.
type shape struct {
	name  string
	units int // checks in one request
	body  func(i int) string
}

// shapes of questions. Each user has one rule.
var shapes = []shape{
	{"a described request", 1, describe},
	{"an explicit charge", 1, charge},
	{fmt.Sprintf("a batch of %d described requests", batch), batch, func(i int) string { return inBatch(i, describe) }},
	{fmt.Sprintf("a batch of %d charges", batch), batch, func(i int) string { return inBatch(i, charge) }},
}

func describe(i int) string {
	return fmt.Sprintf(`{"method":"GET","path":"/v1/orders/7","host":"api.example","ip":"198.51.%d.%d","headers":{"X-User":"%s"}}`, i>>8&255, i&255, user(i%users))
}

func charge(i int) string {
	return fmt.Sprintf(`{"charges":[{"rule":"per-user","key":["%s"]}]}`, user(i%users))
}

func inBatch(i int, of func(i int) string) string {
	all := make([]string, batch)
	for j := range all {
		all[j] = of(i*batch + j)
	}
	return `{"checks":[` + strings.Join(all, ",") + `]}`
}

// requests makes the bytes of questions that are about every user together.
func (s *shape) requests(path string) [][]byte {
	all := make([][]byte, users/s.units)
	for i := range all {
		body := s.body(i)
		all[i] = fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: stint.example\r\nUser-Agent: bench\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
	}
	return all
}

// checks is part d.
func (b *bench) checks() error {
	own, err := b.startStint("stint, HTTP", "")
	if err != nil {
		return err
	}
	sizes := make([]string, len(shapes))
	for i := range shapes {
		n, err := sizeOfAnswer(own.http, shapes[i].requests("/v1/check")[0])
		if err != nil {
			return err
		}
		sizes[i] = strconv.Itoa(n)
	}
	bare, err := b.startSelf(bareWeb, "-serve", serveHTTP, "-sizes", strings.Join(sizes, ","))
	if err != nil {
		return err
	}
	for i := range shapes {
		if err := b.check(&shapes[i], own, bare, "/"+strconv.Itoa(i)); err != nil {
			return err
		}
	}
	return nil
}

// check measures one kind of questions.
func (b *bench) check(s *shape, own stint, bare target, path string) error {
	var subjects []*subject
	for _, one := range []struct {
		name, addr, path string
		pid              int
	}{{bareWeb, bare.addr, path, bare.pid}, {inMemory, own.http, "/v1/check", own.pid}} {
		sub := &subject{name: one.name, pid: one.pid}
		requests := s.requests(one.path)
		for i := range httpConns {
			c, err := dialHTTP(one.addr)
			if err != nil {
				return err
			}
			defer c.Close()
			random := rand.New(rand.NewPCG(2, uint64(i)))
			sub.callers = append(sub.callers, func() (answer, error) {
				refused, err := c.ask(requests[random.IntN(len(requests))])
				return answer{s.units, refused}, err
			})
		}
		subjects = append(subjects, sub)
	}
	t, err := b.alternate(subjects, load{time: b.turn})
	if err != nil {
		return err
	}
	t.table("check", bareWeb).Write(b.w, fmt.Sprintf("POST /v1/check: %s, %d connections", s.name, httpConns))
	return nil
}

// httpConn is a connection that stays open. It reads no answers but those with a
// Content-Length.
type httpConn struct {
	net.Conn
	r    *bufio.Reader
	body []byte
}

func dialHTTP(addr string) (*httpConn, error) {
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return nil, err
	}
	return &httpConn{Conn: c, r: bufio.NewReaderSize(c, 64<<10)}, nil
}

var no = []byte(`"allowed":false`)

// ask sends a request and counts the refusals in the answer.
func (c *httpConn) ask(request []byte) (refused int, err error) {
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	if _, err := c.Write(request); err != nil {
		return 0, err
	}
	if err := c.read(); err != nil {
		return 0, err
	}
	return bytes.Count(c.body, no), nil
}

var (
	okLine = []byte("HTTP/1.1 200 ")
	length = []byte("content-length:")
)

// maxAnswer bounds an answer.
const maxAnswer = 1 << 20

// read reads an answer into c.body.
func (c *httpConn) read() error {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(line, okLine) {
		return fmt.Errorf("answer %q: want 200", bytes.TrimSpace(line))
	}
	n := -1
	for {
		line, err := c.r.ReadSlice('\n')
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
	if n < 0 || n > maxAnswer {
		return errors.New("an answer without Content-Length, or with a large one")
	}
	if cap(c.body) < n {
		c.body = make([]byte, n)
	}
	c.body = c.body[:n]
	_, err = io.ReadFull(c.r, c.body)
	return err
}

// sizeOfAnswer asks once, and makes sure that a rule has decided.
func sizeOfAnswer(addr string, request []byte) (int, error) {
	c, err := dialHTTP(addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if _, err := c.ask(request); err != nil {
		return 0, err
	}
	if !bytes.Contains(c.body, []byte(`"policy":"per-user"`)) {
		return 0, fmt.Errorf("no rule decided: %.200s", c.body)
	}
	return len(c.body), nil
}
