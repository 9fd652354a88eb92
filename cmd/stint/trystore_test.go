package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stint-dev/stint/redisstore/redistest"
)

// tryIn runs stint try with args, and returns what it prints and how it ends.
func tryIn(args ...string) (string, error) {
	var out bytes.Buffer
	cmd := newTry(process{in: strings.NewReader(""), out: &out, err: &out, env: noEnv})
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceUsage = true
	err := cmd.Execute()
	return out.String(), err
}

// TestTryAsksTheSharedStore: what one try has charged, another one finds.
func TestTryAsksTheSharedStore(t *testing.T) {
	redis := redistest.Start(t)
	file := filepath.Join("..", "..", "examples", "quickstart.yaml")
	args := []string{"-c", file, "-H", "X-Api-Key: k_acme", "--store", "redis://" + redis.Addr, "-n", "60", "/v1/orders"}
	out, err := tryIn(args...)
	if err != nil || !strings.Contains(out, "60 allowed, 0 refused\ncharged in redis at "+redis.Addr) {
		t.Fatalf("%v\n%s", err, out)
	}
	// A token comes back every 0.6 s, so how long this took is worth a few requests.
	out, err = tryIn(args...)
	if err != nil || strings.Contains(out, "60 allowed") || !strings.Contains(out, "refused\ncharged in") {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err = tryIn(args[:4]...)
	if err == nil {
		t.Errorf("no path, no error:\n%s", out)
	}
}

func TestTrySaysWhatIsWrongWithTheStore(t *testing.T) {
	redis := redistest.Start(t)
	redis.Stop()
	file := filepath.Join("..", "..", "examples", "quickstart.yaml")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--store", "redis://:hunter2@" + redis.Addr}, "redis at " + redis.Addr + " does not decide"},
		{[]string{"--store", "memory"}, "what try has without it"},
		{[]string{"--store", "redis://h", "--every", "1s"}, "--every is for a clock of try's own"},
		{[]string{"--store", "mysql://h"}, "--store "},
	} {
		out, err := tryIn(append([]string{"-c", file, "-H", "X-Api-Key: k_acme", "/v1/orders"}, c.args...)...)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(out+err.Error(), "hunter2") {
			t.Errorf("%q: %v, want %q\n%s", c.args, err, c.want, out)
		}
	}
}
