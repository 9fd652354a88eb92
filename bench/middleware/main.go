// Command middleware measures middlewares for net/http beside Stint's in one run
// and prints tables in Markdown: what each adds to a handler.
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"runtime"
	"time"

	"github.com/stint-dev/stint/bench/field"
	"github.com/stint-dev/stint/bench/measure"
)

const (
	bare = "the handler alone"
	// plain and full are Stint's with three headers and with five.
	plain = "stint, x-ratelimit"
	full  = "stint, x-ratelimit + ietf"
)

var (
	plenty = field.Quota{Count: 1_000_000_000, Window: time.Hour}
	spent  = field.Quota{Count: 1, Window: 365 * 24 * time.Hour}
)

func main() {
	rounds := flag.Int("rounds", 100, "rounds")
	flag.Parse()
	if err := run(os.Stdout, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "middleware:", err)
		os.Exit(1)
	}
}

// ballast is the live heap of a small server. Without it the collector would run
// a hundred times a second, which no server's does.
const ballast = 64 << 20

func run(w io.Writer, rounds int) error {
	live := make([]byte, ballast)
	defer runtime.KeepAlive(live)
	var goals []measure.Goal
	for _, c := range []struct {
		title string
		quota field.Quota
		want  int
	}{
		{"Middleware, allowed, above the handler", plenty, http.StatusNoContent},
		{"Middleware, refused, above the handler", spent, http.StatusTooManyRequests},
	} {
		subjects, err := subjectsFor(c.quota, c.want)
		if err != nil {
			return err
		}
		r := measure.Alternate(rounds, subjects)
		aboveTable(r).Write(w, c.title)
		if c.quota == plenty {
			goals = goalsOf(r)
		}
	}
	measure.WriteGoals(w, goals)
	return nil
}

// writer is a response that net/http would make: a header of its own for each.
type writer struct {
	header http.Header
	status int
}

func (w *writer) Header() http.Header         { return w.header }
func (w *writer) WriteHeader(status int)      { w.status = status }
func (w *writer) Write(b []byte) (int, error) { return len(b), nil }

// answer is a handler that does little, but does write a header.
var answer = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	w.Header()["Content-Type"] = contentType
	w.WriteHeader(http.StatusNoContent)
})

var contentType = []string{"text/plain"}

// subjectsFor wraps the handler by everyone, after a first request each.
func subjectsFor(q field.Quota, want int) ([]measure.Subject, error) {
	subjects := []measure.Subject{serve(bare, answer)}
	for _, m := range field.Middlewares() {
		h := m.Wrap(q, answer)
		w := &writer{}
		for range 2 {
			w.header = make(http.Header)
			h.ServeHTTP(w, request())
		}
		if w.status != want {
			return nil, fmt.Errorf("%s answers %d, not %d", m.Name, w.status, want)
		}
		subjects = append(subjects, serve(m.Name, h))
	}
	return subjects, nil
}

func request() *http.Request {
	r, err := http.NewRequest(http.MethodGet, "http://api.example/v1/orders/7", http.NoBody)
	if err != nil {
		panic(err) // the URL is a constant
	}
	r.RemoteAddr = "198.51.100.7:40123"
	r.Header.Set("User-Agent", "bench")
	r.Header.Set("X-Api-Key", "k_acme")
	return r
}

func serve(name string, h http.Handler) measure.Subject {
	const each = 2000
	r, w := request(), &writer{}
	return measure.Subject{Name: name, Run: func() measure.Sample {
		return measure.Of(each, 1, func(int) {
			for range each {
				w.header = make(http.Header)
				h.ServeHTTP(w, r)
			}
		})
	}}
}

// above is what name costs more than the handler alone.
func above(r *measure.Rounds, name string) measure.Sample {
	s, _ := r.Median(name)
	b, _ := r.Median(bare)
	return measure.Sample{Wall: s.Wall - b.Wall, Bytes: s.Bytes - b.Bytes, Allocs: s.Allocs - b.Allocs}
}

func aboveTable(r *measure.Rounds) *measure.Table {
	t := measure.NewTable("middleware", "ns above", "× stint", "B above", "allocs above")
	b, _ := r.Median(bare)
	t.Row(bare+" (itself)", measure.Num(b.Wall), "", measure.Num(b.Bytes), measure.Num(b.Allocs))
	for _, name := range r.Names()[1:] {
		s := above(r, name)
		t.Row(name, measure.Num(s.Wall), fmt.Sprintf("%.2f", s.Wall/above(r, plain).Wall), measure.Num(s.Bytes), measure.Num(s.Allocs))
	}
	return t
}

func goalsOf(r *measure.Rounds) []measure.Goal {
	s := above(r, full)
	return []measure.Goal{
		{What: "middleware, five headers, above the handler", Want: 0.5, Got: s.Wall / 1000, Unit: " µs"},
		{What: "its allocations", Want: 3, Got: math.Round(s.Allocs)},
	}
}
