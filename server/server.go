package server

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/internal/clientip"
)

// Server is the handler of the decision service. Make one with New. It is safe for
// concurrent use.
type Server struct {
	decider     stint.Decider
	decideN     decideN
	charger     Charger
	limiter     *stint.Limiter
	failOpen    bool
	onError     func(error)
	bodyTimeout time.Duration
	clients     *clientip.Resolver
	auth        http.Handler
	routes      map[string]route
	scratch     sync.Pool
}

var _ http.Handler = (*Server)(nil)

// route is what answers on a path.
type route struct {
	methods []string // none for any
	serve   http.HandlerFunc
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	route, ok := s.routes[r.URL.Path]
	if r.ContentLength != 0 {
		bodyUntil(w, time.Now().Add(s.bodyTimeout))
	}
	switch {
	case !ok:
		refuse(w, r, http.StatusNotFound, "Nothing is here. There are "+strings.Join(slices.Sorted(maps.Keys(s.routes)), ", ")+".")
	case route.methods != nil && !slices.Contains(route.methods, r.Method):
		w.Header().Set("Allow", strings.Join(route.methods, ", "))
		refuse(w, r, http.StatusMethodNotAllowed, "This path takes "+strings.Join(route.methods, " and ")+".")
	default:
		route.serve(w, r)
	}
}
