package accesslog

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

const aLine = `192.0.2.1 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 5 "-" "curl/8.5.0"`

func gzipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// paths reads a log and returns the path of each request and the reason of each other line.
func paths(t testing.TB, src io.Reader) ([]string, error) {
	t.Helper()
	r := NewReader(src, Options{})
	var e Entry
	var all []string
	for {
		var bad *LineError
		switch err := r.Read(&e); {
		case err == nil:
			all = append(all, e.Path)
		case errors.As(err, &bad):
			all = append(all, string(bad.Reason))
		case errors.Is(err, io.EOF):
			return all, nil
		default:
			return all, err
		}
	}
}

func wantPaths(t *testing.T, src io.Reader, want ...string) {
	t.Helper()
	got, err := paths(t, src)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %.200q, %v; want %q", got, err, want)
	}
}

func TestEndsOfLines(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"newline only", "\n", []string{"empty"}},
		{"one line", aLine + "\n", []string{"/a"}},
		{"no newline at the end", aLine + "\n" + aLine, []string{"/a", "/a"}},
		{"carriage returns", aLine + "\r\n\r\n" + aLine + "\r\n", []string{"/a", "empty", "/a"}},
		{"carriage return at the end", aLine + "\r", []string{"/a"}},
		{"byte order mark", "\ufeff" + aLine + "\n", []string{"/a"}},
		{"byte order mark of a second file", aLine + "\n\ufeff" + aLine + "\n", []string{"/a", "/a"}},
		{"byte order mark only", "\ufeff", []string{"empty"}},
		{
			"mixed formats", aLine + "\n" + `{"ts":1,"remote_ip":"192.0.2.1","method":"GET","uri":"/b"}` + "\nx\n" + aLine,
			[]string{"/a", "/b", "not a known format", "/a"},
		},
		{"nul bytes", "\x00\x00\x00\n" + aLine, []string{"not a known format", "/a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantPaths(t, strings.NewReader(test.text), test.want...)
			wantPaths(t, iotest.OneByteReader(strings.NewReader(test.text)), test.want...)
			wantPaths(t, iotest.DataErrReader(strings.NewReader(test.text)), test.want...)
			wantPaths(t, bytes.NewReader(gzipped(t, test.text)), test.want...)
		})
	}
}

func TestLongLineIsOneUnreadableLine(t *testing.T) {
	pad := func(n int) string {
		head := `192.0.2.1 - - [17/May/2015:10:05:03 +0000] "GET /`
		return head + strings.Repeat("x", n-len(head))
	}
	const mib = 1 << 20
	for _, test := range []struct {
		name, line, want string
	}{
		{"exactly 1 MiB", pad(mib), "bad request line"},
		{"exactly 1 MiB and a carriage return", pad(mib) + "\r", "bad request line"},
		{"a byte more", pad(mib + 1), "too long"},
		{"a byte more and a carriage return", pad(mib+1) + "\r", "too long"},
		{"much more", pad(5*mib + 7), "too long"},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantPaths(t, strings.NewReader(aLine+"\n"+test.line+"\n"+aLine+"\n\n"), "/a", test.want, "/a", "empty")
			wantPaths(t, strings.NewReader(test.line), test.want)
			wantPaths(t, strings.NewReader(test.line+"\n"), test.want)
		})
	}
}

func TestLongLineKeepsItsNumberAndBeginning(t *testing.T) {
	r := NewReader(strings.NewReader("\n"+strings.Repeat("y", 3000)+"\n"+aLine), Options{MaxLine: 100})
	var e Entry
	var bad *LineError
	if err := r.Read(&e); !errors.As(err, &bad) || bad.Line != 1 {
		t.Fatalf("first line: %v", err)
	}
	err := r.Read(&e)
	if want := `line 2: too long: "` + strings.Repeat("y", 80) + `…"`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := r.Read(&e); err != nil || r.Line() != 3 {
		t.Errorf("line %d: %v", r.Line(), err)
	}
}

func TestLongLineIsNotKept(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := paths(t, io.LimitReader(endless{}, 64<<20))
	runtime.ReadMemStats(&after)
	if err != nil || !slices.Equal(got, []string{"too long"}) {
		t.Fatalf("got %q, %v", got, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("a line of 64 MiB allocated %d bytes", used)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'z'
	}
	return len(b), nil
}

func TestGzipOfSeveralMembers(t *testing.T) {
	cut := aLine[:20]
	packed := slices.Concat(gzipped(t, aLine+"\n"+cut), gzipped(t, aLine[20:]+"\n"), gzipped(t, ""), gzipped(t, aLine))
	wantPaths(t, bytes.NewReader(packed), "/a", "/a", "/a")
	wantPaths(t, iotest.OneByteReader(bytes.NewReader(packed)), "/a", "/a", "/a")
}

func TestGzipCutOffKeepsWhatWasRead(t *testing.T) {
	var text strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&text, "192.0.2.1 - - [17/May/2015:10:05:03 +0000] \"GET /%d HTTP/1.1\" 200 %d\n", i, i*i)
	}
	packed := gzipped(t, text.String())
	got, err := paths(t, bytes.NewReader(packed[:len(packed)/2]))
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "the gzip file is cut off after ") ||
		!strings.Contains(err.Error(), fmt.Sprintf("after line %d:", len(got))) {
		t.Errorf("error is %v after %d lines", err, len(got))
	}
	if len(got) < 5000 || len(got) > 15000 {
		t.Errorf("half of the file gave %d of 20000 lines", len(got))
	}
	for i, path := range got {
		if path != fmt.Sprintf("/%d", i) {
			t.Fatalf("line %d is %s", i+1, path)
		}
	}
}

