package accesslog

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func seed(f *testing.F) {
	logs, err := filepath.Glob("testdata/*.log")
	if err != nil || len(logs) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range logs {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		for line := range bytes.Lines(text) {
			f.Add(line)
		}
	}
}

// FuzzReader reads anything as a log: it ends, each line is counted once, requests have
// what they must have, and how the bytes arrive makes no difference.
func FuzzReader(f *testing.F) {
	seed(f)
	f.Add(gzipped(f, aLine+"\n"+aLine))
	f.Add([]byte(aLine + "\n" + strings.Repeat("x", 300) + "\r\n\xef\xbb\xbf"))
	f.Fuzz(func(t *testing.T, log []byte) {
		o := Options{MaxLine: 200}
		whole := ledger(t, bytes.NewReader(log), o)
		if packing(string(log[:min(6, len(log))])) == "" {
			wantLines := bytes.Count(log, []byte("\n"))
			if len(log) > 0 && log[len(log)-1] != '\n' {
				wantLines++
			}
			if len(whole) != wantLines {
				t.Fatalf("read %d lines of %d", len(whole), wantLines)
			}
			if slowly := ledger(t, iotest.OneByteReader(bytes.NewReader(log)), o); !slices.Equal(slowly, whole) {
				t.Fatalf("byte by byte %q, at once %q", slowly, whole)
			}
		}
		checkEntries(t, log, o)
	})
}

func checkEntries(t *testing.T, log []byte, o Options) {
	r := NewReader(bytes.NewReader(log), o)
	var e Entry
	for {
		err := r.Read(&e)
		var bad *LineError
		switch {
		case err == nil:
			if !e.Addr.IsValid() || e.Addr.Is4In6() || e.Addr.Zone() != "" || e.Time.IsZero() ||
				e.Method == "" && e.Path != "" || e.Status != 0 && (e.Status < 100 || e.Status > 999) || len(e.headers) > maxHeaders {
				t.Fatalf("a request: %+v", e)
			}
		case errors.As(err, &bad):
			if bad.Reason == readable || len(bad.Text) > maxExcerpt+len("??")+len(excerptMark) || strings.ContainsAny(bad.Text, "\x1b\n\x00") {
				t.Fatalf("a line error: %+v", bad)
			}
		default:
			if errors.Is(err, io.EOF) && bytes.HasPrefix(log, []byte{0xff, 0xfe}) {
				t.Fatal("UTF-16 was read")
			}
			return
		}
	}
}

// FuzzJSON compares with encoding/json: what it takes for an object is never bad JSON, and
// a string means the same to both.
func FuzzJSON(f *testing.F) {
	seed(f)
	f.Add([]byte(`{"request":{"headers":[]}}`))
	f.Add([]byte(`{"request":[]}`))
	f.Add([]byte(`{"a":[{"b":"\\\"]"}],"uri":"\ud83d\ude00\ud800\u00e9\/\b"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		line = bytes.ReplaceAll(bytes.TrimSpace(line), []byte("\n"), []byte(" "))
		var want map[string]any
		if !bytes.HasPrefix(line, []byte("{")) || json.Unmarshal(line, &want) != nil {
			return
		}
		var e Entry
		if reason := parseJSON(&e, string(line), nil); reason == BadJSON {
			t.Fatalf("%s is %s", line, reason)
		}
		got := map[string]any{}
		o := object{text: string(line)}
		for o.next() {
			if _, isString := want[o.key].(string); isString && o.value.kind == str {
				got[o.key] = strings.ToValidUTF8(o.value.string(), "\ufffd")
			}
		}
		for key, s := range got {
			if want := strings.ToValidUTF8(want[key].(string), "\ufffd"); s != want && !strings.Contains(want, "\ufffd") {
				t.Fatalf("%s: %q is %q, want %q", line, key, s, want)
			}
		}
	})
}
