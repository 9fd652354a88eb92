package descriptors_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stint-dev/stint/descriptors"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A mounted configuration has its files in hidden directories and links to them.
func TestC121MountedDirectoryIsReadOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "..2026_03_02", "rules.yaml"), "domain: a\n")
	for link, to := range map[string]string{"..data": "..2026_03_02", "rules.yaml": "..data/rules.yaml"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, ".rules.yaml.swp"), "][")
	write(t, filepath.Join(dir, ".hidden.yaml"), "][")
	write(t, filepath.Join(dir, "rules.yaml~"), "][")
	write(t, filepath.Join(dir, "README.md"), "][")
	write(t, filepath.Join(dir, "config", "more.yml"), "domain: b\n")
	s, err := descriptors.Load(dir, descriptors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.Domains(), " "); got != "a b" {
		t.Errorf("domains %s", got)
	}
	want := []string{filepath.Join(dir, "config", "more.yml"), filepath.Join(dir, "rules.yaml")}
	if got := s.Files(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("files %v", got)
	}
	if got, err := descriptors.Files(dir); err != nil || len(got) != 2 {
		t.Errorf("files %v, %v", got, err)
	}
}

func TestC119OneBadFileRefusesAll(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), "domain: a\n")
	write(t, filepath.Join(dir, "b.yaml"), "domain: b\ndescriptors:\n- key: x\n- key: x\n")
	write(t, filepath.Join(dir, "c.yaml"), "][")
	write(t, filepath.Join(dir, "d.yaml"), "")
	if err := os.Symlink("nowhere.yaml", filepath.Join(dir, "e.yaml")); err != nil {
		t.Fatal(err)
	}
	s, err := descriptors.Load(dir, descriptors.Options{})
	if s != nil || err == nil {
		t.Fatal("taken")
	}
	for i, line := range strings.Split(err.Error(), "\n") {
		want := []string{"b.yaml:4:3: the key \"x\"", "c.yaml:1:1: not YAML", "d.yaml:1:1: the file is empty", "e.yaml: there is no such file"}[i]
		if !strings.HasPrefix(line, filepath.Join(dir, want)) {
			t.Errorf("got %s, want %s", line, want)
		}
	}
}

func TestOneDomainInSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), "domain: a\ndescriptors: [{key: x}]\n")
	write(t, filepath.Join(dir, "b.yaml"), "domain: a\ndescriptors: [{key: y}, {key: x, value: z}]\n")
	if _, err := descriptors.Load(dir, descriptors.Options{}); err == nil || !strings.Contains(err.Error(), `b.yaml:1:9: the domain "a" is there twice: first at `+dir+"/a.yaml:1:9") {
		t.Errorf("got %v", err)
	}
	s, err := descriptors.Load(dir, descriptors.Options{MergeDomains: true})
	if err != nil || len(s.Domains()) != 1 {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "c.yaml"), "domain: a\ndescriptors: [{key: x}]\n")
	if _, err := descriptors.Load(dir, descriptors.Options{MergeDomains: true}); err == nil || !strings.Contains(err.Error(), `c.yaml:2:16: the key "x" without a value is there twice: first at `+dir+"/a.yaml:2:16") {
		t.Errorf("got %v", err)
	}
}

func TestPathsThatAreNotThere(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		filepath.Join(dir, "none.yaml"): "there is no such file or directory",
		dir:                             "no *.yaml or *.yml file",
		os.DevNull:                      "not a regular file",
	} {
		if _, err := descriptors.Load(path, descriptors.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	write(t, filepath.Join(dir, "large.yaml"), strings.Repeat("#", descriptors.MaxFileBytes+1))
	if _, err := descriptors.Load(dir, descriptors.Options{}); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("got %v", err)
	}
}
