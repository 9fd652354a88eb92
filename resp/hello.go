package resp

import (
	"fmt"
	"time"
)

// likeVersion is the version of Redis whose connection commands these are. Clients
// read it to know what they may send.
const likeVersion = "7.2.0"

// hello answers HELLO [2|3 [AUTH user password] [SETNAME name]].
func (c *conn) hello(args [][]byte) {
	resp3 := c.out.resp3
	if len(args) > 1 {
		switch n, ok := integer(args[1]); {
		case !ok:
			c.out.fail("ERR Protocol version is not an integer or out of range")
			return
		case n != 2 && n != 3:
			c.out.fail("NOPROTO unsupported protocol version")
			return
		default:
			resp3 = n == 3
		}
	}
	name := c.name
	for rest := args[min(len(args), 2):]; len(rest) > 0; {
		var buf [maxName]byte
		switch word := string(lower(&buf, rest[0])); {
		case word == "auth" && len(rest) >= 3:
			if !c.login(rest[1], rest[2]) {
				return
			}
			rest = rest[3:]
		case word == "setname" && len(rest) >= 2:
			if !c.nameable(rest[1]) {
				return
			}
			name, rest = string(rest[1]), rest[2:]
		default:
			c.out.fail("ERR Syntax error in HELLO option '" + printable(rest[0]) + "'")
			return
		}
	}
	if !c.authenticated {
		c.out.fail("NOAUTH HELLO must be called with the client already authenticated, otherwise the " +
			"HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select " +
			"the RESP protocol version at the same time")
		return
	}
	c.name, c.out.resp3 = name, resp3
	c.greet()
}

// greet says who answers.
func (c *conn) greet() {
	proto := int64(2)
	if c.out.resp3 {
		proto = 3
	}
	c.out.mapping(7)
	for _, pair := range [...][2]string{{"server", "stint"}, {"version", likeVersion}} {
		c.out.bulk(pair[0])
		c.out.bulk(pair[1])
	}
	c.out.bulk("proto")
	c.out.int(proto)
	c.out.bulk("id")
	c.out.int(c.id)
	for _, pair := range [...][2]string{{"mode", "standalone"}, {"role", "master"}} {
		c.out.bulk(pair[0])
		c.out.bulk(pair[1])
	}
	c.out.bulk("modules")
	c.out.array(0)
}

// nameable checks the name of a connection.
func (c *conn) nameable(name []byte) bool {
	const most = 128
	for _, b := range name {
		if b < '!' || b > '~' {
			c.out.fail("ERR Client names cannot contain spaces, newlines or special characters.")
			return false
		}
	}
	if len(name) > most {
		c.out.fail(fmt.Sprintf("ERR client name of %d bytes: at most %d", len(name), most))
		return false
	}
	return true
}

// client answers the subcommands of CLIENT that libraries send when they connect.
// Of tracking there is nothing to say: no value is ever read from here.
func (c *conn) client(args [][]byte) {
	if !c.arity("client", args, 2, maxArgs) {
		return
	}
	var buf [maxName]byte
	switch sub := string(lower(&buf, args[1])); sub {
	case "setname":
		if c.arity("client|setname", args, 3, 3) && c.nameable(args[2]) {
			c.name = string(args[2])
			c.out.simple("OK")
		}
	case "getname":
		if c.name == "" {
			c.out.null()
			return
		}
		c.out.bulk(c.name)
	case "id":
		c.out.int(c.id)
	case "setinfo":
		if c.arity("client|setinfo", args, 4, 4) {
			c.out.simple("OK")
		}
	case "tracking", "no-evict", "no-touch":
		c.out.simple("OK")
	default:
		c.out.fail("ERR unknown subcommand '" + printable(args[1]) + "'. Try SETNAME, GETNAME, SETINFO or ID.")
	}
}

// commands are the names of what is answered, in the order of COMMAND, with the
// number of words that Redis would say and the place of the key.
var commands = [...]struct {
	name       string
	arity, key int64
}{
	{"cl.throttle", -5, 1},
	{"ping", -1, 0},
	{"echo", 2, 0},
	{"hello", -1, 0},
	{"auth", -2, 0},
	{"select", 2, 0},
	{"client", -2, 0},
	{"command", -1, 0},
	{"info", -1, 0},
	{"multi", 1, 0},
	{"exec", 1, 0},
	{"discard", 1, 0},
	{"quit", -1, 0},
	{"reset", 1, 0},
}

// command answers COMMAND and its subcommands.
func (c *conn) command(args [][]byte) {
	if len(args) == 1 {
		c.out.array(len(commands))
		for i := range commands {
			c.describe(i)
		}
		return
	}
	var buf [maxName]byte
	switch string(lower(&buf, args[1])) {
	case "count":
		c.out.int(int64(len(commands)))
	case "docs":
		c.out.mapping(0)
	case "list":
		c.out.array(len(commands))
		for _, k := range commands {
			c.out.bulk(k.name)
		}
	case "info":
		c.out.array(len(args) - 2)
		for _, name := range args[2:] {
			c.describe(find(name))
		}
	default:
		c.out.fail("ERR unknown subcommand '" + printable(args[1]) + "'. Try COUNT, DOCS, INFO or LIST.")
	}
}

// find returns the index of a command, below 0 if there is none.
func find(name []byte) int {
	var buf [maxName]byte
	word := string(lower(&buf, name))
	for i := range commands {
		if commands[i].name == word {
			return i
		}
	}
	return -1
}

// describe writes name, arity, flags, and the places of the first and the last key
// and the step between keys.
func (c *conn) describe(i int) {
	if i < 0 {
		c.out.null()
		return
	}
	k := commands[i]
	c.out.array(6)
	c.out.bulk(k.name)
	c.out.int(k.arity)
	c.out.array(1)
	c.out.simple("fast")
	c.out.int(k.key)
	c.out.int(k.key)
	c.out.int(k.key)
}

// info is the text of INFO.
func (s *Server) info() string {
	s.mu.Lock()
	open := len(s.conns)
	s.mu.Unlock()
	return fmt.Sprintf("# Server\r\nserver_name:stint\r\nredis_version:%s\r\nredis_mode:standalone\r\nuptime_in_seconds:%d\r\n\r\n"+
		"# Clients\r\nconnected_clients:%d\r\nmaxclients:%d\r\n\r\n"+
		"# Stats\r\ntotal_connections_received:%d\r\ntotal_commands_processed:%d\r\nrejected_connections:%d\r\n"+
		"limits_known:%d\r\npending_bytes:%d\r\n",
		likeVersion, int64(time.Since(s.started)/time.Second), open, s.o.MaxConns,
		s.accepted.Load(), s.commands.Load(), s.rejected.Load(), s.limits.known(), s.pending.Load())
}
