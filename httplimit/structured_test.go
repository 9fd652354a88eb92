package httplimit_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/httplimit"
)

// member is an Item of a List of structured fields: a String with Integers as
// parameters.
type member struct {
	name   string
	params map[string]int64
}

// parseList reads a List as RFC 9651 has it, section 4.2, as far as this package
// may write one.
func parseList(s string) ([]member, error) {
	p := &listParser{rest: strings.Trim(s, " ")}
	var list []member
	for {
		m, err := p.member()
		if err != nil {
			return nil, err
		}
		list = append(list, m)
		p.skip(" \t")
		if p.rest == "" {
			return list, nil
		}
		if !p.take(',') {
			return nil, fmt.Errorf("no comma before %q", p.rest)
		}
		if p.skip(" \t"); p.rest == "" {
			return nil, errors.New("comma at the end")
		}
	}
}

type listParser struct{ rest string }

func (p *listParser) take(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *listParser) skip(set string) { p.rest = strings.TrimLeft(p.rest, set) }

func (p *listParser) member() (member, error) {
	m := member{params: map[string]int64{}}
	var err error
	if m.name, err = p.text(); err != nil {
		return m, err
	}
	for p.take(';') {
		p.skip(" ")
		key := p.while("abcdefghijklmnopqrstuvwxyz0123456789_-.*")
		if key == "" || strings.Trim(key[:1], "abcdefghijklmnopqrstuvwxyz*") != "" {
			return m, fmt.Errorf("key %q before %q", key, p.rest)
		}
		if _, twice := m.params[key]; twice || !p.take('=') {
			return m, fmt.Errorf("parameter %q", key)
		}
		if m.params[key], err = p.integer(); err != nil {
			return m, err
		}
	}
	return m, nil
}

func (p *listParser) while(set string) string {
	n := len(p.rest) - len(strings.TrimLeft(p.rest, set))
	word := p.rest[:n]
	p.rest = p.rest[n:]
	return word
}

func (p *listParser) text() (string, error) {
	if !p.take('"') {
		return "", fmt.Errorf("no string at %q", p.rest)
	}
	var b strings.Builder
	for p.rest != "" {
		c := p.rest[0]
		p.rest = p.rest[1:]
		switch {
		case c == '"':
			return b.String(), nil
		case c == '\\':
			if p.rest == "" || p.rest[0] != '"' && p.rest[0] != '\\' {
				return "", errors.New("an escape of neither quote nor backslash")
			}
			c, p.rest = p.rest[0], p.rest[1:]
		case c < 0x20 || c > 0x7e:
			return "", fmt.Errorf("byte %#x in a string", c)
		}
		b.WriteByte(c)
	}
	return "", errors.New("string without an end")
}

func (p *listParser) integer() (int64, error) {
	negative := p.take('-')
	digits := p.while("0123456789")
	if digits == "" || len(digits) > 15 || strings.HasPrefix(p.rest, ".") {
		return 0, fmt.Errorf("integer %q before %q", digits, p.rest)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if negative {
		n = -n
	}
	return n, err
}

func FuzzStructuredFields(f *testing.F) {
	f.Add("default", "down\"load", int64(5), int64(4), int64(60e9), int64(1))
	f.Add(`\`, "é\x00%", int64(-1), int64(-1), int64(0), int64(-5))
	f.Add("a, b;q=1", "", int64(1)<<62, int64(1)<<62, int64(1)<<62, int64(1)<<62)
	f.Fuzz(func(t *testing.T, name1, name2 string, capacity, remaining, window, next int64) {
		if name1 == "" {
			t.Skip("no policy is without a name")
		}
		result := func(name string) stint.Result {
			return stint.Result{
				Policy: name, Capacity: capacity, Limit: stint.Limit{Count: 3, Window: time.Duration(window)},
				Verdict: stint.Verdict{OK: true, Remaining: remaining, NextAfter: time.Duration(next)},
			}
		}
		r1, r2 := result(name1), result(name2)
		d := decide(func(_ stint.Source, d *stint.Decision) error {
			d.Allowed, d.Result = true, r1
			d.Results = append(d.Results, r1, r2)
			return nil
		})
		h := newMiddleware(t, httplimit.Options{Decider: d, Headers: httplimit.GitHub | httplimit.IETF})(hello)
		res := get(t, h)
		for field, required := range map[string][]string{"RateLimit-Policy": {"q", "w"}, "RateLimit": {"r"}} {
			list, err := parseList(res.Header.Get(field))
			if err != nil {
				t.Fatalf("%s: %q: %v", field, res.Header.Get(field), err)
			}
			if len(list) != 2 || list[0].name != printable(name1) || list[1].name != printable(name2) {
				t.Fatalf("%s: %q is %+v", field, res.Header.Get(field), list)
			}
			for _, m := range list {
				for key, n := range m.params {
					if n < 0 || key == "w" && n < 1 {
						t.Errorf("%s: %s is %d", field, key, n)
					}
				}
				for _, key := range required {
					if _, ok := m.params[key]; !ok {
						t.Errorf("%s: no %s", field, key)
					}
				}
			}
		}
		for i := range len(res.Header.Get("X-RateLimit-Resource")) {
			if c := res.Header.Get("X-RateLimit-Resource")[i]; c < ' ' || c > '~' {
				t.Errorf("byte %#x in a header", c)
			}
		}
	})
}

// printable is s with percent escapes for all that is not printable ASCII.
func printable(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c < 0x20 || c > 0x7e {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
