package retry_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/stint-dev/stint/retry"
)

func Example() {
	var calls atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		fmt.Fprint(w, "hello")
	}))
	defer srv.Close()

	client := &http.Client{Transport: &retry.Transport{
		MaxWait:   10 * time.Second,
		FirstWait: time.Millisecond,
		Observe: func(e retry.Event) {
			if e.Response != nil {
				fmt.Printf("attempt %d: %d, final: %v\n", e.Attempt, e.Response.StatusCode, e.Final)
			}
		},
	}}
	res, err := client.Get(srv.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()
	fmt.Println(res.Status)
	// Output:
	// attempt 1: 429, final: false
	// attempt 2: 200, final: true
	// 200 OK
}
