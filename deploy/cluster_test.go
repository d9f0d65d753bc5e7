package deploy_test

import (
	"bufio"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"laststand/internal/redisx"
	"laststand/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.AllowMoreTests()
	testenv.Main(m)
}

// The script starts the servers that it prints, and stops all of them when it is
// interrupted.
func TestClusterScriptStartsAndStopsServers(t *testing.T) {
	t.Parallel()
	testenv.Redis(t).Stop() // skips the test if redis-server is not installed
	cmd := exec.CommandContext(t.Context(), "bash", "cluster.sh", "-m", "2", "-r", "1", "-p", "17000", "-d", t.TempDir())
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	addrs, url := readPrintedServers(bufio.NewScanner(out))
	conn, err := redisx.Open(t.Context(), redisx.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b", "c"} { // keys on both masters
		if err := conn.Client.Set(t.Context(), key, 1, 0).Err(); err != nil {
			t.Error(err)
		}
	}
	if !conn.HasReplicas() || len(addrs) != 4 {
		t.Errorf("servers at %v, replicated %t", addrs, conn.HasReplicas())
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("interrupted: %v", err)
	}
	for _, addr := range addrs {
		if c, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
			c.Close()
			t.Errorf("the server at %s still runs", addr)
		}
	}
}

// readPrintedServers reads the output of the script: the addresses of the servers, and then the
// value of --redis.
func readPrintedServers(lines *bufio.Scanner) (addrs []string, url string) {
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 1 {
			return addrs, fields[0]
		}
		addrs = append(addrs, fields[1])
	}
	return addrs, "the script ended before it printed --redis"
}
