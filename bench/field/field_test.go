package field

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"
)

// TestEveryoneLimitsTheSame holds that what is compared does the same work: three
// at once for each key, and no more.
func TestEveryoneLimitsTheSame(t *testing.T) {
	for _, e := range Entries() {
		if e.Blocks {
			continue
		}
		l := e.Open(Quota{Count: 3, Window: 24 * time.Hour})
		for k := range 100 {
			passed := 0
			for range 5 {
				if l.Allow("client " + strconv.Itoa(k)) {
					passed++
				}
			}
			if passed != 3 {
				t.Errorf("%s: %d of 5 passed for a key, want 3", e.Name, passed)
				break
			}
		}
		l.Close()
	}
}

func TestEveryMiddlewareRefuses(t *testing.T) {
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	for _, m := range Middlewares() {
		h := m.Wrap(Quota{Count: 2, Window: time.Hour}, ok)
		for i, want := range []int{http.StatusNoContent, http.StatusNoContent, http.StatusTooManyRequests} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
			if w.Code != want {
				t.Errorf("%s: answer %d is %d, want %d", m.Name, i, w.Code, want)
			}
			if w.Header().Get("X-Ratelimit-Limit") != "2" {
				t.Errorf("%s: headers %v have no limit of 2", m.Name, w.Header())
			}
		}
	}
}
