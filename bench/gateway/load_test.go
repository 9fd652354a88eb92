package main

import (
	"bufio"
	"strings"
	"testing"
	"time"
)

func TestReadAnswer(t *testing.T) {
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{"HTTP/1.1 200 OK\r\nX: y\r\ncontent-length: 2\r\n\r\nhi", true},
		{"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n", false},
		{"HTTP/1.1 200 OK\r\n\r\n", false},
		{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", false},
		{"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", false},
		{"", false},
	} {
		r := bufio.NewReader(strings.NewReader(c.text))
		if err := readAnswer(r); (err == nil) != c.ok {
			t.Errorf("%q: got %v, want ok %v", c.text, err, c.ok)
		}
	}
}

// TestLoadOfTheUpstream answers every request at the rate that was asked for.
func TestLoadOfTheUpstream(t *testing.T) {
	up, err := startUpstream()
	if err != nil {
		t.Fatal(err)
	}
	defer up.listener.Close()
	r, err := load{conns: 4, time: 200 * time.Millisecond, rate: 200}.run(up.addr())
	if err != nil {
		t.Fatal(err)
	}
	if r.requests < 36 || r.requests > 44 {
		t.Errorf("%d requests in 200ms at 200 a second, want about 40", r.requests)
	}
	if r.p50 <= 0 || r.p99 < r.p50 {
		t.Errorf("p50 %v, p99 %v", r.p50, r.p99)
	}
}
