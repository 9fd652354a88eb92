package httplimit

import (
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/stint-dev/stint"
)

// The problem types of the IETF draft.
const (
	typeQuota   = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	typeReduced = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
)

// appendProblem writes the body of a refusal, problem details of RFC 9457. wait is
// in seconds, 0 if there is none. What the client did not do by itself, it is not
// told numbers about.
func appendProblem(b []byte, d *stint.Decision, status int, wait int64) []byte {
	kind, title := typeQuota, "Quota exceeded"
	quota := true
	switch d.Reason {
	case stint.ReasonUnavailable:
		kind, title, quota = typeReduced, "Rate limiter unavailable", false
	case stint.ReasonMissingKey, stint.ReasonTooLarge:
		kind, title, quota = "about:blank", http.StatusText(status), false
	}
	b = append(b, `{"type":`...)
	b = appendJSON(b, kind)
	b = append(b, `,"title":`...)
	b = appendJSON(b, title)
	b = append(b, `,"status":`...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, `,"detail":"`...)
	start := len(b)
	b = appendDetail(b, d, wait)
	b = appendJSON(b[:start-1], string(b[start:]))
	if quota && d.Policy != "" {
		b = append(b, `,"violated-policies":[`...)
		b = appendViolated(b, d)
		b = append(b, `],"limit":`...)
		b = append(d.Limit.Append(append(b, '"')), '"')
	}
	if d.Policy != "" {
		b = append(b, `,"rule":`...)
		b = appendJSON(b, d.Policy)
	}
	if wait > 0 {
		b = append(b, `,"retry_after":`...)
		b = strconv.AppendInt(b, wait, 10)
	}
	return append(b, "}\n"...)
}

// appendViolated lists the policies that refused.
func appendViolated(b []byte, d *stint.Decision) []byte {
	listed := false
	for i := range d.Results {
		r := &d.Results[i]
		if r.OK || r.Shadow || r.Unlimited {
			continue
		}
		if listed {
			b = append(b, ',')
		}
		b, listed = appendJSON(b, r.Policy), true
	}
	if !listed {
		b = appendJSON(b, d.Policy)
	}
	return b
}

// appendDetail says in a sentence why a request was refused.
func appendDetail(b []byte, d *stint.Decision, wait int64) []byte {
	switch d.Reason {
	case stint.ReasonUnavailable:
		b = append(b, "The rate limiter is unavailable. The cause is not with the client."...)
	case stint.ReasonMissingKey:
		b = append(b, "The request lacks a value that the limit needs to tell clients apart."...)
	case stint.ReasonTooLarge:
		b = append(b, "A part of the request is larger than the rate limiter reads."...)
	case stint.ReasonBlocked:
		b = append(append(b, "All requests are refused by "...), d.Policy...)
		b = append(b, '.')
	case stint.ReasonNever:
		b = append(strconv.AppendInt(append(b, "The request costs "...), d.Cost, 10), ", which is more than "...)
		b = append(append(b, d.Policy...), " ever lets through ("...)
		b = append(strconv.AppendInt(b, d.Capacity, 10), ")."...)
	case stint.ReasonLimit:
		b = append(append(b, "Over the limit of "...), d.Policy...)
		b = append(b, '.')
	default:
		b = append(b, "The request was refused."...)
	}
	if wait > 0 {
		b = strconv.AppendInt(append(b, " Try again in "...), wait, 10)
		b = append(b, " s."...)
	}
	return b
}

// appendJSON writes a JSON string. Bytes that are not UTF-8 are replaced.
func appendJSON(b []byte, s string) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"', c == '\\':
			b = append(b, '\\', c)
		case c < ' ', c == 0x7f:
			b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		case c < utf8.RuneSelf:
			b = append(b, c)
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r)
			i += n
			continue
		}
		i++
	}
	return append(b, '"')
}
