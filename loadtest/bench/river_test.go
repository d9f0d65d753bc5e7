package bench_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
)

// buildPeers compiles the module that measures River. To run it by hand, on an empty
// database:
//
//	cd loadtest/bench/testdata/river && go run . -database postgres://…
func buildPeers(b *testing.B) (binary string) {
	b.Helper()
	binary = filepath.Join(b.TempDir(), "peers")
	build := exec.CommandContext(b.Context(), "go", "build", "-o", binary, ".")
	build.Dir = filepath.Join("testdata", "river")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("build peers: %v: %s", err, out)
	}
	return binary
}

func driveRiver(b *testing.B, binary string, p *postgres) figures {
	b.Helper()
	database := p.cpu(b)
	cmd := exec.CommandContext(b.Context(), binary,
		"-database", p.fresh(b), "-conns", fmt.Sprint(riverConns), "-bytes", fmt.Sprint(taskBytes), "-topics", fmt.Sprint(*topics),
		"-producers", fmt.Sprint(*producers), "-singles", fmt.Sprint(*singles), "-batched", fmt.Sprint(*batched),
		"-workers", fmt.Sprint(*workers), fmt.Sprintf("-unique=%t", *unique))
	var output bytes.Buffer
	cmd.Stderr = &output
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("peers: %v: %s", err, output.String())
	}
	var f figures
	if err := json.Unmarshal(out, &f); err != nil {
		b.Fatalf("peers: %v: %s", err, out)
	}
	f.Database = float64((p.cpu(b) - database).Microseconds()) / float64(*singles+*batched)
	return f
}
