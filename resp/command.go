package resp

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"strings"
)

// maxName is the longest name of a command; the longest word that is compared.
const maxName = 16

// lower returns a word in lower case, empty if it is longer than any that is known.
func lower(buf *[maxName]byte, word []byte) []byte {
	if len(word) > maxName {
		return nil
	}
	for i, c := range word {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		buf[i] = c
	}
	return buf[:len(word)]
}

// run answers one command. more says whether the next one is there.
func (c *conn) run(args [][]byte, more bool) {
	c.commands++
	var buf [maxName]byte
	name := lower(&buf, args[0])
	if string(name) == "cl.throttle" && c.authenticated && !c.multi.open {
		if !c.gather(args, more) {
			c.throttle(args)
			c.time(more)
		}
		return
	}
	c.settle()
	c.runOther(string(name), args)
}

// runOther answers the commands that clients send around the one of interest.
func (c *conn) runOther(name string, args [][]byte) {
	switch name {
	case "auth", "hello", "quit", "reset", "post", "host:":
	default:
		if !c.authenticated {
			c.out.fail("NOAUTH Authentication required.")
			return
		}
	}
	if c.multi.open {
		switch name {
		case "multi", "exec", "discard", "quit", "reset", "post", "host:":
		default:
			c.queue(name, args)
			return
		}
	}
	switch name {
	case "ping":
		c.ping(args)
	case "echo":
		if c.arity(name, args, 2, 2) {
			c.out.bulk(string(args[1]))
		}
	case "hello":
		c.hello(args)
	case "auth":
		c.auth(args)
	case "select":
		c.selectDB(args)
	case "client":
		c.client(args)
	case "command":
		c.command(args)
	case "info":
		c.out.bulk(c.server.info())
	case "multi":
		c.begin(args)
	case "exec":
		c.exec(args)
	case "discard":
		c.discard(args)
	case "cluster", "readonly", "readwrite", "asking":
		c.out.fail("ERR This instance has cluster support disabled")
	case "quit":
		c.out.simple("OK")
		c.quit = true
	case "reset":
		c.reset()
		c.out.simple("RESET")
	case "post", "host:":
		// A browser that was led to this port by a page: nothing it sends is meant.
		c.quit = true
	default:
		c.unknown(args)
	}
}

// arity checks the number of words of a command.
func (c *conn) arity(name string, args [][]byte, least, most int) bool {
	if len(args) < least || len(args) > most {
		c.out.fail("ERR wrong number of arguments for '" + name + "' command")
		return false
	}
	return true
}

func (c *conn) unknown(args [][]byte) {
	var b strings.Builder
	fmt.Fprintf(&b, "ERR unknown command '%s', with args beginning with: ", printable(args[0]))
	for _, a := range args[1:min(len(args), 4)] {
		fmt.Fprintf(&b, "'%s' ", printable(a))
	}
	c.out.fail(b.String())
}

func (c *conn) ping(args [][]byte) {
	switch {
	case !c.arity("ping", args, 1, 2):
	case len(args) == 2:
		c.out.bulk(string(args[1]))
	default:
		c.out.simple("PONG")
	}
}

// selectDB knows one database: counts of another would be the same ones.
func (c *conn) selectDB(args [][]byte) {
	if !c.arity("select", args, 2, 2) {
		return
	}
	switch n, ok := integer(args[1]); {
	case !ok:
		c.out.fail("ERR invalid DB index")
	case n != 0:
		c.out.fail("ERR DB index is out of range: there is only 0")
	default:
		c.out.simple("OK")
	}
}

// reset makes the connection a new one.
func (c *conn) reset() {
	c.multi = multi{}
	c.name, c.out.resp3, c.authenticated = "", false, c.server.o.Password == ""
}

// auth answers AUTH [username] password.
func (c *conn) auth(args [][]byte) {
	if !c.arity("auth", args, 2, 3) {
		return
	}
	if c.server.o.Password == "" && len(args) == 2 {
		c.out.fail("ERR AUTH <password> called without any password configured for the default user. " +
			"Are you sure your configuration is correct?")
		return
	}
	user := []byte("default")
	if len(args) == 3 {
		user = args[1]
	}
	if c.login(user, args[len(args)-1]) {
		c.out.simple("OK")
	}
}

// login checks a password in a time that does not depend on it. Without a password
// to check against any will do for the default user, as with Redis.
func (c *conn) login(user, password []byte) bool {
	want, got := sha256.Sum256([]byte(c.server.o.Password)), sha256.Sum256(password)
	same := c.server.o.Password == "" || subtle.ConstantTimeCompare(want[:], got[:]) == 1
	if !same || string(user) != "default" {
		c.out.fail("WRONGPASS invalid username-password pair or user is disabled.")
		return false
	}
	c.authenticated = true
	return true
}
