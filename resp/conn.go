package resp

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/stint-dev/stint"
)

// flushAt is how many bytes of answers are collected before they are sent while more
// commands are there.
const flushAt = 16 << 10

// conn is one client's connection; its goroutine owns it.
type conn struct {
	server *Server
	id     int64
	nc     net.Conn
	in     parser
	out    reply
	to     *output

	authenticated bool
	name          string
	quit          bool
	multi         multi
	within        bool        // whether the last read was within a command
	due           time.Time   // when the client must have sent more
	stopping      atomic.Bool // whether the server wants to end
	commands      int64       // answered and not yet added to the server's

	last   limit         // of the last call
	policy *stint.Policy // of last
	call   call

	batch *batch    // calls that wait to be decided together
	slow  bool      // decisions take long
	long  bool      // those timed last did
	mark  time.Time // since then,
	timed int       // so many calls were answered one by one
}

// serve answers until the client or the server wants no more.
func (c *conn) serve() {
	defer func() { _ = c.nc.Close() }()
	for !c.quit {
		args, err := c.in.next()
		switch {
		case err == nil:
			c.within = false
			c.run(args, c.in.begun())
			if len(c.out.b) < flushAt {
				continue
			}
			err = c.flush()
		case errors.Is(err, errMore):
			c.settle()
			if err = c.flush(); err == nil {
				err = c.read()
			}
		default:
			c.settle()
			c.out.fail("ERR " + err.Error())
			c.linger()
		}
		if err != nil {
			break
		}
	}
	_ = c.flush() // If that fails nobody can be told.
	c.to.finish()
}

// linger sends the answers and throws away what the client still sends, for a moment:
// closed with bytes unread, a connection is reset, and the client may not see why.
func (c *conn) linger() {
	const most, moment = 1 << 20, time.Second
	if c.flush() != nil {
		return
	}
	c.to.finish()
	half, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	if c.nc.SetReadDeadline(time.Now().Add(moment)) == nil {
		// How that ends is of no interest.
		_, _ = io.CopyN(io.Discard, c.nc, most)
	}
}

// flush sends the answers.
func (c *conn) flush() error {
	c.server.commands.Add(c.commands)
	c.commands = 0
	if len(c.out.b) == 0 {
		return nil
	}
	var err error
	c.out.b, err = c.to.send(c.out.b)
	return err
}

// read waits for more of the client: for long if it is idle, not so long within a
// command, whose time counts from its first bytes.
func (c *conn) read() error {
	now := time.Now()
	if !c.in.begun() {
		c.due = now.Add(c.server.o.IdleTimeout)
		if c.server.o.IdleTimeout < 0 {
			c.due = time.Time{}
		}
	} else if !c.within {
		c.due = now.Add(c.server.o.CommandTimeout)
	}
	c.within = c.in.begun()
	if err := c.nc.SetReadDeadline(c.due); err != nil {
		return err
	}
	if c.stopping.Load() {
		return ErrServerClosed
	}
	n, err := c.nc.Read(c.in.free())
	c.in.filled(n)
	c.mark, c.timed = time.Now(), 0
	if n > 0 {
		return nil
	}
	return err
}

// wake makes the connection end after the commands that it has read. stopping is set
// before the deadline, and read looks at it after it has set its own.
func (c *conn) wake() {
	c.stopping.Store(true)
	_ = c.nc.SetReadDeadline(time.Unix(1, 0))
}
