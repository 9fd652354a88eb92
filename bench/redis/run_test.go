package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestMain is also one of the processes that wait.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "-waiting" {
		if err := waitAsTold(os.Stdout, os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestRun runs every part, as short as can be.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("there is no redis-server")
	}
	var b strings.Builder
	if err := run(&b, options{rounds: 1, turn: 20 * time.Millisecond, keys: 4000}, ""); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"One rule, 64", "one goroutine: reads are trips", "Three rules: a user", "One key over its limit",
		"What a bucket takes", "A cluster of three: three rules that do not", "checks/s: of rueidislimiter's", "Waiting in two processes",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in what was printed", want)
		}
	}
}
