package main

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"
)

// respConns is how many connections ask over the protocol of Redis.
const respConns = 16

// Subjects of part e. The one who counts and decides nothing is what INCR costs.
const (
	allowing = "stint, CL.THROTTLE, allowed"
	refusing = "stint, CL.THROTTLE, refused"
	counting = "redis-server, INCR"
)

// depths of pipelines.
var depths = []int{1, 16, 1000}

// pipelines is part e.
func (b *bench) pipelines() error {
	own, err := b.startStint("stint, RESP", "")
	if err != nil {
		return err
	}
	redis, err := b.startRedis()
	if err != nil {
		return err
	}
	throttle := func(prefix string, limit ...string) func(i int) []byte {
		return func(i int) []byte { return command(append([]string{"CL.THROTTLE", prefix + user(i)}, limit...)...) }
	}
	refuse := throttle("r:", "0", "1", "1000000000")
	if err := spend(own.resp, refuse); err != nil {
		return err
	}
	for _, depth := range depths {
		var subjects []*subject
		for _, one := range []struct {
			name, addr string
			pid        int
			ask        func(i int) []byte
			refused    float64
		}{
			{counting, redis.addr, redis.pid, func(i int) []byte { return command("INCR", user(i)) }, 0},
			{allowing, own.resp, own.pid, throttle("a:", "1000000000", "1000000000", "3600"), 0},
			{refusing, own.resp, own.pid, refuse, 1},
		} {
			s := &subject{name: one.name, pid: one.pid, refused: one.refused}
			for i := range respConns {
				c, err := dialRESP(one.addr)
				if err != nil {
					return err
				}
				defer c.Close()
				s.callers = append(s.callers, c.asker(draw(one.ask, depth, uint64(i)), depth))
			}
			subjects = append(subjects, s)
		}
		t, err := b.alternate(subjects, load{time: b.turn})
		if err != nil {
			return err
		}
		t.table("command", counting).Write(b.w, fmt.Sprintf("CL.THROTTLE, %d at a time on each of %d connections", depth, respConns))
	}
	return nil
}

// command is one in the protocol of Redis.
func command(args ...string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}

// draw makes pipelines about users drawn at random, some thousands of commands.
func draw(ask func(i int) []byte, depth int, seed uint64) [][]byte {
	random := rand.New(rand.NewPCG(3, seed))
	all := make([][]byte, max(4, 4096/depth))
	for i := range all {
		for range depth {
			all[i] = append(all[i], ask(random.IntN(users))...)
		}
	}
	return all
}

// spend asks once about every user.
func spend(addr string, ask func(i int) []byte) error {
	c, err := dialRESP(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	const part = users / 10
	for at := 0; at < users; at += part {
		var pipeline []byte
		for i := range part {
			pipeline = append(pipeline, ask(at+i)...)
		}
		if a, err := c.ask(pipeline, part); err != nil || a.refused > 0 {
			return fmt.Errorf("%d of the first commands were refused: %w", a.refused, err)
		}
	}
	return nil
}

// respConn is a connection.
type respConn struct {
	net.Conn
	r *bufio.Reader
}

func dialRESP(addr string) (*respConn, error) {
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return nil, err
	}
	return &respConn{Conn: c, r: bufio.NewReaderSize(c, 64<<10)}, nil
}

// asker sends the pipelines one after the other, again and again.
func (c *respConn) asker(pipelines [][]byte, depth int) asker {
	next := 0
	return func() (answer, error) {
		next++
		return c.ask(pipelines[next%len(pipelines)], depth)
	}
}

// ask sends a pipeline of n commands and reads as many replies.
func (c *respConn) ask(pipeline []byte, n int) (answer, error) {
	a := answer{units: n}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return a, err
	}
	if _, err := c.Write(pipeline); err != nil {
		return a, err
	}
	for range n {
		limited, err := c.reply()
		if err != nil {
			return a, err
		}
		if limited {
			a.refused++
		}
	}
	return a, nil
}

// reply reads an integer, or a list of them that begins with 1 for a refusal.
func (c *respConn) reply() (limited bool, err error) {
	line, err := c.line()
	if err != nil || line[0] == ':' {
		return false, err
	}
	n, err := strconv.Atoi(string(line[1:]))
	if line[0] != '*' || err != nil || n < 1 || n > 10 {
		return false, fmt.Errorf("reply %q: want an integer or a list of some", line)
	}
	for i := range n {
		if line, err = c.line(); err != nil {
			return false, err
		}
		if i == 0 {
			limited = string(line) == ":1"
		}
	}
	return limited, nil
}

// line reads one that is not empty, without its end.
func (c *respConn) line() ([]byte, error) {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
		return nil, fmt.Errorf("an empty line where a reply begins")
	}
	return line, nil
}
