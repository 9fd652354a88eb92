package replay

import (
	"net/netip"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/accesslog"
	"github.com/stint-dev/stint/internal/clientip"
)

// source is a line of a log as rules see it.
type source struct {
	entry   *accesslog.Entry
	clients *clientip.Resolver
	trusts  bool // some proxy is trusted
	fields  []fieldUse

	addr    netip.Addr
	hasAddr bool
	target  target
	split   bool
}

var _ stint.Source = (*source)(nil)

// fieldUse counts what the log has of a field that rules asked for.
type fieldUse struct {
	stint.Field
	found    int64
	redacted int64
}

// set makes s the source of a line.
func (s *source) set(e *accesslog.Entry) {
	s.entry, s.hasAddr, s.split = e, false, false
}

// Addr implements [stint.Source].
func (s *source) Addr() netip.Addr {
	if s.hasAddr {
		return s.addr
	}
	s.addr, s.hasAddr = s.entry.Addr, true
	if s.trusts {
		if chain, ok := s.entry.Header(s.clients.Header()); ok {
			s.addr = s.clients.Client(s.addr.String(), []string{chain})
		}
	}
	return s.addr
}

// Value implements [stint.Source].
func (s *source) Value(f stint.Field) (string, bool) {
	value, ok := s.value(f)
	s.note(f, value, ok)
	return value, ok && value != accesslog.Redacted
}

func (s *source) value(f stint.Field) (string, bool) {
	if !s.split {
		s.target, s.split = splitTarget(s.entry), true
	}
	switch f.Kind {
	case stint.FieldMethod:
		return s.entry.Method, s.entry.Method != ""
	case stint.FieldPath:
		return s.target.path, s.target.path != ""
	case stint.FieldHost:
		return s.target.host, s.target.host != ""
	case stint.FieldHeader:
		return s.entry.Header(f.Name)
	case stint.FieldQuery:
		return queryValue(s.target.query, f.Name)
	case stint.FieldCookie:
		cookies, ok := s.entry.Header("Cookie")
		if !ok || cookies == accesslog.Redacted {
			return cookies, ok
		}
		return cookieValue(cookies, f.Name)
	}
	return "", false
}

// note counts what the log has of f.
func (s *source) note(f stint.Field, value string, ok bool) {
	for i := range s.fields {
		if u := &s.fields[i]; u.Field == f {
			if ok {
				u.found++
			}
			if value == accesslog.Redacted {
				u.redacted++
			}
			return
		}
	}
	s.fields = append(s.fields, fieldUse{Field: f})
	s.note(f, value, ok)
}

// target is a request target in its parts.
type target struct{ path, query, host string }

// splitTarget reads the target of a line. Most begin with a slash; a client of a
// proxy sends the host before it, and that one counts.
func splitTarget(e *accesslog.Entry) target {
	t := target{path: e.Path, host: strings.ToLower(e.Host)}
	if _, rest, ok := strings.Cut(t.path, "://"); ok && t.path[0] != '/' {
		slash := strings.IndexAny(rest, "/?")
		if slash < 0 {
			slash = len(rest)
		}
		t.host, t.path = bareHost(rest[:slash]), rest[slash:]
		if !strings.HasPrefix(t.path, "/") {
			t.path = "/" + t.path
		}
	}
	t.path, t.query, _ = strings.Cut(t.path, "?")
	return t
}

// bareHost takes what is before an @ and the port off, and the brackets.
func bareHost(s string) string {
	s = strings.ToLower(s[strings.LastIndexByte(s, '@')+1:])
	if strings.HasPrefix(s, "[") {
		host, _, _ := strings.Cut(s[1:], "]")
		return host
	}
	host, _, _ := strings.Cut(s, ":")
	return host
}

// queryValue returns the first value of a parameter, as net/url would: a pair
// with a semicolon or a broken escape does not count.
func queryValue(query, name string) (string, bool) {
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if pair == "" || strings.Contains(pair, ";") {
			continue
		}
		key, value, _ := strings.Cut(pair, "=")
		if key, ok := unescape(key); !ok || key != name {
			continue
		}
		if value, ok := unescape(value); ok {
			return value, true
		}
	}
	return "", false
}

func unescape(s string) (string, bool) {
	if !strings.ContainsAny(s, "%+") {
		return s, true
	}
	plain, err := url.QueryUnescape(s)
	return plain, err == nil
}

// cookieValue returns the first value of a cookie, as net/http would: one with a
// byte that a cookie may not hold does not count.
func cookieValue(cookies, name string) (string, bool) {
	for cookies != "" {
		var pair string
		pair, cookies, _ = strings.Cut(cookies, ";")
		key, value, _ := strings.Cut(textproto.TrimString(pair), "=")
		if name == "" || textproto.TrimString(key) != name {
			continue
		}
		if n := len(value); n > 1 && value[0] == '"' && value[n-1] == '"' {
			value = value[1 : n-1]
		}
		if strings.IndexFunc(value, noCookieRune) < 0 {
			return value, true
		}
	}
	return "", false
}

func noCookieRune(r rune) bool {
	return r < ' ' || r >= 0x7f || r == '"' || r == ';' || r == '\\'
}
