package redisstore

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const readOnly = "READONLY You can't write against a read only replica."

// TestRefusals: which errors end a connection.
func TestRefusals(t *testing.T) {
	for answer, want := range map[string]bool{
		readOnly:                true,
		readOnly + " script: f": true,
		"ERR Error running script (call to f_0): @user_script:1: @user_script: 12: -" + readOnly: true,
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.":       true,
		"LOADING Redis is loading the dataset in memory":                                         true,
		"NOREPLICAS Not enough good replicas to write.":                                          true,

		"CLUSTERDOWN The cluster is down":                                    false,
		"TRYAGAIN Multiple keys request during rehashing of slot":            false,
		"MOVED 1 127.0.0.1:1":                                                false,
		"ASK 1 127.0.0.1:1":                                                  false,
		"MISCONF Redis is configured to save RDB snapshots":                  false,
		"OOM command not allowed when used memory > 'maxmemory'.":            false,
		"BUSY Redis is busy running a script.":                               false,
		"NOSCRIPT No matching script.":                                       false,
		"NOAUTH Authentication required.":                                    false,
		"WRONGPASS invalid username-password pair or user is disabled.":      false,
		"NOPERM User READONLY has no permissions to run the 'set' command":   false,
		"UNBLOCKED force unblock from blocking operation":                    false,
		"ERR Error running script (call to f_0): @user_script:1: READONLY x": false,
		"READONLYISH":                  false,
		"ERR value: -READONLY is what": false,
		"":                             false,
	} {
		if err := refusalOf([]byte(answer)); (err != nil) != want {
			t.Errorf("%q: %v, want that it ends the connection: %t", answer, err, want)
		} else if want && (!errors.Is(err, errElsewhere) || !strings.Contains(err.Error(), answer[:8])) {
			t.Errorf("%q: error %v", answer, err)
		}
	}
}

// piecesConn is a connection that is answered in pieces of some bytes.
type piecesConn struct {
	scriptedConn
	in io.Reader
	n  int
}

func (c *piecesConn) Read(b []byte) (int, error) { return c.in.Read(b[:min(c.n, len(b))]) }

// TestTheGuardEndsAConnectionInThePlaceOfARefusal, however the answer is cut, and lets
// the answers before it pass. Within a list or a text it is none.
func TestTheGuardEndsAConnectionInThePlaceOfARefusal(t *testing.T) {
	before := "+OK\r\n-ERR no\r\n*2\r\n-" + readOnly + "\r\n+x\r\n$54\r\n-" + readOnly + "\r\n"
	text := before + "-" + readOnly + "\r\n+late\r\n"
	for n := 1; n <= len(text); n++ {
		var told []error
		g := newGuard(&piecesConn{in: strings.NewReader(text), n: n}, func(err error) { told = append(told, err) })
		g.asked.Store(10)
		got, err := io.ReadAll(g)
		if !errors.Is(err, errElsewhere) {
			t.Fatalf("pieces of %d: error %v", n, err)
		}
		if s := string(got); !strings.HasPrefix(s, before) || strings.Contains(s[len(before):], "\n") {
			t.Errorf("pieces of %d: the client reads %q", n, s)
		}
		if _, again := g.Read(make([]byte, 8)); !errors.Is(again, err) || len(told) != 1 || !errors.Is(told[0], err) {
			t.Errorf("pieces of %d: told %v, and then %v", n, told, again)
		}
	}
}

// TestAnAddressThatRefusesIsLeftAlone for a time since the connection was begun that was
// refused, and not because of a connection that is older.
func TestAnAddressThatRefusesIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, cause := new(dialer), errors.New("cause")
		expect := func(addr string, want error) {
			t.Helper()
			if err := d.refusal(addr); !errors.Is(err, want) {
				t.Errorf("%s: error %v, want %v", addr, err, want)
			}
		}
		old := time.Now().Add(redial)
		time.Sleep(redial)
		d.refuse("a", refusal{cause, old})
		expect("a", nil)
		d.refuse("a", refusal{cause, time.Now().Add(redial)})
		expect("a", cause)
		expect("b", nil)
		if _, err := d.dial(context.Background(), "a", &net.Dialer{}, nil); !errors.Is(err, cause) {
			t.Errorf("error %v, want %v", err, cause)
		}
		time.Sleep(redial - time.Nanosecond)
		d.refuse("b", refusal{cause, time.Now().Add(redial)})
		expect("a", cause)
		expect("b", cause)
		time.Sleep(time.Nanosecond)
		expect("a", nil)
		d.refuse("c", refusal{cause, time.Now().Add(redial)})
		if len(d.refused) != 2 {
			t.Errorf("%d addresses are kept, want those of b and c", len(d.refused))
		}
	})
}
