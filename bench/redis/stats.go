package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// stats are what servers have done since they were started.
type stats struct {
	// cpu is used_cpu_user and used_cpu_sys of INFO: all of the process.
	cpu time.Duration
	// reads is total_reads_processed: how often a server has read from a socket.
	reads int64
	// commands counts those of clients and those that scripts have called.
	commands int64
	// memory is used_memory, in bytes.
	memory int64
	keys   int64
}

// stats sums INFO over the servers.
func (all servers) stats() (sum stats, err error) {
	for _, s := range all {
		text, err := s.info()
		if err != nil {
			return sum, err
		}
		one, err := parseInfo(text)
		if err != nil {
			return sum, fmt.Errorf("INFO of %s: %w", s.addr, err)
		}
		sum.cpu += one.cpu
		sum.reads += one.reads
		sum.commands += one.commands
		sum.memory += one.memory
		sum.keys += one.keys
	}
	return sum, nil
}

// since is what was done between before and s, without the question itself: one
// read of each server.
func (s stats) since(before stats, asked int) stats {
	return stats{
		cpu:      s.cpu - before.cpu,
		reads:    s.reads - before.reads - int64(asked),
		commands: s.commands - before.commands,
		memory:   s.memory - before.memory,
		keys:     s.keys - before.keys,
	}
}

// ours are commands of this program, not of limiters.
const ours = " info flushall ping config|resetstat cluster|info hello client|setinfo "

func parseInfo(text string) (s stats, err error) {
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		var e error
		switch {
		case name == "used_cpu_user" || name == "used_cpu_sys":
			var seconds float64
			seconds, e = strconv.ParseFloat(value, 64)
			s.cpu += time.Duration(seconds * float64(time.Second))
		case name == "total_reads_processed":
			s.reads, e = strconv.ParseInt(value, 10, 64)
		case name == "used_memory":
			s.memory, e = strconv.ParseInt(value, 10, 64)
		case name == "db0":
			s.keys, e = firstField(value, "keys=")
		case strings.HasPrefix(name, "cmdstat_"):
			if strings.Contains(ours, " "+strings.TrimPrefix(name, "cmdstat_")+" ") {
				continue
			}
			var calls int64
			calls, e = firstField(value, "calls=")
			s.commands += calls
		}
		if e != nil {
			return s, fmt.Errorf("%q: %w", strings.TrimSpace(line), e)
		}
	}
	return s, nil
}

// firstField is the number behind name in a list such as calls=2,usec=9.
func firstField(list, name string) (int64, error) {
	first, _, _ := strings.Cut(list, ",")
	return strconv.ParseInt(strings.TrimPrefix(first, name), 10, 64)
}
