package resp

import "strconv"

// reply is what a client is answered, in one of the two versions of the protocol.
type reply struct {
	b     []byte
	resp3 bool
}

func (r *reply) int(n int64) {
	r.b = strconv.AppendInt(append(r.b, ':'), n, 10)
	r.b = append(r.b, "\r\n"...)
}

// simple writes a text without line ends.
func (r *reply) simple(s string) { r.b = append(append(append(r.b, '+'), s...), "\r\n"...) }

// fail writes an error; s begins with its kind, in capitals.
func (r *reply) fail(s string) {
	r.b = append(r.b, '-')
	for i := range len(s) {
		c := s[i]
		if c == '\r' || c == '\n' {
			c = ' '
		}
		r.b = append(r.b, c)
	}
	r.b = append(r.b, "\r\n"...)
}

func (r *reply) bulk(s string) {
	r.head('$', len(s))
	r.b = append(append(r.b, s...), "\r\n"...)
}

func (r *reply) null() {
	if r.resp3 {
		r.b = append(r.b, "_\r\n"...)
		return
	}
	r.b = append(r.b, "$-1\r\n"...)
}

func (r *reply) array(n int) { r.head('*', n) }

// mapping begins n pairs.
func (r *reply) mapping(n int) {
	if r.resp3 {
		r.head('%', n)
		return
	}
	r.head('*', 2*n)
}

func (r *reply) head(kind byte, n int) {
	r.b = strconv.AppendInt(append(r.b, kind), int64(n), 10)
	r.b = append(r.b, "\r\n"...)
}

// printable is the beginning of what a client sent, fit for an error.
func printable(b []byte) string {
	const most = 64
	out := make([]byte, 0, most)
	for _, c := range b[:min(len(b), most)] {
		if c < ' ' || c > '~' || c == '\'' {
			c = '?'
		}
		out = append(out, c)
	}
	return string(out)
}
