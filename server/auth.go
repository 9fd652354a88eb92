package server

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// fieldStatus is the header with the status that the client should see, on a
// refusal whose own status the proxy asked to be another one.
const fieldStatus = "Stint-Status"

// forwardAuth answers /v1/auth: 200 if the request that a trusted proxy forwards
// may go on, or the refusal that its client should see, either with the rate
// headers. With ?deny=403 refusals have that status, for proxies that take no
// other, and say in Stint-Status which one it would have been.
//
// What is wrong with the proxy's question is a 400: none of the statuses that
// proxies show to clients as a refusal.
func (s *Server) forwardAuth(w http.ResponseWriter, r *http.Request) {
	deny, err := denyStatus(r.URL)
	if err != nil {
		refuse(w, r, http.StatusBadRequest, err.Error())
		return
	}
	if !s.clients.Trusts(r.RemoteAddr) {
		refuse(w, r, http.StatusBadRequest, "The peer is not one of trusted_proxies, so what it says about a client does not count: "+
			"add its address there if it is your proxy.")
		return
	}
	t, err := forwarded(r.Header)
	if name := s.clients.Header(); err == nil && len(r.Header[name]) == 0 {
		err = fmt.Errorf("the header %s is missing: have the proxy name the client in it", name)
	}
	if err != nil {
		refuse(w, r, http.StatusBadRequest, err.Error())
		return
	}
	s.auth.ServeHTTP(&authWriter{ResponseWriter: w, asked: r, about: &t, deny: deny}, t.request(r))
}

// denyStatus reads the status of refusals from the query; 0 if it asks for none.
func denyStatus(u *url.URL) (int, error) {
	if u.RawQuery == "" {
		return 0, nil
	}
	query, err := url.ParseQuery(u.RawQuery)
	for name, values := range query {
		if name != "deny" || len(values) != 1 {
			err = fmt.Errorf("the query has more than deny")
		}
	}
	n, bad := strconv.Atoi(query.Get("deny"))
	if err != nil || bad != nil || n < 400 || n > 599 {
		return 0, fmt.Errorf("the query is not understood: write /v1/auth, or /v1/auth?deny=403 with a status from 400 to 599")
	}
	return n, nil
}

// passed answers for a request that may go on.
func passed(w http.ResponseWriter, _ *http.Request) {
	if a, ok := w.(*authWriter); ok {
		a.allowed = true
	}
	w.Header()["Cache-Control"] = []string{"no-store"}
	w.WriteHeader(http.StatusOK)
}

// authWriter makes the answer to a client one to its proxy.
type authWriter struct {
	http.ResponseWriter
	asked   *http.Request // the proxy's request
	about   *target
	deny    int
	allowed bool
	wrote   bool
}

// WriteHeader implements http.ResponseWriter. The refusal of a gRPC request is a
// 200 to its client; to the proxy it has to be a refusal.
func (w *authWriter) WriteHeader(status int) {
	if !w.wrote && !w.allowed {
		if status < http.StatusBadRequest {
			status = http.StatusTooManyRequests
		}
		if w.deny != 0 {
			w.Header()[fieldStatus] = []string{strconv.Itoa(status)}
			status = w.deny
		}
		if w.about.method == http.MethodHead && w.asked.Method != http.MethodHead {
			w.Header().Del("Content-Length") // That of a body that is not sent.
		}
	}
	w.wrote = true
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *authWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
