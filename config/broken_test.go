package config

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

const wantPrefix = "# want: "

// wantsOf returns the lines at the start of a broken file that say what is wrong
// with it.
func wantsOf(data []byte) (wants []string, rest []byte) {
	for bytes.HasPrefix(data, []byte(wantPrefix)) {
		line, after, _ := bytes.Cut(data, []byte("\n"))
		wants, data = append(wants, string(line[len(wantPrefix):])), after
	}
	return wants, data
}

// faultsIn loads a file that is broken and returns what is wrong, without the
// file's name.
func faultsIn(t *testing.T, path string) []string {
	t.Helper()
	_, err := Load(path, Options{})
	var errs Errors
	if !errors.As(err, &errs) {
		t.Fatalf("Load(%s) = %v, want Errors", path, err)
	}
	var got []string
	for _, e := range errs {
		if e.File != path {
			t.Errorf("%s: a fault in the file %q", path, e.File)
		}
		got = append(got, strings.TrimPrefix(e.Error(), path+":"))
	}
	return got
}

func TestBrokenFilesSayWhatIsWrongAndWhere(t *testing.T) {
	files, err := filepath.Glob("testdata/broken/*.yaml")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d broken files, %v", len(files), err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want, rest := wantsOf(data)
			if *update {
				rewrite(t, path, rest)
				return
			}
			if got := faultsIn(t, path); strings.Join(got, "\n") != strings.Join(want, "\n") || len(want) == 0 {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
			}
		})
	}
}

// rewrite writes the faults of a broken file to its start. They move the lines
// below them, so it is done twice.
func rewrite(t *testing.T, path string, rest []byte) {
	t.Helper()
	for range 3 {
		var b bytes.Buffer
		for _, fault := range faultsIn(t, path) {
			fmt.Fprintf(&b, "%s%s\n", wantPrefix, fault)
		}
		b.Write(rest)
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFaultsStandWhereTheirTextStands(t *testing.T) {
	files, _ := filepath.Glob("testdata/broken/*.yaml")
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(data), "\n")
		_, err = Load(path, Options{})
		var errs Errors
		errors.As(err, &errs)
		for _, e := range errs {
			if e.Text == "" || strings.HasSuffix(e.Text, "…") {
				continue
			}
			rest := string([]rune(lines[e.Line-1])[e.Column-1:])
			if !strings.HasPrefix(strings.TrimLeft(rest, `"'`), e.Text) && !strings.HasPrefix(e.Text, "${") {
				t.Errorf("%v: text %q is not at its place, there is %q", e, e.Text, rest)
			}
		}
	}
}
