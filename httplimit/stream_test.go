package httplimit_test

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stint-dev/stint/httplimit"
)

// serveLimited starts a server of h behind a limiter that never refuses.
func serveLimited(t *testing.T, h http.HandlerFunc, logs io.Writer) *httptest.Server {
	t.Helper()
	m := newMiddleware(t, httplimit.Options{Decider: newSingle(t, nil, "1000 per minute")})
	srv := httptest.NewUnstartedServer(m(h))
	srv.Config.ErrorLog = log.New(logs, "", 0)
	srv.Start()
	t.Cleanup(srv.Close)
	return srv
}

func TestC106EventsArriveWhileTheHandlerRuns(t *testing.T) {
	seen := make(chan struct{})
	srv := serveLimited(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "a\n")
		w.(http.Flusher).Flush()
		<-seen
		fmt.Fprint(w, "b\n")
	}, io.Discard)
	res, err := http.Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	if line, err := lines.ReadString('\n'); line != "a\n" {
		t.Fatalf("%q, %v", line, err)
	}
	close(seen)
	if line, err := lines.ReadString('\n'); line != "b\n" {
		t.Fatalf("%q, %v", line, err)
	}
}

func TestC106TheResponseWriterIsTheServersOwn(t *testing.T) {
	var outer, inner http.ResponseWriter
	limited := newMiddleware(t, httplimit.Options{Decider: newSingle(t, nil, "1000 per minute")})(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			inner = w
			_, flusher := w.(http.Flusher)
			_, hijacker := w.(http.Hijacker)
			_, readerFrom := w.(io.ReaderFrom)
			if !flusher || !hijacker || !readerFrom {
				t.Errorf("Flusher %v, Hijacker %v, ReaderFrom %v", flusher, hijacker, readerFrom)
			}
			c := http.NewResponseController(w)
			if err := c.SetWriteDeadline(time.Now().Add(time.Hour)); err != nil {
				t.Error(err)
			}
			if err := c.Flush(); err != nil {
				t.Error(err)
			}
		}))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		outer = w
		limited.ServeHTTP(w, r)
	}))
	defer srv.Close()
	res, err := http.Get(srv.URL)
	read(t, res, err)
	if inner == nil || inner != outer {
		t.Errorf("the handler got %T, the server gave %T", inner, outer)
	}
}

func TestC106NoMoreWarningsThanWithout(t *testing.T) {
	var mu sync.Mutex
	var logs strings.Builder
	srv := serveLimited(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		w.WriteHeader(http.StatusTeapot)
	}, lockedWriter{&mu, &logs})
	got, err := http.Get(srv.URL)
	res := read(t, got, err)
	mu.Lock()
	defer mu.Unlock()
	if n := strings.Count(logs.String(), "superfluous"); res.StatusCode != http.StatusAccepted || n != 1 {
		t.Errorf("status %d, logs %q", res.StatusCode, logs.String())
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func TestC106UpgradeAndEcho(t *testing.T) {
	srv := serveLimited(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprint(rw, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
		if err := rw.Flush(); err != nil {
			t.Error(err)
		}
		line, _ := rw.ReadString('\n')
		fmt.Fprint(conn, "echo "+line)
	}, io.Discard)
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
	r := bufio.NewReader(conn)
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("status %d", res.StatusCode)
	}
	fmt.Fprint(conn, "hello\n")
	if line, err := r.ReadString('\n'); line != "echo hello\n" {
		t.Errorf("%q, %v", line, err)
	}
}
