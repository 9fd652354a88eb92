package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/good/*.yaml", "testdata/broken/*.yaml"} {
		files, _ := filepath.Glob(pattern)
		for _, path := range files {
			if data, err := os.ReadFile(path); err == nil {
				f.Add(data)
			}
		}
	}
	f.Add([]byte(billionLaughs()))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			return
		}
		file, err := Parse("testdata/good/fuzzed.yaml", data, Options{Env: env(map[string]string{"A": "hunter2"})})
		if err == nil {
			if file.Set == nil {
				t.Error("neither an error nor a set")
			}
			return
		}
		var errs Errors
		if !errors.As(err, &errs) || file != nil || len(errs) == 0 {
			t.Fatalf("%v with %v", err, file)
		}
		lines := 1 + strings.Count(string(data), "\n") + strings.Count(string(data), "\r")
		for _, e := range errs {
			if e.Message == "" || strings.ContainsAny(e.Error(), "\n\x00") {
				t.Errorf("a bad message: %q", e.Error())
			}
			if e.File == "testdata/good/fuzzed.yaml" && (e.Line < 1 || e.Line > lines+1 || e.Column < 1) && !strings.HasPrefix(e.Message, "and ") {
				t.Errorf("no such place among %d lines: %v", lines, e)
			}
			if strings.Contains(e.Error(), "hunter2") && !strings.Contains(string(data), "hunter") {
				t.Errorf("the environment is in %v", e)
			}
		}
	})
}

func FuzzFill(f *testing.F) {
	for _, s := range []string{"${A}", "$${A}", "${B:-c}", "${", "}", "$${${A}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out, used, fault, _ := fill(s, env(map[string]string{"A": ""}))
		if !used && fault == "" && strings.ReplaceAll(s, "$${", "${") != out {
			t.Errorf("fill(%q) = %q", s, out)
		}
	})
}

func FuzzPlansFile(f *testing.F) {
	f.Add("key,plan\na,free\n")
	f.Add("\"a\"\"b\",x\n# c\n,")
	f.Fuzz(func(t *testing.T, s string) {
		tb := &table{faults: &faults{File: "r"}, file: "f", of: make(map[string]string), lines: make(map[string]int), plans: make(map[string]string)}
		tb.read([]byte(s))
		for k, p := range tb.of {
			if k == "" || p == "" {
				t.Errorf("%q has plan %q", k, p)
			}
		}
	})
}
