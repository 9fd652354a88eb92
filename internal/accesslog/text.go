package accesslog

import (
	"strings"
	"time"
)

// parseText reads a line of the Common or Combined Log Format:
//
//	[vhost:port] address ident user [time] "request" status bytes "referer" "user agent" …
//
// Of what follows, a quoted field directly behind the user agent is X-Forwarded-For where
// it ends in an address, as in the format that nginx calls main; the rest is not read.
func parseText(e *Entry, line string, where *time.Location) Reason {
	head, stamp, rest, ok := cutStamp(line)
	if !ok {
		return withoutStamp(line)
	}
	if e.Time, ok = parseTime(stamp, where); !ok {
		return badStamp(stamp)
	}
	if reason := e.setPeer(head); reason != readable {
		return reason
	}
	request, rest, ok := cutQuoted(rest)
	if !ok {
		return BadRequest
	}
	e.setRequest(request)
	e.setAnswer(rest)
	return readable
}

// cutStamp finds the time, in brackets before the first quoted field. A user name may hold
// brackets, but no quote that is not escaped.
func cutStamp(line string) (head, stamp, rest string, ok bool) {
	end := strings.Index(line, `] "`)
	quote := end + 2
	if end < 0 {
		quote = strings.Index(line, ` "`) + 1
		end = strings.LastIndexByte(line[:quote], ']')
	}
	if end < 0 {
		return "", "", "", false
	}
	start := strings.LastIndexByte(line[:end], '[')
	if start < 0 || start > 0 && line[start-1] != ' ' {
		return "", "", "", false
	}
	return strings.Trim(line[:start], " "), line[start+1 : end], line[quote:], true
}

// withoutStamp tells a line that begins like ours from one of another kind.
func withoutStamp(line string) Reason {
	first, rest, _ := strings.Cut(line, " ")
	second, _, _ := strings.Cut(rest, " ")
	_, plain := parseAddr(first)
	_, behindHost := parseAddr(second)
	switch {
	case !plain && !behindHost:
		return NotKnown
	case hasStamp(rest):
		return BadRequest
	}
	return NoTime
}

// hasStamp reports whether a bracket in s opens on a time.
func hasStamp(s string) bool {
	_, inside, _ := strings.Cut(s, " [")
	stamp, _, closed := strings.Cut(inside, "]")
	_, ok := parseTime(stamp, nil)
	return closed && ok
}

func badStamp(stamp string) Reason {
	switch number, _ := digits(stamp); {
	case number != "":
		return BadTime
	case stamp == "" || stamp == "-":
		return NoTime
	}
	return NotKnown
}

// setPeer reads what stands before the time.
func (e *Entry) setPeer(head string) Reason {
	first, rest := cutList(head)
	if vhost(first, rest) {
		e.Host = hostOf(first)
		first, rest = cutList(rest)
	}
	if first == "" || first == "-" {
		return NoAddress
	}
	var ok bool
	if e.Addr, ok = lastAddr(first); !ok {
		return BadAddress
	}
	if strings.IndexByte(first, ',') >= 0 {
		e.add(header{name: "X-Forwarded-For", value: first})
	}
	_, user, _ := strings.Cut(rest, " ")
	if user = unescape(strings.Trim(user, " ")); user != "-" && user != `""` {
		e.RemoteUser = user
	}
	return readable
}

// vhost reports whether first is the virtual host before the address: then an address
// follows it, and an ident and a user follow that. Where first itself is an address it has
// to have a port, as the virtual hosts that Debian's Apache writes.
func vhost(first, rest string) bool {
	second, tail := cutList(rest)
	if _, ok := lastAddr(second); !ok || strings.IndexByte(tail, ' ') < 0 {
		return false
	}
	_, isAddr := parseAddr(first)
	host, _ := withoutPort(first)
	return !isAddr || host != first
}

// cutList cuts the first word off, or the first list of words that are joined by commas.
func cutList(s string) (list, rest string) {
	for i := 0; ; i++ {
		space := strings.IndexByte(s[i:], ' ')
		if space < 0 {
			return s, ""
		}
		if i += space; i == 0 || s[i-1] != ',' {
			return s[:i], strings.TrimLeft(s[i:], " ")
		}
	}
}

// setAnswer reads what stands behind the request.
func (e *Entry) setAnswer(s string) {
	status, s, _ := strings.Cut(strings.TrimLeft(s, " "), " ")
	e.Status = statusOf(status)
	quote := strings.IndexByte(s, '"')
	if quote < 0 {
		return
	}
	referer, s, _ := cutQuoted(s[quote:])
	e.add(header{name: "Referer", value: referer})
	agent, s, _ := cutQuoted(strings.TrimPrefix(s, " "))
	e.add(header{name: "User-Agent", value: agent})
	forwarded, _, _ := cutQuoted(strings.TrimPrefix(s, " "))
	if _, ok := lastAddr(forwarded); ok {
		e.add(header{name: "X-Forwarded-For", value: forwarded})
	}
}
