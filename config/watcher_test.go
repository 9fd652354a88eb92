package config

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// watched is a watcher at work and what it reported.
type watched struct {
	*Watcher
	t      *testing.T
	loaded chan *File
	failed chan error
}

// watch starts to watch path, which must be good.
func watch(t *testing.T, path string, o WatchOptions) *watched {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	w := &watched{t: t, loaded: make(chan *File, 100), failed: make(chan error, 100)}
	o.Loaded = func(f *File) { w.loaded <- f }
	o.Failed = func(err error) { w.failed <- err }
	w.Watcher = NewWatcher(path, o)
	if err := w.Reload(); err != nil {
		t.Fatal(err)
	}
	<-w.loaded
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { w.Run(ctx); close(done) }()
	t.Cleanup(func() {
		cancel()
		<-done
		goleak.VerifyNone(t, ignore)
	})
	return w
}

// wantLimit waits for a good file whose first rule has the limit.
func (w *watched) wantLimit(limit string) {
	w.t.Helper()
	for {
		select {
		case f := <-w.loaded:
			if got := f.Spec.Rules[0].Limits[0].String(); got == limit {
				if w.Last() != f {
					w.t.Error("the last good file is another one")
				}
				return
			}
		case err := <-w.failed: // Half of a write can be seen.
			w.t.Log(err)
		case <-time.After(20 * time.Second):
			w.t.Fatalf("no file with %s came", limit)
		}
	}
}

// wantFailure waits for an error with words in it.
func (w *watched) wantFailure(words string) {
	w.t.Helper()
	for {
		select {
		case err := <-w.failed:
			if strings.Contains(err.Error(), words) {
				return
			}
		case f := <-w.loaded:
			w.t.Fatalf("loaded %+v, want a failure with %q", f.Spec.Rules, words)
		case <-time.After(20 * time.Second):
			w.t.Fatalf("no failure with %q came", words)
		}
	}
}

// ruleA is a file with one rule.
func ruleA(limit string) string { return "rules:\n  - { id: a, key: ip, limit: " + limit + " }\n" }

// put writes a file.
func put(t *testing.T, path, src string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
}

// replace puts a new file in the place of an old one, as editors do.
func replace(t *testing.T, path, src string) {
	t.Helper()
	put(t, path+".new", src)
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func TestC119BadFileChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.yaml")
	put(t, path, ruleA("5 per minute"))
	w := watch(t, path, WatchOptions{})
	good := w.Last()
	x := "  - { id: x, key: ip, limit: 1 per minute }\n"
	for src, words := range map[string]string{
		ruleA("9 per minute") + x + x: path + `:4:11: rule "x": id "x" is that of the rule in line 3 too`,
		"][":                          path + ":1:1: not YAML",
		" ":                           path + ":1:1: no rules: the file is empty",
		string(bytes.Repeat([]byte(x), 10<<20/len(x))): "at most 8388608",
	} {
		replace(t, path, src)
		w.wantFailure(words)
		if w.Last() != good {
			t.Error("the good file is gone")
		}
		if _, err := Load(path, Options{}); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("at the start it says %v", err)
		}
	}
	replace(t, path, ruleA("7 per minute"))
	w.wantLimit("7 per minute")
}