func TestGzipCutOffAnywhereIsNeverTheEnd(t *testing.T) {
	packed := gzipped(t, aLine+"\n"+aLine+"\n")
	for n := 2; n < len(packed); n++ {
		if got, err := paths(t, bytes.NewReader(packed[:n])); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d of %d bytes: %q, %v", n, len(packed), got, err)
		}
	}
}

func TestSourcesThatCannotBeRead(t *testing.T) {
	damaged := gzipped(t, aLine+"\n")
	damaged[len(damaged)-8] ^= 1
	broken := errors.New("disk on fire")
	for _, test := range []struct {
		name  string
		src   io.Reader
		lines int
		want  string
	}{
		{"checksum", bytes.NewReader(damaged), 1, "after line 1: the gzip file is damaged after 84 bytes of text: gzip: invalid checksum"},
		{
			"trailing rubbish", io.MultiReader(bytes.NewReader(gzipped(t, aLine+"\n")), strings.NewReader("rubbish rubbish")), 1,
			"after line 1: something that is not gzip follows the gzip file's 84 bytes of text: gzip: invalid header",
		},
		{"bad header", strings.NewReader("\x1f\x8bnot really gzip"), 0, "after line 0: the gzip file is damaged after 0 bytes of text: gzip: invalid header"},
		{"zstd", strings.NewReader("\x28\xb5\x2f\xfd...."), 0, "after line 0: this is zstd, not text: pipe it in as UTF-8 text, or gzip it"},
		{"bzip2", strings.NewReader("BZh91AY"), 0, "after line 0: this is bzip2, not text: pipe it in as UTF-8 text, or gzip it"},
		{"UTF-16", strings.NewReader("\xff\xfe1\x009\x00"), 0, "after line 0: this is UTF-16, not text: pipe it in as UTF-8 text, or gzip it"},
		{"error at once", iotest.ErrReader(broken), 0, "after line 0: disk on fire"},
		{"error within a line", io.MultiReader(strings.NewReader(aLine+"\n"+aLine), iotest.ErrReader(broken)), 1, "after line 1: disk on fire"},
		{"error within a long line", io.MultiReader(strings.NewReader(strings.Repeat("x", 2<<20)), iotest.ErrReader(broken)), 1, "after line 1: disk on fire"},
		{"a source that stalls", io.MultiReader(strings.NewReader(aLine+"\n"), stalled{}), 1, "after line 1: multiple Read calls return no data or error"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := paths(t, test.src)
			if want := "access log, " + test.want; err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if len(got) != test.lines {
				t.Errorf("read %q, want %d lines", got, test.lines)
			}
		})
	}
}

type stalled struct{}

func (stalled) Read([]byte) (int, error) { return 0, nil }

func TestLinesArriveWhileTheSourceIsOpen(t *testing.T) {
	src, w := io.Pipe()
	defer w.Close()
	go func() { _, _ = io.WriteString(w, aLine+"\n"+aLine[:30]) }()
	var e Entry
	if err := NewReader(src, Options{}).Read(&e); err != nil || e.Path != "/a" {
		t.Errorf("got %q, %v", e.Path, err)
	}
}

func TestLocationIsForTimesWithoutOffset(t *testing.T) {
	zone := time.FixedZone("", 2*3600)
	for _, test := range []struct{ stamp, want string }{
		{"17/May/2015:10:05:03", "2015-05-17T08:05:03Z"},
		{"17/May/2015:10:05:03 +0000", "2015-05-17T10:05:03Z"},
		{"2015-05-17T10:05:03.5", "2015-05-17T08:05:03.5Z"},
		{"2015-05-17T10:05:03Z", "2015-05-17T10:05:03Z"},
	} {
		r := NewReader(strings.NewReader("192.0.2.1 - - ["+test.stamp+`] "GET / HTTP/1.1" 200 5`), Options{Location: zone})
		var e Entry
		if err := r.Read(&e); err != nil || e.Time.Format(time.RFC3339Nano) != test.want {
			t.Errorf("%s: got %v, %v; want %s", test.stamp, e.Time, err, test.want)
		}
	}
}

func TestStringsOutliveTheNextRead(t *testing.T) {
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "192.0.2.1 - - [17/May/2015:10:05:03 +0000] \"GET /%d HTTP/1.1\" 200 5\n", i)
	}
	got, err := paths(t, strings.NewReader(text.String()))
	if err != nil || len(got) != 5000 {
		t.Fatalf("%d lines, %v", len(got), err)
	}
	for i, path := range got {
		if path != fmt.Sprintf("/%d", i) {
			t.Fatalf("line %d became %q", i+1, path)
		}
	}
}

func TestUnreadableLineLeavesNothingInTheEntry(t *testing.T) {
	bad := `{"ts":1,"request":{"remote_ip":"nobody","method":"GET","uri":"/","headers":{"X-A":["1"]}}}`
	r := NewReader(strings.NewReader(aLine+"\n"+bad), Options{})
	var e Entry
	if err := r.Read(&e); err != nil {
		t.Fatal(err)
	}
	if err := r.Read(&e); err == nil {
		t.Fatal("no error")
	}
	if _, ok := e.Header("X-A"); ok || e.Path != "" || !e.Time.IsZero() || e.Addr.IsValid() {
		t.Errorf("left %+v", e)
	}
}
