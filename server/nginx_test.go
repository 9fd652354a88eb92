package server_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// block returns the first code block of a language in a page of the documentation.
func block(t *testing.T, page, language string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```"+language+"\n")
	code, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatalf("%s has no block of %s", page, language)
	}
	return code
}

// freeAddress returns an address of the loopback interface that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start runs a program until the test ends, and waits until it listens.
func start(t *testing.T, address string, command ...string) {
	t.Helper()
	path, err := exec.LookPath(command[0])
	if err != nil {
		t.Skipf("%s is not installed: apt-get install %s", command[0], command[0])
	}
	cmd := exec.Command(path, command[1:]...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	var ended error
	go func() {
		ended = cmd.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-exited
		}
	})
	for deadline := time.Now().Add(10 * time.Second); ; {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return
		}
		select {
		case <-exited:
			t.Fatalf("%s ended: %v\n%s", command[0], ended, out.String())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not listen on %s", command[0], address)
		}
	}
}

// write puts a file into a folder.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// get asks a proxy. Options are "Name: value".
func get(t *testing.T, method, url string, options ...string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	for _, o := range options {
		name, value, _ := strings.Cut(o, ": ")
		r.Header.Add(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(body)}
}

// throughProxy checks what clients of a proxy see, whichever proxy it is.
func throughProxy(t *testing.T, s *service, url string) {
	t.Helper()
	for _, left := range []string{"2", "1", "0"} {
		a := get(t, "GET", url+"/v1/search?q=a")
		if a.status != 200 || a.body != "hello\n" || a.header.Get("X-Ratelimit-Remaining") != left || a.header.Get("Retry-After") != "" {
			t.Errorf("%+v, want %s left", a, left)
		}
	}
	a := get(t, "GET", url+"/v1/search?q=b")
	for name, want := range map[string]string{
		"Retry-After": "60", "X-Ratelimit-Limit": "3", "X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "60",
		"Ratelimit-Policy": `"search";q=3;w=60`, "Ratelimit": `"search";r=0;t=60`, "Cache-Control": "no-store",
	} {
		if got := a.header.Values(name); a.status != 429 || len(got) != 1 || got[0] != want {
			t.Errorf("%d %s: %q, want %q", a.status, name, got, want)
		}
	}
	if a := get(t, "HEAD", url+"/v1/search"); a.status != 429 {
		t.Errorf("HEAD: %+v", a)
	}
	if a := raw(t, strings.TrimPrefix(url, "http://"), "GET /v1/search HTTP/1.0\r\n\r\n"); !strings.Contains(a[:min(len(a), len("HTTP/1.1 429"))], " 429") {
		t.Errorf("without a host: %s", a)
	}
	for _, h := range []string{
		"X-Forwarded-For: 203.0.113.9", "X-Forwarded-Uri: /free", "X-Original-Uri: /free", "X-Original-Url: http://h/free",
		"X-Forwarded-Method: OPTIONS", "X-Original-Method: OPTIONS", "X-Forwarded-Host: only.example", "Content-Type: application/grpc",
	} {
		if a := get(t, "GET", url+"/v1/search", h); h != "X-Forwarded-For: 203.0.113.9" && a.status == 200 {
			t.Errorf("with %s: %d: the client chose its rule", h, a.status)
		}
	}
	if a := get(t, "GET", url+"/named"); a.status != 403 || a.header.Get("Retry-After") != "" {
		t.Errorf("without a key: %+v", a)
	}
	if a := get(t, "POST", url+"/named", "X-Api-Key: k"); a.status != 200 || a.header.Get("X-Ratelimit-Limit") != "5" {
		t.Errorf("with a key: %+v", a)
	}
	if a := get(t, "GET", url+"/elsewhere"); a.status != 200 || a.header.Get("X-Ratelimit-Limit") != "" {
		t.Errorf("without a rule: %+v", a)
	}
	s.clock.add(time.Minute)
	if a := get(t, "GET", url+"/v1/search"); a.status != 200 {
		t.Errorf("a minute later: %+v", a)
	}
}

// TestNginx runs the configuration of docs/nginx.md.
func TestNginx(t *testing.T) {
	s := serve(t)
	stint, front, back, dir := freeAddress(t), freeAddress(t), freeAddress(t), t.TempDir()
	conf := strings.NewReplacer("127.0.0.1:8081", stint, "127.0.0.1:8000", front, "127.0.0.1:3000", back).Replace(block(t, "nginx.md", "nginx"))
	start(t, front, "nginx", "-p", dir, "-e", "nginx.log", "-c", write(t, dir, "nginx.conf", conf))
	if a := get(t, "GET", "http://"+front+"/v1/search"); a.status != 200 {
		t.Errorf("without a server: %+v, want the request let through", a)
	}
	serveAt(t, stint, s)
	throughProxy(t, s, "http://"+front)
	log, err := os.ReadFile(filepath.Join(dir, "nginx.log"))
	if err != nil || strings.Contains(string(log), "unexpected status") {
		t.Errorf("%v %s", err, log)
	}
}