func TestC121MountedDirectoryIsReadOnceAndFollowed(t *testing.T) {
	dir := t.TempDir()
	mount := func(version, limit string) {
		at := filepath.Join(dir, version)
		if err := os.Mkdir(at, 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(at, "rules.yaml"), ruleA(limit))
		link(t, version, filepath.Join(dir, "..data_tmp"))
		if err := os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	mount("..2026_03_02", "5 per minute")
	link(t, "..data/rules.yaml", filepath.Join(dir, "rules.yaml"))
	for _, name := range []string{".rules.yaml.swp", "rules.yaml~", "README.md"} {
		put(t, filepath.Join(dir, name), ruleA("1 per minute"))
	}
	w := watch(t, filepath.Join(dir, "rules.yaml"), WatchOptions{})
	if n := len(w.Last().Spec.Rules); n != 1 {
		t.Fatalf("%d rules", n)
	}
	for version, limit := range map[string]string{"..2026_03_03": "6 per minute", "..2026_03_04": "7 per minute"} {
		mount(version, limit)
		w.wantLimit(limit)
	}
	if err := os.RemoveAll(filepath.Join(dir, "..2026_03_02")); err != nil {
		t.Fatal(err)
	}
	mount("..2026_03_05", "8 per minute")
	w.wantLimit("8 per minute")
}

func link(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
}

func TestWatcherSeesEveryWayToChangeAFile(t *testing.T) {
	for name, o := range map[string]WatchOptions{
		"told by the system": {Interval: time.Hour},
		"polling":            {Interval: 10 * time.Millisecond, Poll: true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "rules.yaml")
			put(t, path, ruleA("1 per minute"))
			w := watch(t, path, o)
			put(t, path, ruleA("2 per minute"))
			w.wantLimit("2 per minute")
			replace(t, path, ruleA("3 per minute"))
			w.wantLimit("3 per minute")
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			w.wantFailure("no such file")
			put(t, path, ruleA("4 per minute"))
			w.wantLimit("4 per minute")
		})
	}
}

func TestWatcherSeesThePlansFile(t *testing.T) {
	dir := t.TempDir()
	path, csv := filepath.Join(dir, "rules.yaml"), filepath.Join(dir, "plans", "keys.csv")
	if err := os.Mkdir(filepath.Dir(csv), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, csv, "k_1,free\n")
	put(t, path, "keys: { k: { header: X-K } }\nplans: { key: k, file: plans/keys.csv }\nrules: []\n")
	w := watch(t, path, WatchOptions{Interval: time.Hour})
	replace(t, csv, "k_1\n")
	w.wantFailure(csv + ":1:1: a line with 1 fields")
	replace(t, csv, "k_1,paid\n")
	select {
	case f := <-w.loaded:
		if got := f.Spec.Plans.Of["k_1"]; got != "paid" {
			t.Errorf("plan %q", got)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the plans were not read again")
	}
}

func TestWatcherSeesADirectoryThatComesBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "conf")
	path := filepath.Join(dir, "rules.yaml")
	make := func(limit string) {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, path, ruleA(limit))
	}
	make("1 per minute")
	w := watch(t, path, WatchOptions{Interval: 10 * time.Millisecond})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	w.wantFailure("no such file")
	make("2 per minute")
	w.wantLimit("2 per minute")
	replace(t, path, ruleA("3 per minute"))
	w.wantLimit("3 per minute")
}

func TestC117UnchangedFileIsReadOnlyWhenAsked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.yaml")
	put(t, path, ruleA("1 per minute"))
	w := watch(t, path, WatchOptions{Interval: time.Hour})
	replace(t, path, ruleA("1 per minute"))
	put(t, filepath.Join(filepath.Dir(path), "other.yaml"), "a file beside it")
	replace(t, path, ruleA("2 per minute"))
	w.wantLimit("2 per minute")
	if n := len(w.loaded); n != 0 {
		t.Errorf("reported %d times more", n)
	}
	for range 20 {
		if err := w.Reload(); err != nil {
			t.Fatal(err)
		}
		<-w.loaded
	}
}

func TestReloadReportsWhatIsWrong(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.yaml")
	var told error
	w := NewWatcher(path, WatchOptions{Failed: func(err error) { told = err }})
	if err := w.Reload(); err == nil || told == nil || err.Error() != told.Error() || w.Last() != nil {
		t.Errorf("returned %v, told %v, last %v", err, told, w.Last())
	}
	if err := NewWatcher(path, WatchOptions{}).Reload(); err == nil {
		t.Error("no error without anyone to tell")
	}
}
