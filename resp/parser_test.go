package resp

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// parse feeds pieces to a parser and returns the commands, each in brackets, and the
// error that ended it.
func parse(p *parser, pieces ...string) (string, error) {
	var out []string
	for _, piece := range pieces {
		for len(piece) > 0 {
			n := copy(p.free(), piece)
			p.filled(n)
			piece = piece[n:]
			for {
				args, err := p.next()
				if errors.Is(err, errMore) {
					break
				}
				if err != nil {
					return strings.Join(out, " "), err
				}
				out = append(out, fmt.Sprintf("%q", args))
			}
		}
	}
	return strings.Join(out, " "), nil
}

func TestParser(t *testing.T) {
	for _, c := range []struct{ name, in, want, err string }{
		{"array", "*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n", `["ECHO" "hi"]`, ""},
		{"two", "*1\r\n$1\r\na\r\n*1\r\n$1\r\nb\r\n", `["a"] ["b"]`, ""},
		{"empty argument", "*2\r\n$1\r\na\r\n$0\r\n\r\n", `["a" ""]`, ""},
		{"line ends within", "*1\r\n$4\r\n\r\n\r\n\r\n", `["\r\n\r\n"]`, ""},
		{"no arguments", "*0\r\n*-1\r\n*1\r\n$1\r\na\r\n", `["a"]`, ""},
		{"half", "*2\r\n$4\r\nECHO\r\n$2\r\nh", "", ""},
		{"inline", "PING\r\n  ECHO\t hi  \n\r\n\n", `["PING"] ["ECHO" "hi"]`, ""},
		{"inline with quotes", `SET "a b\x41\n\"" 'it\'s \n' x"y z"` + "\r\n", `["SET" "a bA\n\"" "it's \\n" "xy z"]`, ""},
		{"inline and array", "PING\r\n*1\r\n$1\r\na\r\nPING\r\n", `["PING"] ["a"] ["PING"]`, ""},
		{"unbalanced", "ECHO \"a\r\n", "", "unbalanced quotes in request"},
		{"glued quotes", "ECHO \"a\"b\r\n", "", "unbalanced quotes in request"},
		{"count is no number", "*x\r\n", "", "invalid multibulk length"},
		{"count is empty", "*\r\n", "", "invalid multibulk length"},
		{"count is huge", "*1048577\r\n", "", "invalid multibulk length"},
		{"count overflows", "*99999999999999999999\r\n", "", "invalid multibulk length"},
		{"count without end", "*1111111111111111111111", "", "invalid multibulk length"},
		{"count with a newline only", "*1\n$1\na\n", "", "invalid multibulk length"},
		{"no bulk", "*1\r\n:1\r\n", "", "expected '$', got ':'"},
		{"bulk is negative", "*1\r\n$-1\r\n", "", "invalid bulk length"},
		{"bulk is huge", "*1\r\n$536870913\r\n", "", "invalid bulk length"},
		{"bulk overflows", "*1\r\n$18446744073709551617\r\n", "", "invalid bulk length"},
		{"bulk is longer than said", "*1\r\n$1\r\nabc\r\n", "", "no line end behind a bulk string"},
		{"long inline", strings.Repeat("a", maxInline), "", "too big inline request"},
		{"many words", strings.Repeat("a ", maxArgs+1) + "\r\n", "", "too many words in an inline request"},
		{"many arguments", "*5\r\n" + strings.Repeat(fmt.Sprintf("$%d\r\n%s\r\n", maxBulk, strings.Repeat("a", maxBulk)), 5), "", "command of more than 65536 bytes"},
	} {
		letters := make([]string, len(c.in))
		for i := range c.in {
			letters[i] = c.in[i : i+1]
		}
		for how, pieces := range map[string][]string{"at once": {c.in}, "byte by byte": letters} {
			p := new(parser)
			got, err := parse(p, pieces...)
			if c.err == "" && err != nil || c.err != "" && (err == nil || err.Error() != "Protocol error: "+c.err) {
				t.Errorf("%s, %s: %v, want %s", c.name, how, err, c.err)
			}
			if got != c.want {
				t.Errorf("%s, %s: %s, want %s", c.name, how, got, c.want)
			}
			if len(p.buf) > maxBytes {
				t.Errorf("%s, %s: a buffer of %d bytes", c.name, how, len(p.buf))
			}
		}
	}
}

func FuzzParser(f *testing.F) {
	for _, s := range []string{
		"*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n", "PING\r\n", "*-1\r\n", "*1\r\n$-1\r\n", "ECHO \"a\\x4\" 'b'\r\n", "*3\r\n$1\r\na", "\r\n\r\n*0\r\n", "\x00\xff*1",
		"*6\r\n$11\r\nCL.THROTTLE\r\n$1\r\nk\r\n$2\r\n15\r\n$2\r\n30\r\n$2\r\n60\r\n$1\r\n1\r\n",
	} {
		f.Add(s, uint8(1))
		f.Add(s, uint8(200))
	}
	f.Fuzz(func(t *testing.T, s string, step uint8) {
		var pieces []string
		for rest, n := s, max(1, int(step)); len(rest) > 0; {
			n = min(n, len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		whole, split := new(parser), new(parser)
		a, errA := parse(whole, s)
		b, errB := parse(split, pieces...)
		if a != b || fmt.Sprint(errA) != fmt.Sprint(errB) {
			t.Errorf("at once %s %v, in pieces %s %v", a, errA, b, errB)
		}
		if len(whole.buf) > maxBytes || len(split.buf) > maxBytes {
			t.Errorf("buffers of %d and %d bytes", len(whole.buf), len(split.buf))
		}
	})
}

// FuzzThrottle: whatever the words are, the answer is an error or five integers.
func FuzzThrottle(f *testing.F) {
	f.Add("user123", "15", "30", "60", "1")
	f.Add("", "-1", "", "99999999999999999999", "x")
	f.Add("k", "4503599627370495", "4503599627370496", "2160000000", "9223372036854775807")
	f.Fuzz(func(t *testing.T, key, burst, count, period, quantity string) {
		c := newConn(t)
		c.run([][]byte{[]byte("CL.THROTTLE"), []byte(key), []byte(burst), []byte(count), []byte(period), []byte(quantity)}, false)
		out := string(c.out.b)
		if strings.Count(out, "\r\n") != strings.Count(out, "\n") || !strings.HasPrefix(out, "*5\r\n:") && !strings.HasPrefix(out, "-ERR ") {
			t.Errorf("%q", out)
		}
		if strings.HasPrefix(out, "-") && strings.Count(out, "\n") != 1 {
			t.Errorf("%q", out)
		}
	})
}
