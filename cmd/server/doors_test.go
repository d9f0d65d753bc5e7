package main

import (
	"testing"
	"testing/fstest"
)

// What a process may use is the least that is told.
func TestMachineMemory(t *testing.T) {
	t.Parallel()
	const meminfo = "MemTotal:        2048 kB\nMemFree: 7 kB\n"
	for name, test := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing told":             {nil, 0},
		"a machine":                {map[string]string{"proc/meminfo": meminfo}, 2 << 20},
		"a container":              {map[string]string{"proc/meminfo": meminfo, "sys/fs/cgroup/memory.max": "1048576\n"}, 1 << 20},
		"one without a bound":      {map[string]string{"proc/meminfo": meminfo, "sys/fs/cgroup/memory.max": "max\n"}, 2 << 20},
		"of the first version":     {map[string]string{"proc/meminfo": meminfo, "sys/fs/cgroup/memory/memory.limit_in_bytes": "4096\n"}, 4096},
		"of it, without a bound":   {map[string]string{"proc/meminfo": meminfo, "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 2 << 20},
		"a machine that says less": {map[string]string{"proc/meminfo": "MemFree: 7 kB\n"}, 0},
	} {
		files := fstest.MapFS{}
		for path, text := range test.files {
			files[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := machineMemory(files); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
	if got := memoryLimit(3); got != 3<<20 {
		t.Errorf("configured: %d", got)
	}
}
