package server

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/clientip"
	"github.com/stint-dev/stint/internal/wire"
)

// source is a described request as rules see it. Values that are given by name go
// before those in the path's query and in a Cookie header.
type source struct{ r *wire.Request }

var _ stint.Source = (*source)(nil)

// Addr implements [stint.Source].
func (s *source) Addr() netip.Addr { return s.r.IP }

// Value implements [stint.Source].
func (s *source) Value(f stint.Field) (string, bool) {
	switch f.Kind {
	case stint.FieldMethod:
		return s.r.Method, s.r.Method != ""
	case stint.FieldPath:
		path, _ := s.r.Target()
		return path, path != ""
	case stint.FieldHost:
		host := strings.ToLower(clientip.BareHost(s.r.Host))
		return host, host != ""
	}
	if value, ok := s.r.Value(f); ok {
		return value, true
	}
	switch f.Kind {
	case stint.FieldQuery:
		return s.query(f.Name)
	case stint.FieldCookie:
		return s.cookie(f.Name)
	}
	return "", false
}

// query returns the first value of a parameter of the path's query.
func (s *source) query(name string) (string, bool) {
	_, query := s.r.Target()
	if query == "" {
		return "", false
	}
	// What is wrong with other parameters does not matter to this one.
	values, _ := url.ParseQuery(query)
	if list := values[name]; len(list) > 0 {
		return list[0], true
	}
	return "", false
}

// cookie returns the first value of a cookie in the Cookie header.
func (s *source) cookie(name string) (string, bool) {
	line, ok := s.r.Value(stint.Field{Kind: stint.FieldHeader, Name: "Cookie"})
	if !ok || name == "" {
		return "", false
	}
	cookie, err := (&http.Request{Header: http.Header{"Cookie": {line}}}).Cookie(name)
	if err != nil {
		return "", false
	}
	return cookie.Value, true
}
