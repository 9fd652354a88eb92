package memstore

import (
	"math"
	"testing"
	"testing/fstest"
)

func TestDefaultMaxMemory(t *testing.T) {
	const GB = 1 << 30
	meminfo := "MemTotal:       16777216 kB\nMemFree:         1 kB\n"
	for name, c := range map[string]struct {
		files   map[string]string
		runtime int64
		want    int64
	}{
		"nothing is known": {nil, math.MaxInt64, DefaultMaxMemory},
		"the machine":      {map[string]string{"proc/meminfo": meminfo}, math.MaxInt64, 8 * GB},
		"the runtime":      {map[string]string{"proc/meminfo": meminfo}, 2 * GB, GB},
		"only the runtime": {nil, 2 * GB, GB},
		"a broken meminfo": {map[string]string{"proc/meminfo": "MemTotal: lots\nMemTotal: 9223372036854775807 kB\n"}, math.MaxInt64, DefaultMaxMemory},
		"no limit of cgroup": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n",
		}, math.MaxInt64, 8 * GB},
		"a container": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1073741824\n",
		}, math.MaxInt64, GB / 2},
		"a service": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/system.slice/stint.service\n",
			"sys/fs/cgroup/system.slice/stint.service/memory.max": "max\n",
			"sys/fs/cgroup/system.slice/memory.max":               "4294967296\n",
		}, math.MaxInt64, 2 * GB},
		"version 1": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "9:cpu,memory:/docker/1\n8:cpuset:/x\n",
			"sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":          "536870912\n",
		}, math.MaxInt64, GB / 4},
		"a path of the host": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "broken\n0::/../../host/path\n", "sys/fs/cgroup/memory.max": "1073741824\n",
		}, math.MaxInt64, GB / 2},
	} {
		root := make(fstest.MapFS)
		for file, text := range c.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := defaultMaxMemory(root, c.runtime); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestMaxMemoryIsToldAndChecked(t *testing.T) {
	if st := open(t, Options{}).Stats(); st.MaxMemory < 1<<20 {
		t.Errorf("%+v: no default", st)
	}
	if st := open(t, Options{MaxMemory: 12345}).Stats(); st.MaxMemory != 12345 {
		t.Errorf("%+v", st)
	}
	if _, err := New(Options{MaxMemory: -1}); err == nil {
		t.Error("no error")
	}
}
