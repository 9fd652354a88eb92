package main

import (
	"testing"
	"time"
)

func TestParseInfo(t *testing.T) {
	const text = "# Memory\r\nused_memory:1000\r\n# Stats\r\ntotal_reads_processed:42\r\n# CPU\r\n" +
		"used_cpu_sys:0.250000\r\nused_cpu_user:1.500000\r\nused_cpu_user_children:9.0\r\n# Commandstats\r\n" +
		"cmdstat_evalsha:calls=7,usec=90,usec_per_call=12.85\r\ncmdstat_get:calls=5,usec=4\r\n" +
		"cmdstat_info:calls=100,usec=4\r\ncmdstat_config|resetstat:calls=3,usec=4\r\n" +
		"# Keyspace\r\ndb0:keys=11,expires=10,avg_ttl=5\r\n"
	got, err := parseInfo(text)
	want := stats{cpu: 1750 * time.Millisecond, reads: 42, commands: 12, memory: 1000, keys: 11}
	if err != nil || got != want {
		t.Errorf("got %+v, %v: want %+v", got, err, want)
	}
	if _, err := parseInfo("used_memory:much\r\n"); err == nil {
		t.Error("a number that is none is taken")
	}
}

func TestSinceLeavesTheQuestionOut(t *testing.T) {
	before := stats{cpu: 5, reads: 10, commands: 3, memory: 8, keys: 1}
	after := stats{cpu: 9, reads: 23, commands: 7, memory: 18, keys: 4}
	if got, want := after.since(before, 3), (stats{cpu: 4, reads: 10, commands: 4, memory: 10, keys: 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestChoose(t *testing.T) {
	chosen, err := choose("e, a")
	if err != nil || len(chosen) != 2 || chosen[0].name != "e" || chosen[1].name != "a" {
		t.Errorf("got %v, %v", chosen, err)
	}
	if all, err := choose(""); err != nil || len(all) != len(parts) {
		t.Errorf("got %d parts, %v: want all", len(all), err)
	}
	if _, err := choose("a,z"); err == nil {
		t.Error("a part that is not there is taken")
	}
}
