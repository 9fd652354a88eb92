package accesslog

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// corpora are logs of many lines, made of the readable ones of testdata.
func corpora(t testing.TB) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, name := range []string{"common", "combined", "caddy", "traefik", "nginx-json", "envoy"} {
		text, err := os.ReadFile("testdata/" + name + ".log")
		if err != nil {
			t.Fatal(err)
		}
		all[name] = bytes.Repeat(text, 1+1<<20/len(text))
	}
	var plain strings.Builder
	for line := range strings.Lines(string(all["combined"])) {
		if !strings.Contains(line, `\`) {
			plain.WriteString(line)
		}
	}
	all["combined"] = []byte(plain.String())
	return all
}

// TestTextAllocatesByTheChunk: no allocation for a line, one for each 64 KiB.
func TestTextAllocatesByTheChunk(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	text := corpora(t)["combined"]
	lines := bytes.Count(text, []byte("\n"))
	var r *Reader
	var e Entry
	allocs := testing.AllocsPerRun(5, func() {
		r = NewReader(bytes.NewReader(text), Options{})
		for r.Read(&e) == nil {
		}
	})
	if !errors.Is(r.err, io.EOF) || r.Line() != lines {
		t.Fatalf("read %d of %d lines, %v", r.Line(), lines, r.err)
	}
	if most := float64(len(text)/chunk + 15); allocs > most {
		t.Errorf("%d lines allocated %v times, want at most %v", lines, allocs, most)
	}
}

func TestParsingAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	r := NewReader(nil, Options{})
	for name, line := range map[string]string{
		"combined": `203.0.113.6 - ann [17/May/2015:10:05:03 +0000] "GET /main HTTP/1.1" 200 203 "-" "curl/8.5.0" "198.51.100.1, 192.0.2.9"`,
		"vhost":    `www.example.org:443 2001:db8::12 - - [17/May/2015:10:05:03 +0000] "GET /vhost HTTP/1.1" 200 203 "-" "curl/8.5.0"`,
		"caddy":    `{"ts":1646861401.5,"request":{"remote_ip":"192.0.2.1","client_ip":"192.0.2.1","proto":"HTTP/2.0","method":"GET","host":"localhost:8443","uri":"/","headers":{"User-Agent":["curl/7.82.0"]}},"status":200}`,
		"nginx":    `{"time_iso8601":"2024-05-17T12:05:03+02:00","remote_addr":"192.0.2.1","request":"GET /a?x=1 HTTP/1.1","status":"200","http_user_agent":"curl/8.5.0"}`,
	} {
		var e Entry
		allocs := testing.AllocsPerRun(100, func() {
			e.reset()
			if reason := r.parse(&e, line); reason != readable {
				t.Fatal(reason)
			}
			if _, ok := e.Header("User-Agent"); !ok {
				t.Fatal("no user agent")
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for name, text := range corpora(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			src := bytes.NewReader(text)
			r := NewReader(src, Options{})
			var e Entry
			for b.Loop() {
				if err := r.Read(&e); errors.Is(err, io.EOF) {
					src.Reset(text)
					r = NewReader(src, Options{})
				}
			}
			b.SetBytes(int64(len(text) / bytes.Count(text, []byte("\n"))))
		})
	}
}
