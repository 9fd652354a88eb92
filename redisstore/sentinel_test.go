package redisstore

import (
	"bufio"
	"bytes"
	"net"
	"testing"
	"time"
)

// toldConn is a connection on which somebody has said something.
type toldConn struct {
	net.Conn
	in *bytes.Reader
}

func (c toldConn) Read(b []byte) (int, error)  { return c.in.Read(b) }
func (c toldConn) Write(b []byte) (int, error) { return len(b), nil }
func (c toldConn) SetDeadline(time.Time) error { return nil }

// hear asks who is the master one who says text.
func hear(text []byte) (string, error) {
	s := &sentinel{Conn: toldConn{in: bytes.NewReader(text)}}
	s.in = bufio.NewReaderSize(s.Conn, maxTold)
	return s.masterOf(&Options{MasterSet: "mymaster"})
}

func TestWhatASentinelSays(t *testing.T) {
	for text, want := range map[string]string{
		"*2\r\n$9\r\n127.0.0.1\r\n$4\r\n6379\r\n": "127.0.0.1:6379",
		"*2\r\n$3\r\n::1\r\n$4\r\n6379\r\n":       "[::1]:6379",
		"*2\r\n+host.example\r\n+1\r\n":           "host.example:1",
		"*-1\r\n":                                 "",
		"_\r\n":                                   "",
		"-NOAUTH Authentication required.\r\n":    "",
		"*2\r\n$0\r\n\r\n$4\r\n6379\r\n":          "",
		"*2\r\n$4\r\n/tmp\r\n$4\r\n6379\r\n":      "",
		"*2\r\n$3\r\n::1\r\n$5\r\n63790\r\n":      "[::1]:63790",
		"*2\r\n$3\r\n::1\r\n$6\r\n637900\r\n":     "",
		"*2\r\n$-1\r\n$-1\r\n":                    "",
	} {
		if addr, err := hear([]byte(text)); addr != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", text, addr, err, want)
		}
	}
}

// FuzzSentinel: whatever one says is an address or an error.
func FuzzSentinel(f *testing.F) {
	for _, seed := range []string{"*2\r\n$9\r\n127.0.0.1\r\n$4\r\n6379\r\n", "*-1\r\n", "-ERR no\r\n", "*2\r\n+a\r\n+1\r\n", "$-1\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		addr, err := hear(text)
		if (addr == "") != (err != nil) || err == nil && (!isAddr(addr) || addr[0] == '/') {
			t.Fatalf("%q: %q, %v", text, addr, err)
		}
	})
}
