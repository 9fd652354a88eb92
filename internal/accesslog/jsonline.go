package accesslog

import (
	"strings"
	"time"
)

// jsonLine is what one JSON line says, before it is known which of its fields to believe.
type jsonLine struct {
	entry  *Entry
	values [fields]value
	known  bool // Some field beside the time is one of ours.
}

// parseJSON reads a line that is a JSON object: a flat one as nginx, Traefik and Envoy
// write it, or one with a request inside as Caddy does.
func parseJSON(e *Entry, line string, where *time.Location) Reason {
	l := jsonLine{entry: e}
	o := object{text: line}
	for o.next() {
		if o.key == "request" && o.value.isObject() {
			o.broken = !l.request(o.value.text)
		} else {
			l.member(o.key, o.value)
		}
	}
	if o.broken || trimSpace(o.text) != "" {
		return BadJSON
	}
	return l.fill(where)
}

func (l *jsonLine) member(key string, v value) {
	f := fieldOf(key)
	if f != unknownField {
		l.set(f, v)
		return
	}
	if h, ok := headerOf(key); ok {
		h.value = v.string()
		l.entry.add(h)
	}
}

// set keeps a value, the first where several keys mean one field.
func (l *jsonLine) set(f field, v value) {
	if v.kind == composite || l.values[f].kind != absent {
		return
	}
	if text := v.text; text == "" || text == "-" || v.kind == bare && text == "null" {
		return
	}
	l.values[f] = v
	l.known = l.known || f > lastTime
}

// request reads the object that Caddy puts the request into.
func (l *jsonLine) request(text string) bool {
	o := object{text: text}
	for o.next() {
		switch o.key {
		case "headers":
			o.broken = !l.headers(o.value)
		case "remote_ip", "client_ip", "remote_addr", "proto", "method", "host", "uri":
			l.set(fieldOf(o.key), o.value)
		}
	}
	return !o.broken
}

// headers reads an object of arrays, one element for each line of a header.
func (l *jsonLine) headers(v value) bool {
	if !v.isObject() {
		return true
	}
	o := object{text: v.text}
	for o.next() {
		h := header{name: o.key}
		if o.value.kind == composite {
			var ok bool
			if h.value, ok = joined(o.value.text, separatorOf(h)); !ok {
				return false
			}
		} else {
			h.value = o.value.string()
		}
		l.entry.add(h)
	}
	return !o.broken
}

// separatorOf returns what joins the lines of a header: RFC 9110 has a comma, and RFC 9113
// a semicolon for cookies.
func separatorOf(h header) string {
	if h.is("cookie") {
		return "; "
	}
	return ", "
}

func joined(array, separator string) (string, bool) {
	o := object{text: array}
	all := ""
	for o.element() {
		if all != "" {
			return joinRest(all, o, separator)
		}
		all = o.value.string()
	}
	return all, !o.broken
}

// joinRest joins the first element and those from o.value on.
func joinRest(first string, o object, separator string) (string, bool) {
	var b strings.Builder
	b.WriteString(first)
	for more := true; more; more = o.element() {
		if s := o.value.string(); s != "" {
			b.WriteString(separator)
			b.WriteString(s)
		}
	}
	return b.String(), !o.broken
}

// fill turns the fields into an entry.
func (l *jsonLine) fill(where *time.Location) Reason {
	if !l.known {
		return NotKnown
	}
	stamp := l.first(startUTC, lastTime)
	if stamp == "" {
		return NoTime
	}
	e := l.entry
	var ok bool
	if e.Time, ok = parseTime(stamp, where); !ok {
		return BadTime
	}
	if reason := l.peer(); reason != readable {
		return reason
	}
	l.line()
	e.Host = hostOf(l.first(requestHost, lastHost))
	e.Status = statusOf(l.text(statusField))
	e.RemoteUser = l.text(userField)
	return readable
}

// peer reads the address, out of the first field that holds one: a peer on a socket file
// has none. Another address is the client as the server itself took it from the headers
// (Traefik's ClientHost is the first X-Forwarded-For as it came), and so it serves as
// X-Forwarded-For where the log has none.
func (l *jsonLine) peer() Reason {
	e := l.entry
	reason, forwarded := NoAddress, ""
	for f := directAddr; f <= lastAddrField; f++ {
		s := l.text(f)
		if s == "" {
			continue
		}
		addr, ok := lastAddr(s)
		if !ok {
			reason = BadAddress
			continue
		}
		if !e.Addr.IsValid() {
			e.Addr = addr
		}
		if strings.IndexByte(s, ',') >= 0 {
			forwarded = s
		} else if addr != e.Addr && forwarded == "" {
			forwarded, _ = withoutPort(s)
		}
	}
	if !e.Addr.IsValid() {
		return reason
	}
	if forwarded != "" && !e.has("X-Forwarded-For") {
		e.add(header{name: "X-Forwarded-For", value: forwarded})
	}
	return readable
}

// line reads method, path and protocol, out of the request line where they have no fields
// of their own.
func (l *jsonLine) line() {
	e := l.entry
	e.setRequest(l.text(requestLine))
	method, path := l.text(methodField), l.first(requestURI, pathField)
	if path == "" && e.Path == "" {
		path = l.normalized()
	}
	if method != "" {
		e.Method = method
	}
	if path != "" {
		e.Path = path
	}
	if e.Proto == "" {
		e.Proto = l.text(protoField)
	}
	if !isToken(e.Method) || e.Path != "" && !isTarget(e.Method, e.Path) {
		e.Method, e.Path, e.Proto = "", "", ""
	}
}

// normalized returns the path of a log that keeps it and the query apart.
func (l *jsonLine) normalized() string {
	path, query := l.text(uriField), l.text(argsField)
	if path == "" || query == "" || strings.IndexByte(path, '?') >= 0 {
		return path
	}
	return path + "?" + query
}

func (l *jsonLine) text(f field) string { return l.values[f].string() }

// first returns the text of the first field from one to another that has any.
func (l *jsonLine) first(from, to field) string {
	for f := from; f <= to; f++ {
		if s := l.text(f); s != "" {
			return s
		}
	}
	return ""
}
