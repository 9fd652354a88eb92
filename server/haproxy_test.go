package server_test

import (
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestHAProxy runs the configuration of docs/haproxy.md.
func TestHAProxy(t *testing.T) {
	s := serve(t)
	stint, front, back, dir := freeAddress(t), freeAddress(t), freeAddress(t), t.TempDir()
	here := strings.NewReplacer("127.0.0.1:8081", stint, "127.0.0.1:8000", front, "127.0.0.1:3000", back, "stint.lua", dir+"/stint.lua",
		"sec + 5", "sec") // A test does not wait for it to ask again.
	write(t, dir, "stint.lua", here.Replace(block(t, "haproxy.md", "lua")))
	start(t, front, "haproxy", "-f", write(t, dir, "haproxy.cfg", here.Replace(block(t, "haproxy.md", "haproxy"))))
	serveAt(t, back, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello\n")) }))
	if a := get(t, "GET", "http://"+front+"/v1/search"); a.status != 200 {
		t.Errorf("without a server: %+v, want the request let through", a)
	}
	serveAt(t, stint, s)
	throughProxy(t, s, "http://"+front)
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
