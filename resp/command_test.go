package resp_test

import (
	"strings"
	"testing"

	"github.com/stint-dev/stint/resp"
)

func TestCommandsOfClients(t *testing.T) {
	c, clock := connect(t)
	c.story(clock, `
		PING => PONG
		ping hello => hello
		ECHO hello => hello
		ECHO => -ERR wrong number of arguments for 'echo' command
		SELECT 0 => OK
		SELECT 1 => -ERR DB index is out of range: there is only 0
		SELECT x => -ERR invalid DB index
		CLIENT GETNAME => null
		CLIENT SETNAME worker-1 => OK
		client getname => worker-1
		CLIENT SETINFO lib-name x => OK
		CLIENT ID => 1
		CLIENT TRACKING ON OPTIN => OK
		CLIENT KILL x => -ERR unknown subcommand 'KILL'. Try SETNAME, GETNAME, SETINFO or ID.
		COMMAND COUNT => 14
		COMMAND DOCS => []
		COMMAND INFO cl.throttle get => [[cl.throttle -5 [fast] 1 1 1] null]
		COMMAND LIST => [cl.throttle ping echo hello auth select client command info multi exec discard quit reset]
		HELLO => [server stint version 7.2.0 proto 2 id 1 mode standalone role master modules []]
		HELLO 3 SETNAME w => [server stint version 7.2.0 proto 3 id 1 mode standalone role master modules []]
		CLIENT GETNAME => w
		CL.THROTTLE k 15 30 60 => [0 16 15 -1 2]
		RESET => RESET
		CLIENT GETNAME => null
		HELLO 4 => -NOPROTO unsupported protocol version
		HELLO x => -ERR Protocol version is not an integer or out of range
		HELLO 3 BREW => -ERR Syntax error in HELLO option 'BREW'
		AUTH secret => -ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?
		READONLY => -ERR This instance has cluster support disabled
		CLUSTER SLOTS => -ERR This instance has cluster support disabled
		GET k => -ERR unknown command 'GET', with args beginning with: 'k' 
		BREWCOFFEEFOREVERYBODY => -ERR unknown command 'BREWCOFFEEFOREVERYBODY', with args beginning with: 
		SET a b c d e => -ERR unknown command 'SET', with args beginning with: 'a' 'b' 'c' 
	`)
	c.write(wire("bad\r\n+OK\x00name", "it's"))
	want(t, "control characters", c.answer(), "-ERR unknown command 'bad??+OK?name', with args beginning with: 'it?s' ")
	c.write(wire("CLIENT", "SETNAME", "a b"))
	want(t, "name with a blank", c.answer(), "-ERR Client names cannot contain spaces, newlines or special characters.")
	if info := c.ask("INFO server"); !strings.Contains(info, "redis_version:7.2.0\r\n") || !strings.Contains(info, "connected_clients:1\r\n") {
		t.Errorf("INFO: %q", info)
	}
	if all := c.ask("COMMAND"); strings.Count(all, "[fast]") != 14 {
		t.Errorf("COMMAND: %s", all)
	}
	want(t, "QUIT", c.ask("QUIT"), "OK")
	if !c.gone() {
		t.Error("the connection is open after QUIT")
	}
}

