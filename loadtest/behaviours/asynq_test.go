package behaviours

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkAsynq runs the module peers to measure asynq on a Redis that the benchmark
// starts. To run it by hand:
//
//	cd loadtest/behaviours/peers && go run . -redis 127.0.0.1:6379    # which it empties
func BenchmarkAsynq(b *testing.B) {
	rdb := connect(b)
	binary := filepath.Join(b.TempDir(), "peers")
	build := exec.CommandContext(b.Context(), "go", "build", "-o", binary, ".")
	build.Dir = "peers"
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("build peers: %v: %s", err, out)
	}
	cmd := exec.CommandContext(b.Context(), binary,
		"-redis", rdb.Options().Addr, "-games", fmt.Sprint(*games), "-bytes", fmt.Sprint(eventBytes),
		"-producers", fmt.Sprint(*producers), "-window", fmt.Sprint(*backlog),
		"-warming", warming.String(), "-seconds", seconds.String())
	var output bytes.Buffer
	cmd.Stderr = &output
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("peers: %v: %s", err, output.String())
	}
	var run peerRun
	if err := json.Unmarshal(out, &run); err != nil {
		b.Fatalf("peers: %v: %s", err, out)
	}
	if run.Offered != run.Reported || run.Reported == 0 {
		b.Fatalf("%d events were offered, %d reported", run.Offered, run.Reported)
	}
	figures{rate: run.Rate, process: run.Process, redis: run.Redis, p50: run.P50, p99: run.P99}.report(b)
}

// peerRun is the output of peers.
type peerRun struct {
	Offered  int64   `json:"offered"`
	Reported int64   `json:"reported"`
	Rate     float64 `json:"events_per_second"`
	Process  float64 `json:"process_us"` // µs per event
	Redis    float64 `json:"redis_us"`   // µs per event
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
}
