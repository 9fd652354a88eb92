package accesslog

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestFiles reads each log of testdata and compares what is read, line by line, with the
// file beside it.
func TestFiles(t *testing.T) {
	logs, err := filepath.Glob("testdata/*.log")
	if err != nil || len(logs) != 7 {
		t.Fatalf("found %q, %v; want 7 logs", logs, err)
	}
	for _, name := range logs {
		t.Run(filepath.Base(name), func(t *testing.T) {
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			compare(t, strings.TrimSuffix(name, ".log")+".want", ledger(t, f, Options{}))
		})
	}
}

func compare(t *testing.T, golden string, got []string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("line %d:\n got %s\nwant %s", i+1, g, w)
		}
	}
}

// ledger reads a log to its end and describes each of its lines; an error that ends the
// reading is the last line.
func ledger(t testing.TB, src io.Reader, o Options) []string {
	t.Helper()
	r := NewReader(src, o)
	var e Entry
	var all []string
	for {
		err := r.Read(&e)
		var bad *LineError
		switch {
		case err == nil:
			all = append(all, describe(&e))
		case errors.As(err, &bad):
			if bad.Line != len(all)+1 {
				t.Fatalf("%v: is line %d", bad, len(all)+1)
			}
			all = append(all, fmt.Sprintf("%s: %q", bad.Reason, bad.Text))
		default:
			if again := r.Read(&e); !errors.Is(again, err) {
				t.Fatalf("after %v, read again: %v", err, again)
			}
			if !errors.Is(err, io.EOF) {
				all = append(all, err.Error())
			}
			return all
		}
		if r.Line() != len(all) {
			t.Fatalf("Line is %d after %d lines", r.Line(), len(all))
		}
	}
}

func describe(e *Entry) string {
	s := fmt.Sprintf("%s %s user=%q host=%q %q %q %q %d",
		e.Time.Format(time.RFC3339Nano), e.Addr, e.RemoteUser, e.Host, e.Method, e.Path, e.Proto, e.Status)
	for _, h := range e.headers {
		s += fmt.Sprintf(" %s=%q", h.name, h.value)
	}
	return s
}
