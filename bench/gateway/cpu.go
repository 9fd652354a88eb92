package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of time in /proc on Linux.
const tick = 10 * time.Millisecond

// cpuOf is the time that a process and its children have used, 0 if there is no
// telling.
func cpuOf(pid int) time.Duration {
	if pid == 0 {
		return 0
	}
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0
	}
	var sum time.Duration
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		id, parent, used := parseStat(string(text))
		if id == pid || parent == pid {
			sum += used
		}
	}
	return sum
}

// parseStat reads a line of /proc/[pid]/stat: the number, the name in brackets,
// then the state, the parent, and as the 14th and 15th the ticks in user and in
// system mode.
func parseStat(line string) (pid, parent int, used time.Duration) {
	open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return 0, 0, 0
	}
	fields := strings.Fields(line[end+1:])
	if len(fields) < 13 {
		return 0, 0, 0
	}
	var n [4]int
	for i, text := range []string{strings.TrimSpace(line[:open]), fields[1], fields[11], fields[12]} {
		v, err := strconv.Atoi(text)
		if err != nil {
			return 0, 0, 0
		}
		n[i] = v
	}
	return n[0], n[1], time.Duration(n[2]+n[3]) * tick
}
