package httplimit

import (
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/clientip"
)

// source is a request as rules see it. It allocates only where a value has to be
// rewritten: a host in upper case, an escaped query value, a body.
type source struct {
	r       *http.Request
	clients *clientip.Resolver
	maxBody int

	addr    netip.Addr
	hasAddr bool
	host    string
	body    []byte
	hasBody bool
}

var _ stint.WaitingSource = (*source)(nil)

// Addr implements [stint.Source].
func (s *source) Addr() netip.Addr {
	if !s.hasAddr {
		var lines []string
		if s.clients.TrustsAny() {
			lines = s.r.Header[s.clients.Header()]
		}
		s.addr, s.hasAddr = s.clients.Client(s.r.RemoteAddr, lines), true
	}
	return s.addr
}

// Deadline implements [stint.WaitingSource].
func (s *source) Deadline() (time.Time, bool) { return s.r.Context().Deadline() }

// Value implements [stint.Source].
func (s *source) Value(f stint.Field) (string, bool) {
	switch f.Kind {
	case stint.FieldMethod:
		return s.method(), true
	case stint.FieldPath:
		return s.path(), true
	case stint.FieldHost:
		return s.hostName()
	case stint.FieldHeader:
		return s.header(f.Name)
	case stint.FieldQuery:
		return s.query(f.Name)
	case stint.FieldCookie:
		return cookieValue(s.r.Header["Cookie"], f.Name)
	case stint.FieldJSON:
		return s.json(f.Name)
	}
	return "", false
}

// method is the method; an empty one means GET, as for net/http.
func (s *source) method() string {
	if s.r.Method == "" {
		return http.MethodGet
	}
	return s.r.Method
}

func (s *source) path() string {
	if s.r.URL == nil {
		return ""
	}
	return rawPath(s.r.URL, s.r.RequestURI)
}

func (s *source) query(name string) (string, bool) {
	if s.r.URL == nil {
		return "", false
	}
	return queryValue(s.r.URL.RawQuery, name)
}

// header returns the first line. The server keeps Host apart from the others.
func (s *source) header(name string) (string, bool) {
	if lines := s.r.Header[name]; len(lines) > 0 {
		return lines[0], true
	}
	if name == "Host" && s.r.Host != "" {
		return s.r.Host, true
	}
	return "", false
}

// hostName returns the host in lower case, without port and the dot of a fully
// qualified name.
func (s *source) hostName() (string, bool) {
	if s.host == "" {
		s.host = strings.ToLower(clientip.BareHost(s.r.Host))
	}
	return s.host, s.host != ""
}
