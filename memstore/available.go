package memstore

import (
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// DefaultMaxMemory is the bound in bytes where the memory of the machine cannot be
// told.
const DefaultMaxMemory = 1 << 30

// defaultMaxMemory is half of what the process may use: the least of the limits of its
// cgroup, of the Go runtime, where it has one, and of the memory of the machine. root is
// the file system.
func defaultMaxMemory(root fs.FS, runtimeLimit int64) int64 {
	least := int64(math.MaxInt64)
	if runtimeLimit > 0 {
		least = runtimeLimit
	}
	least = min(least, machineMemory(root), cgroupMemory(root))
	if least == math.MaxInt64 {
		return DefaultMaxMemory
	}
	return least / 2
}

// machineMemory reads the line "MemTotal:  16314304 kB".
func machineMemory(root fs.FS) int64 {
	text, _ := fs.ReadFile(root, "proc/meminfo")
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			if kB := number(strings.TrimSuffix(strings.TrimSpace(rest), " kB")); kB <= math.MaxInt64/1024 {
				return kB * 1024
			}
		}
	}
	return math.MaxInt64
}

// cgroupMemory is the least limit of the groups that the process is in and those above
// them. A line of the list is "0::/a/b", or "9:memory:/a/b" in version 1. In a container
// the path may be that of the host: then the limit stands in the root.
func cgroupMemory(root fs.FS) int64 {
	least := int64(math.MaxInt64)
	text, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		top, file := "sys/fs/cgroup", "memory.max"
		if fields[0] != "0" {
			if !strings.Contains(","+fields[1]+",", ",memory,") {
				continue
			}
			top, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		for dir := path.Clean("/" + fields[2]); ; dir = path.Dir(dir) {
			limit, _ := fs.ReadFile(root, path.Join(top, dir, file))
			least = min(least, number(strings.TrimSpace(string(limit))))
			if dir == "/" {
				break
			}
		}
	}
	return least
}

// number reads a limit; what is none, such as "max", is as good as none.
func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return math.MaxInt64
	}
	return n
}
