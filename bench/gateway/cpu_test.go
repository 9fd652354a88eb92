package main

import (
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const line = "4711 (a (odd) name) S 17 4711 4711 0 -1 4194560 1202 0 0 0 250 50 0 0 20 0 8 0 1 2 3"
	pid, parent, used := parseStat(line)
	if pid != 4711 || parent != 17 || used != 3*time.Second {
		t.Errorf("got pid %d, parent %d, used %v: want 4711, 17, 3s", pid, parent, used)
	}
	for _, broken := range []string{"", "1 (x", "x (y) S 1", "1 (x) S 1 2 3"} {
		if pid, _, used := parseStat(broken); pid != 0 || used != 0 {
			t.Errorf("%q: got pid %d, used %v: want nothing", broken, pid, used)
		}
	}
}
