package server_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// quiet is a writer that keeps nothing.
type quiet struct{ header http.Header }

func (q *quiet) Header() http.Header         { return q.header }
func (q *quiet) Write(p []byte) (int, error) { return len(p), nil }
func (q *quiet) WriteHeader(int)             {}

// SetReadDeadline is what servers have.
func (q *quiet) SetReadDeadline(time.Time) error { return nil }

// asking returns a function that asks the handler, without a network.
func asking(t testing.TB, path, body string, header http.Header) func() {
	t.Helper()
	s := serve(t)
	r, err := http.NewRequest(http.MethodPost, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.RemoteAddr, r.ContentLength = proxy, int64(len(body))
	r.Header = header
	text := []byte(body)
	reader := bytes.NewReader(text)
	r.Body = io.NopCloser(reader)
	w := &quiet{header: http.Header{}}
	return func() {
		reader.Reset(text)
		clear(w.header)
		s.ServeHTTP(w, r)
	}
}

var asJSON = http.Header{"Content-Type": {"application/json"}}

var questions = map[string]string{
	"described": `{"method":"GET","path":"/v1/other?q=rate","host":"api.example","ip":"192.0.2.7","headers":{"X-Api-Key":"k_acme"}}`,
	"named":     `{"charges":[{"rule":"whole-service","cost":0}]}`,
	"batch100":  `{"checks":[` + strings.Repeat(`{"method":"GET","path":"/v1/other","ip":"192.0.2.7"},`, 99) + `{"path":"/"}]}`,
}

func forwardedHeader() http.Header {
	h := http.Header{}
	for _, line := range forward("/v1/other") {
		name, value, _ := strings.Cut(line, ": ")
		h.Set(name, value)
	}
	return h
}

// TestAllocations: what a check costs besides net/http.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for name, most := range map[string]float64{"described": 4, "named": 3, "batch100": 3} {
		if n := testing.AllocsPerRun(200, asking(t, "/v1/check", questions[name], asJSON)); n > most {
			t.Errorf("%s: %v allocations, want at most %v", name, n, most)
		} else {
			t.Logf("%s: %v allocations", name, n)
		}
	}
	if n := testing.AllocsPerRun(200, asking(t, "/v1/auth", "", forwardedHeader())); n > 7 {
		t.Errorf("forward auth: %v allocations", n)
	} else {
		t.Logf("forward auth: %v allocations", n)
	}
}

func BenchmarkCheck(b *testing.B) {
	for name, body := range questions {
		b.Run(name, func(b *testing.B) {
			ask := asking(b, "/v1/check", body, asJSON)
			b.ReportAllocs()
			for b.Loop() {
				ask()
			}
		})
	}
	b.Run("auth", func(b *testing.B) {
		ask := asking(b, "/v1/auth", "", forwardedHeader())
		b.ReportAllocs()
		for b.Loop() {
			ask()
		}
	})
}

// BenchmarkOverHTTP asks over the loopback interface, one connection for each
// goroutine.
func BenchmarkOverHTTP(b *testing.B) {
	for name, body := range questions {
		b.Run(name, func(b *testing.B) {
			url := "http://" + serve(b).listen() + "/v1/check"
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				transport := &http.Transport{}
				defer transport.CloseIdleConnections()
				for pb.Next() {
					r, _ := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
					r.Header = asJSON
					res, err := transport.RoundTrip(r)
					if err != nil {
						b.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
			})
		})
	}
}
