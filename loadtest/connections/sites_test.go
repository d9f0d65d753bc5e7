package main

import (
	"fmt"
	"math"
	"testing"
)

// readSites attributes samples to allocation sites, weighted by the inverse of the sampling
// probability.
func TestReadSites(t *testing.T) {
	t.Parallel()
	got := readSites([]byte("heap profile: 3: 5120 [9: 9000] @ heap/1024\n" +
		"4: 4096 [8: 8192] @ 0x1 0x2 0x3\n" +
		"#\t0x1\tnet.newFD+0x1d\t\t/go/src/net/fd.go:1\n" +
		"#\t0x2\tlaststand/internal/ws.(*Server).ServeHTTP+0x2\t/ws/server.go:2\n\n" +
		"1: 64 [1: 64] @ 0x4\n" +
		"#\t0x4\tlaststand/internal/ws.newSession+0x1\t/ws/session.go:1\n\n" +
		"1: 64 [1: 64] @ 0x5\n" +
		"#\t0x5\tlaststand/internal/ws.newSession+0x9\t/ws/session.go:2\n\n" +
		"0: 0 [1: 64] @ 0x6\n" +
		"#\t0x6\tlaststand/internal/ws.newWire+0x9\t/ws/wire.go:2\n\n# runtime.MemStats\n# Alloc = 5: 6 [\n"))
	share := func(size float64) float64 { return 1 - math.Exp(-size/profileEvery) }
	want := sites{
		"net.newFD for internal/ws.(*Server).ServeHTTP": 4096 / share(1024),
		"internal/ws.newSession":                        2 * 64 / share(64),
		"internal/ws.newWire":                           0,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}
