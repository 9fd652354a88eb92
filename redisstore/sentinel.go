package redisstore

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"
)

// watchEvery is how often a Sentinel is asked whether the master is still the one.
const watchEvery = time.Second

// sentinels find the master of a set, and leave it when it is the master no longer.
//
// They ask and subscribe to nothing, so that each answer belongs to a question and
// what is read can be checked. A master that dies is missed at once, by its
// connection; one that is deposed refuses to write, and its Sentinel tells of
// another one within a second.
type sentinels struct {
	options *Options
	dialer  *dialer
	stop    chan struct{}
	done    chan struct{}

	mu    sync.Mutex // one question at a time
	addrs []string   // the one that is asked first in front
	conn  *sentinel  // to that one, if it has answered before

	masterMu sync.Mutex
	master   string
	to       net.Conn // to the master, the last one made
}

func newSentinels(o *Options, d *dialer) *sentinels {
	s := &sentinels{
		options: o, dialer: d, addrs: append([]string(nil), o.Addrs...), stop: make(chan struct{}), done: make(chan struct{}),
	}
	go s.watch()
	return s
}

// close ends the watch. The connection to the master is its user's.
func (s *sentinels) close() {
	close(s.stop)
	<-s.done
}

// watch leaves a master that a Sentinel does not call that any more.
func (s *sentinels) watch() {
	defer close(s.done)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		<-s.stop
		cancel()
	}()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			s.mu.Lock()
			s.hangUp()
			s.mu.Unlock()
			return
		case <-tick.C:
			if addr, err := s.find(ctx); err == nil {
				s.leave(addr)
			}
		}
	}
}

// leave closes the connection to a master that is not the one at addr.
func (s *sentinels) leave(addr string) {
	s.masterMu.Lock()
	defer s.masterMu.Unlock()
	if s.to != nil && s.master != addr {
		_ = s.to.Close()
		s.to = nil
	}
}

// dial connects to the master. It is the client's way to connect, whatever address
// the client believes in.
func (s *sentinels) dial(ctx context.Context, _ string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
	if err := s.refusal(); err != nil {
		return nil, err
	}
	addr, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	c, err := s.dialer.dial(ctx, addr, d, t)
	if err != nil {
		return nil, err
	}
	s.masterMu.Lock()
	defer s.masterMu.Unlock()
	s.master, s.to = addr, c
	return c, nil
}

// refusal is why it is too early to ask for another master, nil if it is not: a Sentinel
// may tell of one for long that is none.
func (s *sentinels) refusal() error {
	s.masterMu.Lock()
	defer s.masterMu.Unlock()
	return s.dialer.refusal(s.master)
}

// find asks for the address of the master: the Sentinel that answered last, and then
// the others.
func (s *sentinels) find(ctx context.Context) (addr string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		if addr, err = s.conn.masterOf(s.options); err == nil {
			return addr, nil
		}
		s.hangUp() // It may have been idle for too long.
	}
	for range s.addrs {
		if addr, err = s.ask(ctx, s.addrs[0]); err == nil {
			return addr, nil
		}
		err = fmt.Errorf("no Sentinel tells where the master is, %s: %w", s.addrs[0], err)
		s.addrs = append(s.addrs[1:], s.addrs[0])
	}
	return "", err
}

// ask connects to a Sentinel and asks it; mu is held.
func (s *sentinels) ask(ctx context.Context, addr string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.DialTimeout)
	defer cancel()
	c, err := dial(ctx, addr, &net.Dialer{Timeout: s.options.DialTimeout}, s.options.TLS)
	if err != nil {
		return "", err
	}
	s.conn = &sentinel{Conn: c, in: bufio.NewReaderSize(c, maxTold)}
	if err = s.conn.signIn(s.options); err == nil {
		addr, err = s.conn.masterOf(s.options)
	}
	if err != nil {
		s.hangUp()
		return "", err
	}
	return addr, nil
}

// hangUp closes the connection to a Sentinel; mu is held.
func (s *sentinels) hangUp() {
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
}

// sentinel is a connection to a Sentinel. It speaks RESP2.
type sentinel struct {
	net.Conn
	in *bufio.Reader
}

// maxTold is the most bytes of a line, or of a text, that a Sentinel may send.
const maxTold = 512

// signIn tells a user and a password, if there are any.
func (s *sentinel) signIn(o *Options) error {
	if o.SentinelPassword == "" {
		return nil
	}
	command := []string{"AUTH", o.SentinelUsername, o.SentinelPassword}
	if o.SentinelUsername == "" {
		command = []string{"AUTH", o.SentinelPassword}
	}
	if err := s.send(o, command...); err != nil {
		return err
	}
	_, err := s.text()
	return err
}

// errUnknownSet means that a Sentinel does not watch what is asked for.
var errUnknownSet = errors.New("it knows no master set of that name")

// masterOf asks for the address of the master.
func (s *sentinel) masterOf(o *Options) (string, error) {
	if err := s.send(o, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", o.MasterSet); err != nil {
		return "", err
	}
	kind, rest, err := s.line()
	switch {
	case err != nil:
		return "", err
	case kind == '*' && rest == "-1", kind == '$' && rest == "-1", kind == '_':
		return "", errUnknownSet
	case kind != '*' || rest != "2":
		return "", errGarbled
	}
	host, err := s.text()
	if err != nil {
		return "", err
	}
	port, err := s.text()
	if err != nil {
		return "", err
	}
	addr := net.JoinHostPort(host, port)
	if host == "" || host[0] == '/' || !isAddr(addr) {
		return "", errGarbled
	}
	return addr, nil
}

// send writes a command, whose answer has to be there in the time that a connection
// may take.
func (s *sentinel) send(o *Options, command ...string) error {
	b := append(strconv.AppendInt([]byte{'*'}, int64(len(command)), 10), "\r\n"...)
	for _, word := range command {
		b = append(strconv.AppendInt(append(b, '$'), int64(len(word)), 10), "\r\n"...)
		b = append(append(b, word...), "\r\n"...)
	}
	if err := s.SetDeadline(time.Now().Add(o.DialTimeout)); err != nil {
		return err
	}
	_, err := s.Write(b)
	return err
}

// text reads an answer that is a text or a status. One that is an error is that.
func (s *sentinel) text() (string, error) {
	kind, rest, err := s.line()
	if err != nil || kind == '+' {
		return rest, err
	}
	n, err := strconv.ParseUint(rest, 10, 16)
	if kind != '$' || err != nil || n > maxTold {
		return "", errGarbled
	}
	text := make([]byte, n+2)
	if _, err := io.ReadFull(s.in, text); err != nil {
		return "", err
	}
	if string(text[n:]) != "\r\n" {
		return "", errGarbled
	}
	return string(text[:n]), nil
}

// line reads a line. One that says an error is that.
func (s *sentinel) line() (kind byte, rest string, err error) {
	line, err := s.in.ReadSlice('\n')
	switch n := len(line); {
	case errors.Is(err, bufio.ErrBufferFull):
		return 0, "", errGarbled
	case err != nil:
		return 0, "", err
	case n < 3 || line[n-2] != '\r':
		return 0, "", errGarbled
	default:
		kind, rest = line[0], string(line[1:n-2])
	}
	if kind == '-' {
		return 0, "", fmt.Errorf("it says %q", rest)
	}
	return kind, rest, nil
}
