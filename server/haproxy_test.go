package server_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// haproxy starts HAProxy with the configuration of docs/haproxy.md in front of a
// service that answers all there is. It returns the addresses of HAProxy and of
// where Stint has to be.
func haproxy(t *testing.T, more ...string) (front, stint string) {
	t.Helper()
	stint, front, back, dir := freeAddress(t), freeAddress(t), freeAddress(t), t.TempDir()
	here := strings.NewReplacer(append(more,
		"127.0.0.1:8081", stint, "127.0.0.1:8000", front, "127.0.0.1:3000", back, "stint.lua", dir+"/stint.lua")...)
	write(t, dir, "stint.lua", here.Replace(block(t, "haproxy.md", "lua")))
	start(t, front, "haproxy", "-f", write(t, dir, "haproxy.cfg", here.Replace(block(t, "haproxy.md", "haproxy"))))
	serveAt(t, back, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello\n")) }))
	return front, stint
}

// TestHAProxy runs the configuration of docs/haproxy.md.
func TestHAProxy(t *testing.T) {
	s := serve(t)
	front, stint := haproxy(t, "sec + 5", "sec") // A test does not wait for it to ask again.
	if a := get(t, "GET", "http://"+front+"/v1/search"); a.status != 200 {
		t.Errorf("without a server: %+v, want the request let through", a)
	}
	serveAt(t, stint, s)
	throughProxy(t, s, "http://"+front)
}

// TestNoRequestSwitchesTheLimitOff: HAProxy asks nothing for a while when Stint does
// not answer. A client must not be able to bring that about for all others.
func TestNoRequestSwitchesTheLimitOff(t *testing.T) {
	s := serve(t)
	front, stint := haproxy(t)
	serveAt(t, stint, s)
	for range 3 {
		if a := get(t, "GET", "http://"+front+"/v1/search"); a.status != 200 {
			t.Fatalf("%+v", a)
		}
	}
	odd := map[string]string{
		"no host":          "GET /v1/search HTTP/1.0\r\n\r\n",
		"an empty host":    "GET /v1/search HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n",
		"a host of commas": "GET /v1/search HTTP/1.1\r\nHost: ,\r\nConnection: close\r\n\r\n",
		"a broken escape":  "GET /%zz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
		"a star":           "OPTIONS * HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
		"an authority":     "CONNECT h:80 HTTP/1.1\r\nHost: h:80\r\nConnection: close\r\n\r\n",
		"an odd method":    "FOO! /v1/search HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
		"odd chains":       "GET /v1/search HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: a\r\nX-Forwarded-For: ,\r\nConnection: close\r\n\r\n",
		"an upgrade":       "GET /v1/search HTTP/1.1\r\nHost: h\r\nConnection: close, Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n",
		"parts":            "POST /v1/search HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n0\r\n\r\n",
	}
	// As large as HAProxy takes them, a question is larger than the request.
	for size := 14_000; size < 16_800; size += 40 {
		odd[fmt.Sprintf("a header of %d bytes", size)] = "GET /v1/search HTTP/1.0\r\nHost: h\r\nX-A: " + strings.Repeat("a", size) + "\r\n\r\n"
		odd[fmt.Sprintf("a path of %d bytes", size)] = "GET /" + strings.Repeat("a", size) + " HTTP/1.0\r\nHost: h\r\n\r\n"
	}
	for name, request := range odd {
		if a := raw(t, front, request); strings.Contains(request, "/v1/search") && strings.Contains(a, "hello") {
			t.Errorf("a request with %s passed uncounted: %s", name, a)
		}
		if a := get(t, "GET", "http://"+front+"/v1/search"); a.status != 429 {
			t.Fatalf("after a request with %s: %d, want the limit still on", name, a.status)
		}
	}
}

// raw sends bytes and returns all that comes back.
func raw(t *testing.T, address, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	answer, _ := io.ReadAll(conn) // Whatever there is: HAProxy may cut the connection.
	return string(answer)
}

// serveAt is serveOn on an address.
func serveAt(t *testing.T, address string, h http.Handler) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	serveOn(t, l, h)
}
