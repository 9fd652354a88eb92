package client_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stint-dev/stint"
	"github.com/stint-dev/stint/client"
)

// wakes is a transport that is silent until it is told to answer, and then answers
// that it does not understand.
type wakes struct {
	silent
	awake bool
}

func (w *wakes) RoundTrip(r *http.Request) (*http.Response, error) {
	if !w.awake {
		return w.silent.RoundTrip(r)
	}
	w.sent.Add(1)
	return &http.Response{
		StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/problem+json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(`{"title":"Bad Request","status":400,"detail":"there is no such rule"}`)),
	}, nil
}

// TestASilentServerIsLeftAlone: after a few checks that waited in vain nobody waits,
// one check in each pause tries again, and a server that answers, whatever it says,
// is asked by all.
func TestASilentServerIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(wakes)
		c := newClient(t, client.Options{URL: "http://stint.example", Failure: stint.FailAllow, Deadline: 30 * time.Millisecond, Transport: s})
		wait := func(n int, most time.Duration, sent int64) {
			t.Helper()
			begin := time.Now()
			for range n {
				if d := decide(t, c, get("/")); !d.Allowed || !d.Degraded {
					t.Errorf("%+v", d)
				}
			}
			if took := time.Since(begin); took != most || s.sent.Load() != sent {
				t.Errorf("%d checks took %v, %d sent; want %v, %d", n, took, s.sent.Load(), most, sent)
			}
		}
		wait(client.DefaultFailures, client.DefaultFailures*30*time.Millisecond, client.DefaultFailures)
		wait(100, 0, client.DefaultFailures)
		time.Sleep(client.DefaultProbe)
		wait(100, 30*time.Millisecond, client.DefaultFailures+1)
		s.awake = true
		time.Sleep(client.DefaultProbe)
		for i := range int64(3) {
			_, err := c.Check(t.Context(), client.Charge{Rule: "r", Cost: 1})
			var asked *client.Error
			if !errors.As(err, &asked) || s.sent.Load() != client.DefaultFailures+2+i {
				t.Errorf("check %d of a server that is awake: %v, %d sent", i, err, s.sent.Load())
			}
		}
	})
}