func TestPassword(t *testing.T) {
	_, addr := serve(t, resp.Options{Limiter: newLimiter(t, nil), Password: "open sesame"})
	c := dial(t, addr)
	const wrong = "-WRONGPASS invalid username-password pair or user is disabled."
	c.story(nil, `
		PING => -NOAUTH Authentication required.
		CL.THROTTLE k 1 1 1 => -NOAUTH Authentication required.
		INFO => -NOAUTH Authentication required.
		AUTH sesame => `+wrong+`
		AUTH default sesame => `+wrong+`
		HELLO 3 AUTH default sesame => `+wrong+`
		PING => -NOAUTH Authentication required.
	`)
	if got := c.ask("HELLO 3"); !strings.HasPrefix(got, "-NOAUTH ") {
		t.Errorf("HELLO: %s", got)
	}
	for _, words := range [][]string{{"AUTH", "open sesame"}, {"AUTH", "default", "open sesame"}} {
		c := dial(t, addr)
		c.write(wire(words...))
		want(t, "AUTH", c.answer(), "OK")
		want(t, "PING", c.ask("PING"), "PONG")
		c.write(wire("AUTH", "root", "open sesame"))
		want(t, "another user", c.answer(), wrong)
		want(t, "RESET", c.ask("RESET"), "RESET")
		want(t, "PING", c.ask("PING"), "-NOAUTH Authentication required.")
	}
	c.write(wire("HELLO", "3", "AUTH", "default", "open sesame", "SETNAME", "w"))
	if got := c.answer(); !strings.HasPrefix(got, "[server stint ") {
		t.Errorf("HELLO: %s", got)
	}
	want(t, "name", c.ask("CLIENT GETNAME"), "w")
}

func TestAnyPasswordWillDoWhereThereIsNone(t *testing.T) {
	c, _ := connect(t)
	want(t, "AUTH", c.ask("AUTH default whatever"), "OK")
}

// TestTransaction: libraries such as redis-py and node-redis send a pipeline as one.
func TestTransaction(t *testing.T) {
	c, clock := connect(t)
	c.story(clock, `
		EXEC => -ERR EXEC without MULTI
		DISCARD => -ERR DISCARD without MULTI
		MULTI => OK
		MULTI => -ERR MULTI calls can not be nested
		CL.THROTTLE k 1 1 60 => QUEUED
		CL.THROTTLE k 1 1 60 => QUEUED
		CL.THROTTLE k 1 0 60 => QUEUED
		CL.THROTTLE k 1 1 60 => QUEUED
		PING => QUEUED
		EXEC => [[0 2 1 -1 60] [0 2 0 -1 120] -ERR count '0' is not an integer or out of range: write 1 to 4503599627370496 [1 2 0 60 120] PONG]
		CL.THROTTLE a 1 1 60 => [0 2 1 -1 60]
		MULTI => OK
		CL.THROTTLE a 1 1 60 => QUEUED
		DISCARD => OK
		MULTI => OK
		CL.THROTTLE a 1 1 60 => QUEUED
		GET a => -ERR unknown command 'GET', with args beginning with: 'a' 
		EXEC => -EXECABORT Transaction discarded because of previous errors.
		MULTI => OK
		RESET => RESET
		EXEC => -ERR EXEC without MULTI
		MULTI => OK
		EXEC => []
		CL.THROTTLE a 1 1 60 0 => [0 2 1 -1 60]  # nothing of the above was counted
	`)
}

// TestTransactionIsBounded: what a client queues is kept here, so it can not be long.
func TestTransactionIsBounded(t *testing.T) {
	for _, word := range []string{"k", strings.Repeat("k", 4000)} {
		c, _ := connect(t)
		want(t, "MULTI", c.ask("MULTI"), "OK")
		refused := 0
		for range 3000 {
			if got := c.ask("CL.THROTTLE " + word + " 1 1 60"); strings.HasPrefix(got, "-ERR a transaction of more than") {
				refused++
			} else if got != "QUEUED" {
				t.Fatal(got)
			}
		}
		if refused < 1900 {
			t.Errorf("%d of 3000 commands were refused", refused)
		}
		want(t, "EXEC", c.ask("EXEC"), "-EXECABORT Transaction discarded because of previous errors.")
		want(t, "afterwards", c.ask("CL.THROTTLE k 1 1 60"), "[0 2 1 -1 60]")
	}
}

func TestTransactionNeedsThePassword(t *testing.T) {
	_, addr := serve(t, resp.Options{Limiter: newLimiter(t, nil), Password: "open sesame"})
	dial(t, addr).story(nil, `
		MULTI => -NOAUTH Authentication required.
		EXEC => -NOAUTH Authentication required.
		CL.THROTTLE k 1 1 1 => -NOAUTH Authentication required.
	`)
}
