package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stint-dev/stint/server"
)

// dial opens a connection that a test writes to by hand.
func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

const head = "POST %s HTTP/1.1\r\nHost: h\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s"

// TestASlowBodyEnds: whatever the answer would be, the connection is not held for
// longer than the bound.
func TestASlowBodyEnds(t *testing.T) {
	s := serve(t, func(o *server.Options) {
		o.BodyTimeout = 50 * time.Millisecond
		o.Mount = map[string]http.Handler{"/json": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("/json: %v", err)
			}
			w.WriteHeader(http.StatusTeapot)
		})}
	})
	address := s.listen()
	for _, c := range []struct {
		path, contentType string
		status            int
	}{
		{"/v1/check", "application/json", 408},
		{"/v1/check", "text/plain", 415},
		{"/v1/openapi.json", "text/plain", 405},
		{"/nowhere", "text/plain", 404},
		{"/v1/auth", "text/plain", 400},
		{"/json", "application/json", 418},
	} {
		conn := dial(t, address)
		fmt.Fprintf(conn, head, c.path, c.contentType, 200_000, `{"path":`)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != c.status {
			t.Errorf("%s: %d %v, want %d", c.path, res.StatusCode, err, c.status)
		}
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("%s: the connection is still open: %v", c.path, err)
		}
	}
}

// TestTheBoundIsOfTheBody: a handler may take longer than that over its answer.
func TestTheBoundIsOfTheBody(t *testing.T) {
	const bound = 50 * time.Millisecond
	s := serve(t, func(o *server.Options) {
		o.BodyTimeout = bound
		o.Mount = map[string]http.Handler{"/json": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, err := io.ReadAll(r.Body)
			select {
			case <-r.Context().Done():
				t.Errorf("the request ended: %v, %v", err, r.Context().Err())
			case <-time.After(4 * bound):
			}
			w.WriteHeader(http.StatusTeapot)
		})}
	})
	conn := dial(t, s.listen())
	fmt.Fprintf(conn, head, "/json", "application/json", 2, "{}")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || res.StatusCode != http.StatusTeapot {
		t.Errorf("%v, %v", res, err)
	}
}

// TestABodyThatEndsEarly: half of a connection is closed.
func TestABodyThatEndsEarly(t *testing.T) {
	conn := dial(t, serve(t).listen())
	fmt.Fprintf(conn, head, "/v1/check", "application/json", 100, `{"path":"/"`)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || res.StatusCode != http.StatusBadRequest {
		t.Fatalf("%v, %v", res, err)
	}
	if body, _ := io.ReadAll(res.Body); !strings.Contains(string(body), "ended early") {
		t.Errorf("%s", body)
	}
}

// TestAConnectionIsUsedAgain: also after a question that was not understood.
func TestAConnectionIsUsedAgain(t *testing.T) {
	s := serve(t, func(o *server.Options) { o.BodyTimeout = time.Second })
	conn := dial(t, s.listen())
	answers := bufio.NewReader(conn)
	for range 3 {
		for body, want := range map[string]int{`{"path":"/"}`: 200, `{"pth":"/"}`: 400} {
			fmt.Fprintf(conn, head, "/v1/check", "application/json", len(body), body)
			res, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != want {
				t.Errorf("%d %v, want %d", res.StatusCode, err, want)
			}
		}
	}
}

func TestLongHeadersAreRefused(t *testing.T) {
	conn := dial(t, serve(t).listen())
	go func() { // The server stops reading at some point.
		_, _ = fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: h\r\nX: %s\r\n\r\n", strings.Repeat("a", 1<<20))
	}()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%v, %v", res, err)
	}
}
